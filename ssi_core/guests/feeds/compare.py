"""Sets of elements of feeds, compared by precision, recall and F of relevance over five folds.

A topic is in one fold. For each fold the next one chooses C (by F), and the SVM is then trained on
all other folds. The number of entries, and for the last row the elements too, are chosen by the
same F and not by the test.

Source: Y. Shin and J. Park, An SVM based approach to feature selection for topical relevance
judgement of feeds (2010), section 3. Its Table 2 has the maximum over the number of entries, for P,
R and F each by itself. It says neither what its folds divide nor how C was chosen.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ssi_core.evaluation.significance import holm, paired_randomisation, rounds_of
from ssi_core.guests.feeds.elements import SETS, Match, Scores, score
from ssi_core.guests.feeds.printed import PRINTED
from ssi_core.guests.feeds.reading import Feed
from ssi_core.guests.feeds.relevance import Flags, counts_of, decide, measures, train
from ssi_core.recorder import RowRecorder
from ssi_core.types import BadInput, Float64, Int64, Progress

FOLDS = 5
CHOSEN = "chosen"
_ENTRIES = {"ET", "ED"}


Recorded = Callable[[str, Mapping[str, Any]], AbstractContextManager[RowRecorder | None]]
"""``recorded(label, parameters)``: opens the run of a row."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of feed and topic with a feature that is not 0.

    Attributes
    ----------
    values : CSR float64 (pairs, columns)
        Features.
    topics : int64 (pairs,)
        Topic of each pair.
    relevant : bool (pairs,)
        Whether the feed is on the topic.
    relevant_of : float64 (topics,)
        Feeds on each topic.
    feeds : int
        Number of feeds.
    fold_of : int64 (topics,)
        Fold of each topic.
    """

    values: sparse.csr_array
    topics: Int64
    relevant: Flags
    relevant_of: Float64
    feeds: int
    fold_of: Int64


@dataclass(frozen=True)
class Judged:
    """Judgements from a set of elements.

    Attributes
    ----------
    right, wrong : float64 (topics,)
        Feeds judged relevant that are, and that are not, when the topic is tested.
    validation : float64 (folds,)
        F on the fold that chooses, for each fold that is tested.
    C : tuple of float
        Weight of the loss that was chosen in each fold.
    seconds : float
        CPU time.
    """

    right: Float64
    wrong: Float64
    validation: Float64
    C: tuple[float, ...]
    seconds: float


def topics_of(feeds: Sequence[Feed], least: int) -> list[str]:
    """Return the topics that at least so many feeds are on, sorted."""
    often = Counter(topic for feed in feeds for topic in feed.topics)
    return sorted(topic for topic, count in often.items() if count >= least)


def pairs_of(feeds: Sequence[Feed], topics: Sequence[str], scores: Scores, seed: int) -> Pairs:
    """Return the pairs that have a score, with their relevance and the folds of topics."""
    column_of = {topic: number for number, topic in enumerate(topics)}
    relevant = np.zeros((len(feeds), len(topics)), np.bool_)
    for number, feed in enumerate(feeds):
        for topic in feed.topics:
            if topic in column_of:
                relevant[number, column_of[topic]] = True
    rows = np.flatnonzero(np.diff(scores.values.indptr))
    order = np.random.default_rng(seed).permutation(len(topics))
    fold_of = np.empty(len(topics), np.int64)
    fold_of[order] = np.arange(len(topics)) % FOLDS
    return Pairs(
        scores.values[rows],
        rows % len(topics),
        relevant.ravel()[rows],
        relevant.sum(axis=0).astype(np.float64),
        len(feeds),
        fold_of,
    )


def judge(pairs: Pairs, columns: Int64, weights: Sequence[float]) -> Judged:
    """Train and test some columns over the folds.

    Parameters
    ----------
    pairs : Pairs
        Features and relevance.
    columns : int64
        Columns of the features.
    weights : sequence of float
        Values of C to choose from.
    """
    began = time.process_time()
    values = sparse.csr_array(sparse.csc_array(pairs.values)[:, columns])
    rows = np.flatnonzero(np.diff(values.indptr))
    values, topics, relevant = values[rows], pairs.topics[rows], pairs.relevant[rows]
    size = len(pairs.relevant_of)
    blank_right = pairs.relevant_of - np.bincount(topics[relevant], minlength=size)
    blank_wrong = pairs.feeds - pairs.relevant_of - np.bincount(topics[~relevant], minlength=size)
    fold = pairs.fold_of[topics]

    def counted(tested: Int64, learnt: Int64, C: float) -> Float64:
        """Return right and wrong judgements of each topic, of a machine from some folds."""
        known, held = np.isin(fold, learnt), np.isin(fold, tested)
        of_known = np.isin(pairs.fold_of, learnt)
        blank = int(blank_wrong[of_known].sum()), int(blank_right[of_known].sum())
        machine = train(values[np.flatnonzero(known)], relevant[known], blank, C)
        judged, zeros = decide(machine, values[np.flatnonzero(held)])
        counts = counts_of(judged, relevant[held], topics[held], size)
        if zeros:
            of_held = np.isin(pairs.fold_of, tested)
            counts[0] += np.where(of_held, blank_right, 0)
            counts[1] += np.where(of_held, blank_wrong, 0)
        return counts

    total, validation, chosen = np.zeros((2, size)), np.empty(FOLDS), []
    for number in range(FOLDS):
        others = np.array([other for other in range(FOLDS) if other != number])
        choosing = (number + 1) % FOLDS
        due = pairs.relevant_of[pairs.fold_of == choosing].sum()
        tried = []
        for C in weights:
            right, wrong = counted(np.array([choosing]), others[others != choosing], C).sum(axis=1)
            tried.append(float(measures(right, wrong, due)[2]))
        best = int(np.argmax(tried))
        validation[number] = tried[best]
        chosen.append(weights[best])
        total += counted(np.array([number]), others, weights[best])
    return Judged(total[0], total[1], validation, tuple(chosen), time.process_time() - began)


def compare(
    feeds: Sequence[Feed],
    *,
    name: str = "",
    entries: Sequence[int] = (10, 20, 30, 40, 50),
    weights: Sequence[float] = (1.0, 10.0, 100.0, 1000.0, 10_000.0),
    least: int = 3,
    match: Match = "all",
    seed: int = 0,
    recorded: Recorded | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measure all sets of elements, each with each number of entries.

    Parameters
    ----------
    feeds : sequence of Feed
        Feeds whose topics are known.
    name : str
        Name of the data.
    entries : sequence of int
        Numbers of newest entries.
    weights : sequence of float
        Values of C to choose from.
    least : int
        A topic is a query where so many feeds are on it.
    match : Match
        Whether an element must have all terms of a topic, or any.
    seed : int
        Seed of the folds.
    recorded : Recorded, optional
        Opens a run for each set of elements.
    progress : Progress, optional
        Told the share that is done.

    Returns
    -------
    dict
        JSON values: the data, and for each set and number of entries P, R, F, tests and print.

    Raises
    ------
    BadInput
        Fewer than ten topics have so many feeds.
    """
    entries = sorted(set(entries))
    topics = topics_of(feeds, least)
    if len(topics) < 2 * FOLDS:
        raise BadInput(
            f"{name}: {len(topics)} topics have {least} feeds or more, and {2 * FOLDS} are needed. "
            "A topic is a <category> of a feed."
        )

    def scoring(share: float, what: str) -> None:
        if progress is not None:
            progress(share / 2, what)

    scores = score(feeds, topics, entries[-1], match=match, progress=scoring)
    pairs = pairs_of(feeds, topics, scores, seed)
    judged: dict[tuple[str, int], Judged] = {}
    runs: dict[str, str] = {}
    for number, elements in enumerate(SETS):
        label = "+".join(elements)
        if progress is not None:
            progress(0.5 + number / len(SETS) / 2, label)
        given = {"entries": ",".join(map(str, entries)), "match": match, "seed": seed}
        with nullcontext() if recorded is None else recorded(label, given) as run:
            for n in entries if _ENTRIES & set(elements) else (0,):
                judged[label, n] = judge(pairs, scores.columns(elements, n), weights)
            if run is not None:
                runs[label] = run.run_id
                n, one = _best_of(judged, label)
                numbers = _numbers(one, pairs)
                run.measured({f"test/{key}": numbers[key] for key in ("precision", "recall", "f")})
                run.facts({"entries": n, "C": list(one.C)})
    rows = [
        {"elements": label, "entries": n, **_numbers(one, pairs), "C": list(one.C),
         "cpu_seconds": round(one.seconds, 1)}
        for (label, n), one in judged.items()
    ]  # fmt: skip
    rows.append(_chosen(judged, pairs))
    best = {label: _best_of(judged, label)[0] for label in dict.fromkeys(key[0] for key in judged)}
    baseline = ("+".join(SETS[-1]), entries[-1])
    _add_tests(rows, judged, best, baseline, pairs)
    for row in rows:
        if row["elements"] in runs:
            row["run_id"] = runs[row["elements"]]
        if best.get(str(row["elements"])) == row["entries"]:
            row["best"] = True
    return {
        "collection": name,
        "feeds": len(feeds),
        "topics": len(topics),
        "feeds_a_topic": [int(pairs.relevant_of.min()), float(pairs.relevant_of.mean()),
                          int(pairs.relevant_of.max())],
        "entries_a_feed": float(np.mean([len(feed.entries) for feed in feeds])),
        "pairs": len(feeds) * len(topics),
        "pairs_with_a_word": len(pairs.topics),
        "match": match,
        "folds": FOLDS,
        "entries": list(entries),
        "baseline": list(baseline),
        "printed": PRINTED,
        "rows": rows,
    }  # fmt: skip


