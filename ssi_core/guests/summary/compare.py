"""Summaries of the six rows of Miao and Li's table, of BM25 and of two plain ones, by ROUGE.

The length is fixed, so that recall is compared, as in the paper. What a row chooses it chooses by
the mean recall of ROUGE-1 on questions that are not measured: k1 and b of BM25; or first alpha,
then, for related concepts, the confidence.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.evaluation.significance import holm, paired_randomisation, rounds_of
from ssi_core.guests.summary.bm25 import Bm25Space
from ssi_core.guests.summary.concepts import ConceptBase
from ssi_core.guests.summary.intervals import groups_of, interval, totals
from ssi_core.guests.summary.questions import Question
from ssi_core.guests.summary.rouge import TITLES, rouge
from ssi_core.guests.summary.sentences import sentences
from ssi_core.guests.summary.summariser import Sentence, Summariser, sentences_of
from ssi_core.guests.summary.vectors import Space, WordSpace
from ssi_core.recorder import RowRecorder
from ssi_core.serving.snippets import snippet
from ssi_core.strict import instead
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput, Float64, Progress

ALPHAS = {"alpha": (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)}
CONFIDENCES = {"confidence": (0.0, 0.2, 0.4, 0.6, 0.8)}
SATURATIONS = {"k1": (0.4, 0.8, 1.2, 2.0), "b": (0.0, 0.25, 0.5, 0.75, 1.0)}
BASELINE = "TF-IDF, Word"
LEVEL = 0.05
DEFAULT = "BM25 of sentences"
"""Row of the default of `Summariser`, which is tested against each other row, too."""
LANGUAGE = "en"
_CHARACTERS = 6
"""Characters of a snippet for each word of a summary."""


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes
    ----------
    label : str
        Name of the row.
    summariser : Summariser or None
        How it summarises; None: a plain way, which the label names.
    printed : mapping
        Measure -> value of the paper, on DUC 2005.
    """

    label: str
    summariser: Summariser | None
    printed: Mapping[str, float]

    @property
    def concepts(self) -> bool:
        """Tell whether the row needs concepts."""
        return self.summariser is not None and self.summariser.similarity != "word"

    @property
    def grids(self) -> tuple[Mapping[str, Sequence[float]], ...]:
        """Values of settings to choose from, one grid after another."""
        if self.summariser is None:
            return ()
        if self.summariser.weighting == "bm25":
            return (SATURATIONS,)
        alone: dict[str, tuple[Mapping[str, Sequence[float]], ...]]
        alone = {"word": (), "concept": (ALPHAS,), "matrix": (ALPHAS, CONFIDENCES)}
        return alone[self.summariser.similarity]


Recorded = Callable[[Row], AbstractContextManager[RowRecorder | None]]
"""``recorded(row)``: opens the run of a row."""

LEAD, SNIPPET = "lead", "snippet"


def _printed(*values: float) -> dict[str, float]:
    return dict(zip(("rouge1", "rougel", "rougesu"), values, strict=True))


ROWS = (
    Row(LEAD, None, {}),
    Row(SNIPPET, None, {}),
    Row(DEFAULT, Summariser(), {}),
    Row(BASELINE, Summariser("tfidf", "word"), _printed(0.34974, 0.31813, 0.11782)),
    Row("TF-IDF, + Concept", Summariser("tfidf", "concept"), _printed(0.35597, 0.32350, 0.12190)),
    Row("TF-IDF, + Matrix", Summariser("tfidf", "matrix"), _printed(0.35870, 0.32623, 0.12076)),
    Row("Graph, Word", Summariser("graph", "word"), _printed(0.36648, 0.33714, 0.12570)),
    Row("Graph, + Concept", Summariser("graph", "concept"), _printed(0.36916, 0.33972, 0.12664)),
    Row("Graph, + Matrix", Summariser("graph", "matrix"), _printed(0.37124, 0.34005, 0.12780)),
)
"""Rows in printed order, behind the first sentences, a snippet and BM25."""


def rows_named(labels: tuple[str, ...] | None) -> tuple[Row, ...]:
    """Return the rows of some labels, all if None; `BadInput` names the labels there are."""
    known = [row.label for row in ROWS]
    for label in labels or ():
        if label not in known:
            raise BadInput(f"no row {instead(label, known)}")
    return tuple(row for row in ROWS if labels is None or row.label in labels)


class Prepared:
    """Sentences and spaces of texts that are asked again.

    Parameters
    ----------
    base : ConceptBase or None
        Concepts.
    """

    def __init__(self, base: ConceptBase | None) -> None:
        self._base = base
        self._texts: tuple[str, ...] | None = None
        self._listed: dict[int, list[Sentence]] = {}
        self._spaces: dict[Summariser, Space | Bm25Space] = {}

    def summary(self, summariser: Summariser, question: Question, words: int) -> list[str]:
        """Return the sentences of a summary until so many words are reached."""
        if question.texts is not self._texts:
            self._texts = question.texts
            self._listed, self._spaces = {}, {}
        shortest = summariser.shortest
        if shortest not in self._listed:
            self._listed[shortest] = sentences_of(question.texts, LANGUAGE, shortest)
        listed = self._listed[shortest]
        if summariser not in self._spaces:
            self._spaces[summariser] = summariser.space(listed, LANGUAGE, self._base)
        space = self._spaces[summariser]
        scores = summariser.scores(space, question.query)
        chosen = summariser.choose(listed, space, scores, words, fitting=False)
        return [listed[position].text for position in chosen]


