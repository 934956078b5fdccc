"""Rankers on one task side by side: measures, standard errors, paired tests."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from ssi_core.evaluation.claims import average_seeds, twins
from ssi_core.evaluation.comparison import LEVEL, paired_tests, value_text
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.folds import pooled
from ssi_core.evaluation.measures import LOWER_IS_BETTER, TITLES, measure_named, standard_error
from ssi_core.evaluation.significance import paired_randomisation
from ssi_core.evaluation.slates import PER_QUERY
from ssi_core.face import progress
from ssi_core.face.estimator import Estimator
from ssi_core.face.show import WIDTH, html_table, text_table
from ssi_core.face.task import Task, require_task
from ssi_core.models.choice.auto import Auto
from ssi_core.models.choice.untrained import Untrained, learns, title
from ssi_core.registry import HOOKS
from ssi_core.resources import limited
from ssi_core.strict import instead, named, whole
from ssi_core.types import BadInput, Report

MEASURES = ("rank_loss", "map", "p_at_10")
"""Measures that a comparison shows, as tables do."""
_LABEL = 40
"""Letters of a label that a table shows beside a measure at least."""
EITHER = " or "
"""What stands between the titles of the models of several folds."""

Rankers: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""Estimators, or runs of other systems (`guests.trec_run`); by label also several seeds of one."""


class Difference(NamedTuple):
    """A mean difference over queries, the ends of its 95 % interval, and p of a paired test."""

    difference: float
    low: float
    high: float
    p: float
    queries: int