def _numbers(one: Judged, pairs: Pairs) -> dict[str, float]:
    """Return P, R, F over all pairs, the spread of F over folds, and the mean F of topics."""
    total = measures(one.right.sum(), one.wrong.sum(), pairs.relevant_of.sum())
    of_fold = [
        float(measures(*(part[pairs.fold_of == fold].sum()
                         for part in (one.right, one.wrong, pairs.relevant_of)))[2])
        for fold in range(FOLDS)
    ]  # fmt: skip
    by_topic = measures(one.right, one.wrong, pairs.relevant_of)[2]
    return {
        **{
            key: float(value)
            for key, value in zip(("precision", "recall", "f"), total, strict=True)
        },
        "f_folds_se": float(np.std(of_fold, ddof=1) / np.sqrt(FOLDS)),
        "f_topics": float(by_topic.mean()),
        "f_topics_se": float(by_topic.std(ddof=1) / np.sqrt(len(by_topic))),
        "validation_f": float(one.validation.mean()),
    }


def _best_of(judged: Mapping[tuple[str, int], Judged], label: str) -> tuple[int, Judged]:
    """Return the number of entries of the highest F on validation."""
    some = {n: one for (key, n), one in judged.items() if key == label}
    n = max(some, key=lambda number: float(some[number].validation.mean()))
    return n, some[n]