def plainly(label: str, question: Question, words: int) -> list[str]:
    """Return the first sentences of the texts, or the part with most words of the query."""
    listed = [one for text in question.texts for one in sentences(text)]
    if label == LEAD:
        return listed
    split = [tokenize(one, LANGUAGE) for one in listed]
    space = WordSpace.of(split, LANGUAGE)
    query = dict.fromkeys(tokenize(question.query, LANGUAGE))
    weights = {word: float(space.idf[space.column[word]]) for word in query if word in space.column}
    shown = snippet("\n".join(question.texts), weights, _CHARACTERS * words).text
    return sentences(shown) or [shown]


def compare(
    questions: Sequence[Question],
    base: ConceptBase | None = None,
    *,
    words: int = 250,
    rows: Sequence[Row] | None = None,
    recorded: Recorded | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compute the table, with intervals, and test each row against `BASELINE` and `DEFAULT`.

    Intervals and tests are over groups of questions on the same texts: a bootstrap, and a paired
    randomisation, which is corrected by Holm over the rows of a measure, for each of the two. The
    tests against `BASELINE` are there once more for the queries that name a concept.

    Parameters
    ----------
    questions : sequence of Question
        Some that choose, and some that are measured.
    base : ConceptBase, optional
        Concepts.
    words : int
        Words of a summary that count.
    rows : sequence of Row, optional
        Rows to compute; by default all, without concepts all that need none.
    recorded : Recorded, optional
        Opens a run for each row.
    progress : Progress, optional
        Told the share of the rows that are done.

    Returns
    -------
    dict
        JSON values: settings, rows that were left out, by measure the rows that beat `DEFAULT`, and
        for each row what it chose, means, intervals, tests and printed values.

    Raises
    ------
    BadInput
        No question chooses, none is measured, the rows lack the baseline, or a row needs concepts
        that are not given.
    """
    choosing = [one for one in questions if one.chooses]
    tested = [one for one in questions if not one.chooses]
    if not choosing or not tested:
        raise BadInput(
            f"{len(choosing)} questions to choose settings by and {len(tested)} to measure: both "
            "are needed. Give the data set with its training part."
        )
    left_out: list[str] = []
    if base is None:
        left_out = [row.label for row in rows or ROWS if row.concepts]
        if rows and left_out:
            raise BadInput(
                f"row {left_out[0]!r} needs concepts. Add --concepts DIR, which 'ssi rank summary "
                "concepts' makes of a collection with links."
            )
    rows = rows or [row for row in ROWS if row.label not in left_out]
    if all(row.label != BASELINE for row in rows):
        raise BadInput(f"no row {BASELINE!r}, which the others are tested against. Add it.")
    groups = groups_of([one.group for one in tested])
    values: dict[str, dict[str, Float64]] = {}
    shown: list[dict[str, Any]] = []
    for number, row in enumerate(rows):

        def on_progress(
            part: float, message: str, before: int = number, label: str = row.label
        ) -> None:
            if progress is not None:
                progress((before + part) / len(rows), f"{label}, {message}")

        with nullcontext() if recorded is None else recorded(row) as run:
            summariser, tried = _chosen(row, choosing, base, words, on_progress)
            on_progress(0.9, "measured")
            began = time.process_time()
            summaries = [_summary(row, summariser, one, base, words) for one in tested]
            seconds = (time.process_time() - began) / len(tested)
            values[row.label] = each = _measured(summaries, tested, words)
            value: dict[str, Any] = {"label": row.label, "printed": dict(row.printed)}
            if summariser is not None:
                value |= {"parameters": asdict(summariser), "tried": tried}
            value["means"] = {name: float(np.mean(one)) for name, one in each.items()}
            value["intervals"] = {name: interval(one, groups) for name, one in each.items()}
            value["cpu_ms"] = round(1000 * seconds, 1)
            if run is not None:
                value["run_id"] = run.run_id
                run.measured({f"test/{name}": mean for name, mean in value["means"].items()})
                run.measured({"usage/cpu_ms_per_query": value["cpu_ms"]})
                run.facts({name: value[name] for name in ("parameters", "tried") if name in value})
            shown.append(value)
    named = _naming(tested, base)
    compared = [("tests", BASELINE, values, groups), ("tests_default", DEFAULT, values, groups)]
    if named.any():
        sliced = {row: {m: one[named] for m, one in each.items()} for row, each in values.items()}
        of_slice = groups_of([one.group for one, names in zip(tested, named, strict=True) if names])
        compared.append(("tests_with_concepts", BASELINE, sliced, of_slice))
    for name, against, measured, grouped in compared:
        for label, tests in _tests(measured, grouped, against).items():
            next(one for one in shown if one["label"] == label)[name] = tests
    return {
        "baseline": BASELINE,
        "default": DEFAULT,
        "default_beaten_by": {
            name: [row["label"] for row in shown if _beats(row, name)] for name in TITLES
        },
        "left_out": left_out,
        "words": words,
        "measures": [*TITLES],
        "queries_with_concepts": None if base is None else float(named.mean()),
        "choosing": {"queries": len(choosing), "groups": len({one.group for one in choosing})},
        "tested": {"queries": len(tested), "groups": int(groups.max()) + 1},
        "rows": shown,
    }


def _beats(row: Mapping[str, Any], measure: str) -> bool:
    """Tell whether a row is above `DEFAULT`, and the difference is significant."""
    test = row.get("tests_default", {}).get(measure, {"difference": 0.0, "p_holm": 1.0})
    return bool(test["difference"] > 0 and test["p_holm"] < LEVEL)


def _naming(questions: Sequence[Question], base: ConceptBase | None) -> NDArray[np.bool_]:
    """Tell which queries name a concept; none without concepts."""
    least = Summariser.keyphrase
    return np.array(
        [
            base is not None and bool(base.wikify(tokenize(one.query, LANGUAGE), least))
            for one in questions
        ]
    )


def _summary(
    row: Row,
    summariser: Summariser | None,
    question: Question,
    base: ConceptBase | None,
    words: int,
) -> list[str]:
    if summariser is None:
        return plainly(row.label, question, words)
    return Prepared(base).summary(summariser, question, words)


def _chosen(
    row: Row,
    questions: Sequence[Question],
    base: ConceptBase | None,
    words: int,
    on_progress: Callable[[float, str], None],
) -> tuple[Summariser | None, list[dict[str, float]]]:
    """Return the summariser of a row with what the questions choose, and all that was tried."""
    chosen = row.summariser
    tried: list[dict[str, float]] = []
    names = [name for grid in row.grids for name in grid]
    for number, grid in enumerate(row.grids):
        on_progress(number / len(row.grids), " and ".join(grid))
        settings: list[dict[str, Any]] = [
            dict(zip(grid, values, strict=True)) for values in product(*grid.values())
        ]
        some = [replace(chosen, **one) for one in settings if chosen is not None]
        recalls = _first_recall(some, questions, base, words)
        tried += [
            {name: getattr(one, name) for name in names} | {"rouge1": recall}
            for one, recall in zip(some, recalls, strict=True)
        ]
        chosen = some[int(np.argmax(recalls))]
    return chosen, tried


def _first_recall(
    summarisers: Sequence[Summariser],
    questions: Sequence[Question],
    base: ConceptBase | None,
    words: int,
) -> list[float]:
    """Return the mean recall of ROUGE-1 of each summariser; each text is read once."""
    prepared = Prepared(base)
    recall = np.zeros((len(summarisers), len(questions)))
    for position, question in enumerate(questions):
        for number, summariser in enumerate(summarisers):
            ours = prepared.summary(summariser, question, words)
            overlap = rouge(ours, sentences(question.summary), stems=True, words=words)
            recall[number, position] = overlap["rouge1"].recall
    return [float(mean) for mean in recall.mean(axis=1)]


def _measured(
    summaries: Sequence[Sequence[str]], questions: Sequence[Question], words: int
) -> dict[str, Float64]:
    """Return measure -> value of each question.

    A measure is recall with stems; ``_plain`` is recall without them, ``_f1`` the harmonic mean of
    precision and recall with stems.
    """
    names = [f"{name}{kind}" for kind in ("", "_plain", "_f1") for name in TITLES]
    values = {name: np.zeros(len(questions)) for name in names}
    for position, (ours, question) in enumerate(zip(summaries, questions, strict=True)):
        reference = sentences(question.summary)
        for stems in (True, False):
            for name, overlap in rouge(ours, reference, stems=stems, words=words).items():
                values[name if stems else f"{name}_plain"][position] = overlap.recall
                if stems:
                    values[f"{name}_f1"][position] = overlap.f1
    return values


def _tests(
    values: Mapping[str, Mapping[str, Float64]],
    groups: np.ndarray[Any, np.dtype[np.int64]],
    against: str,
) -> dict[str, dict[str, Any]]:
    """Return row -> measure -> difference from a row, its interval, and p."""
    others = [label for label in values if label != against]
    tests: dict[str, dict[str, Any]] = {label: {} for label in others}
    if not others or against not in values:
        return {}
    for name, base in values[against].items():
        rounds = rounds_of(len(others))
        before = totals(base, groups)
        p = [
            paired_randomisation(totals(values[one][name], groups), before, rounds=rounds)
            for one in others
        ]
        for label, alone, adjusted in zip(others, p, holm(p), strict=True):
            difference = values[label][name] - base
            tests[label][name] = {
                "difference": float(difference.mean()),
                "interval": interval(difference, groups),
                "p": alone,
                "p_holm": float(adjusted),
            }
    return tests