@dataclass(frozen=True)
class Comparison:
    """Measures of some models on one task; prints as a table, and shows itself in a notebook.

    Attributes
    ----------
    reports : mapping
        Label of a ranker -> reports of its models, one for each seed.
    measures : sequence of str
        Measures that are shown and tested.
    baseline : str
        Label of the ranker that the others are tested against.
    """

    reports: Mapping[str, Sequence[Report]]
    measures: Sequence[str]
    baseline: str

    @cached_property
    def _means(self) -> dict[str, pl.DataFrame]:
        return {label: average_seeds(reports) for label, reports in self.reports.items()}

    @cached_property
    def tests(self) -> list[dict[str, Any]]:
        """Test every ranker against the baseline in every measure: p, and p adjusted by Holm."""
        pairs = [(label, self.baseline) for label in self.reports if label != self.baseline]
        same = twins(self._means)
        measures = [name for name in self.measures if name in PER_QUERY]
        return [
            test
            for measure in measures
            for test in paired_tests(pairs, self._means, same, measure, "randomisation")
        ]

    def against(self, label: str, measure: str) -> Difference:
        """Return how a ranker differs from the baseline in a measure, over the same queries.

        The interval is the mean of the differences and 1.96 of its standard errors to each side.
        """
        ours, theirs = (self._means[one][measure].to_numpy() for one in (label, self.baseline))
        gains = ours - theirs
        mean, error = float(gains.mean()), 1.96 * standard_error(gains)
        p = paired_randomisation(ours, theirs)
        return Difference(mean, mean - error, mean + error, p, len(gains))

    @property
    def per_query(self) -> pl.DataFrame:
        """Return columns ranker, id and the measures, averaged over seeds."""
        frames = (
            frame.select(pl.lit(label).alias("ranker"), pl.all())
            for label, frame in self._means.items()
        )
        return pl.concat(frames)

    @property
    def frame(self) -> pl.DataFrame:
        """Return a row per ranker: each measure, its ``_se``, and ``_p`` against the baseline."""
        adjusted = {(test["a"], test["metric"]): test["p_adjusted"] for test in self.tests}
        rows = []
        for label in self.reports:
            row: dict[str, Any] = {"ranker": label}
            for name in self.measures:
                row[name], row[f"{name}_se"] = self._value(label, name)
                row[f"{name}_p"] = adjusted.get((label, f"test/{name}"))
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def _value(self, label: str, name: str) -> tuple[float, float | None]:
        """Return the mean of a measure over seeds, and its standard error over queries."""
        reports, frame = self.reports[label], self._means[label]
        mean = float(np.mean([report.means[name] for report in reports]))
        if name in frame.columns:
            return mean, standard_error(frame[name].to_numpy())
        return mean, reports[0].errors.get(name)

    def __str__(self) -> str:
        notes = (textwrap.fill(note, WIDTH) for note in self._notes())
        return "\n".join([*self._blocks(), *notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.html()

    def html(self, *notes: str) -> str:
        """Return the table for a notebook, with further notes under it."""
        return html_table(*self._table(), notes=[*self._notes(), *notes])

    def _table(self) -> tuple[list[str], list[list[str]]]:
        signs = self._signs()
        rows = [
            [
                label,
                *(
                    signs.get((label, name), "") + value_text(name, *self._value(label, name))
                    for name in self.measures
                ),
            ]
            for label in self.reports
        ]
        return ["", *(TITLES.get(name, name) for name in self.measures)], rows

    def _blocks(self) -> Iterator[str]:
        """Yield the table, in parts one below another where labels would be cut for its width."""
        head, rows = self._table()
        label = min(_LABEL, max(len(row[0]) for row in rows))
        widths = [max(len(line[n]) for line in (head, *rows)) + 2 for n in range(1, len(head))]
        begin = 0
        while begin < len(widths):
            end = begin + 1
            while end < len(widths) and label + sum(widths[begin : end + 1]) <= WIDTH:
                end += 1
            part = slice(1 + begin, 1 + end)
            yield text_table(["", *head[part]], [[row[0], *row[part]] for row in rows])
            begin = end

    def _signs(self) -> dict[tuple[str, str], str]:
        """Return (label, measure) -> what stands before a value that differs from the baseline."""
        signs = {}
        for test in self.tests:
            name = test["metric"].removeprefix("test/")
            gain = -test["difference"] if name in LOWER_IS_BETTER else test["difference"]
            if test["p_adjusted"] < LEVEL:
                signs[test["a"], name] = "* " if gain > 0 else "° "
        return signs

    def _notes(self) -> list[str]:
        report = self.reports[self.baseline][0]
        queries = len(self._means[self.baseline])
        notes = [f"± standard error over {queries} queries." if queries > 1 else "1 query."]
        if len(self.reports) > 1:
            notes += [
                f"* better, ° worse than {self.baseline} (paired randomisation test, Holm, "
                f"p < {LEVEL:g})."
            ]
        return [*notes, f"candidates: {report.candidates}."]


@named
def compare(
    rankers: Rankers,
    task: Task,
    *,
    measures: str | Sequence[str] = MEASURES,
    baseline: str | None = None,
    side: Literal["test", "valid"] = "test",
    queries: int | None = None,
    seed: int = 0,
    threads: int = 1,
) -> Comparison:
    """Measure fitted rankers on one side of a task, and test the differences.

    Every ranker answers the same queries over the same candidates. A test is the paired
    randomisation test against the baseline, corrected by Holm over the rankers, as in
    ``ssi compare``.

    Parameters
    ----------
    rankers : sequence or mapping
        Rankers that were fitted on this task. A choice that learned nothing from pairs is called by
        what was chosen, such as "BM25F". As a mapping: label -> one ranker, or several that
        differ in their seeds; the values of each query are averaged over the seeds. A run of
        another system is a row, too: the path of a TREC file, a mapping query -> document -> score,
        a Run of ranx, ScoredDocs of ir-measures, or a table with columns query_id, doc_id and
        score, as PyTerrier's results are under other names. It has a line for each query that is
        measured, and documents that it does not list come last.
    task : Task
        Task that the rankers were fitted on.
    measures : sequence of str, optional
        Measures that are shown and tested, by their keys or headings: "ndcg_at_10" or "nDCG@10";
        ``reports`` has all measures.
    baseline : str, optional
        Label of the ranker that the others are tested against; by default the first.
    side : str, optional
        "test", or "valid" as long as something is still to be chosen.
    queries : int, optional
        Number of queries at most, drawn once for all rankers; by default all that have a relevant
        document.
    seed : int, optional
        Seed of that draw.
    threads : int, optional
        Cores to use; the numbers do not depend on it.

    Returns
    -------
    Comparison
        Measures with standard errors, and the tests.

    Raises
    ------
    ValueError
        A measure or the baseline is not known.
    BadInput
        A ranker was fitted on another task, or not in all folds; a run has ids that the task does
        not have, or lacks a query.

    Examples
    --------
    >>> import ssi_core as ssi
    >>> texts = [f"{word} {n} {n % 9}" for n in range(40) for word in ("car", "moon")]
    >>> docs = ssi.read(texts, links=[(n, (n + k) % 80) for n in range(80) for k in (2, 4)])
    >>> task = ssi.Task.of(docs)
    >>> rankers = [ssi.TfIdf().fit(task), ssi.BM25().fit(task)]
    >>> ssi.compare(rankers, task, measures=["map"]).frame.columns
    ['ranker', 'map', 'map_se', 'map_p']
    """
    task, reports = require_task(task), {}
    queries = None if queries is None else whole("queries", queries)
    with progress.shown("compare") as on_progress:
        for number, (label, seeds) in enumerate((labelled := _labelled(rankers, task)).items()):
            if on_progress is not None:
                on_progress(number / len(labelled), label)
            how = {"side": side, "queries": queries, "seed": seed, "threads": threads}
            reports[label] = [_report(label, one, task, how) for one in seeds]
    if not reports:
        raise ValueError("rankers: none came, expected at least one")
    known = next(iter(reports.values()))[0].means
    shown = [measures] if isinstance(measures, str) else measures
    first = next(iter(reports)) if baseline is None else baseline
    if first not in reports:
        raise ValueError(f"baseline: no ranker {instead(first, reports)}")
    return Comparison(reports, tuple(measure_named(name, known) for name in shown), first)


def title_of(model: Estimator) -> str:
    """Return what people call a fitted model; where its folds differ, all that they are."""
    names = Counter(title(one.model) for one in model.folds_)
    return EITHER.join(name for name, _ in names.most_common())


def _name(model: Estimator) -> str:
    """Return what an estimator prints as; of a choice that learned nothing, what was chosen."""
    if isinstance(model.ranker(), Untrained | Auto) and hasattr(model, "folds_"):
        chosen = title_of(model)
        if not any(map(learns, chosen.split(EITHER))):
            return chosen
    return repr(model).removesuffix("()")


def _labelled(rankers: Rankers, task: Task) -> dict[str, list[Estimator]]:
    """Return label -> rankers; those of a sequence are named as `_name` says, runs as they are."""
    if isinstance(rankers, Mapping):
        return {
            label: list(one) if _seeds(one) else [_named(one, task)[1]]
            for label, one in rankers.items()
        }
    labelled: dict[str, list[Estimator]] = {}
    for one in [rankers] if isinstance(rankers, Estimator | str | Path) else rankers:
        name, ranker = _named(one, task)
        count = sum(label == name or label.startswith(f"{name} #") for label in labelled)
        labelled[f"{name} #{count + 1}" if count else name] = [ranker]
    return labelled


def _seeds(one: Any) -> bool:
    return isinstance(one, Sequence) and all(isinstance(seed, Estimator) for seed in one)


def _named(one: Any, task: Task) -> tuple[str, Estimator]:
    """Return the name and the estimator of a ranker, which may be a run of another system."""
    if isinstance(one, Estimator):
        return _name(one), one
    run: tuple[str, Estimator] = HOOKS["run"](one, task)
    return run


def _report(label: str, ranker: Estimator, task: Task, how: Mapping[str, Any]) -> Report:
    fitted, divisions = getattr(ranker, "folds_", []), task.divisions
    if len(fitted) != len(divisions):
        raise BadInput(
            f"{label} is not fitted on this task, {task.path}. Fit it: ssi.{ranker!r}.fit(task)"
        )
    with limited(how["threads"]):
        return pooled(
            [evaluate(one, part, **how) for one, part in zip(fitted, divisions, strict=True)]
        )