def _chosen(judged: Mapping[tuple[str, int], Judged], pairs: Pairs) -> dict[str, Any]:
    """Return the row whose elements and entries each fold chooses by its validation."""
    right, wrong = np.zeros_like(pairs.relevant_of), np.zeros_like(pairs.relevant_of)
    validation, C, names = np.empty(FOLDS), [], []
    for fold in range(FOLDS):
        key = max(judged, key=lambda one: float(judged[one].validation[fold]))
        held = pairs.fold_of == fold
        right[held], wrong[held] = judged[key].right[held], judged[key].wrong[held]
        validation[fold] = judged[key].validation[fold]
        C.append(judged[key].C[fold])
        names.append(f"{key[0]} {key[1]}")
    one = Judged(right, wrong, validation, tuple(C), 0.0)
    return {
        "elements": CHOSEN, "entries": 0, **_numbers(one, pairs), "C": C, "folds": names,
        "f_of_topics": measures(right, wrong, pairs.relevant_of)[2].tolist(),
    }  # fmt: skip


def _add_tests(
    rows: list[dict[str, Any]],
    judged: Mapping[tuple[str, int], Judged],
    best: Mapping[str, int],
    baseline: tuple[str, int],
    pairs: Pairs,
) -> None:
    """Add p of the best row of each set against the baseline, over topics, corrected by Holm."""
    base = judged[baseline]
    theirs = measures(base.right, base.wrong, pairs.relevant_of)[2]
    pending: list[tuple[dict[str, Any], float]] = []
    for row in rows:
        chosen = row["elements"] == CHOSEN
        key = row["elements"], row["entries"]
        if key == baseline or not (chosen or best[key[0]] == key[1]):
            continue
        ours = (
            np.array(row.pop("f_of_topics"))
            if chosen
            else measures(judged[key].right, judged[key].wrong, pairs.relevant_of)[2]
        )
        p = paired_randomisation(ours, theirs, rounds=rounds_of(len(best) + 1))
        row["test"] = {"difference": float(np.mean(ours - theirs)), "p": p}
        pending.append((row["test"], p))
    for (cell, _), adjusted in zip(pending, holm([p for _, p in pending]), strict=True):
        cell["p_holm"] = float(adjusted)
