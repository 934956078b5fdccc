"""Train the rows of a table on given folds, measure them, and test their differences."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ssi_core.evaluation.significance import holm, paired_randomisation, rounds_of
from ssi_core.guests.reranking.base import FittedReranker, Reranker
from ssi_core.guests.reranking.measures import means, per_query
from ssi_core.guests.reranking.pairs import Fold, digest
from ssi_core.guests.reranking.table import Row, Table
from ssi_core.recorder import RowRecorder
from ssi_core.types import Float64, Progress, Refused

REFERENCES = (
    Row("best feature", "best_feature", note="feature and direction: chosen on training queries"),
    Row("rank fusion", "fusion", note="reciprocal ranks of all features; directions of training"),
)
"""Rows that every table has: what no ranker should be below."""
Recorded = Callable[[Row, Reranker], AbstractContextManager[RowRecorder | None]]
"""``recorded(row, ranker)``: opens the run of a row."""


@dataclass(frozen=True)
class Trained:
    """Results of a ranker on all folds.

    Attributes
    ----------
    models : list of FittedReranker
        The fitted ranker of each fold.
    folds : list of dict
        Measure -> mean over the test queries, for each fold.
    values : dict
        Measure -> float64 (test queries of all folds,).
    seconds : float
        CPU time of training and measuring.
    """

    models: list[FittedReranker]
    folds: list[dict[str, float]]
    values: dict[str, Float64]
    seconds: float

    @property
    def means(self) -> dict[str, float]:
        """Mean over folds of each measure, as LETOR has it."""
        return {name: float(np.mean([one[name] for one in self.folds])) for name in self.values}


def train_on(
    folds: Sequence[Fold],
    ranker: Reranker,
    measures: Sequence[str],
    progress: Callable[[int], None] | None = None,
) -> Trained:
    """Train a ranker on each fold, and measure it on the test queries of the fold.

    Parameters
    ----------
    folds : sequence of Fold
        Given divisions.
    ranker : Reranker
        Hyper-parameters.
    measures : sequence of str
        See `measures.measure_named`.
    progress : callable, optional
        Told the number of each fold that is done.
    """
    began = time.process_time()
    models, values = [], []
    for number, fold in enumerate(folds):
        models.append(ranker.fit(fold.train, fold.valid))
        values.append(per_query(fold.test, models[-1].score(fold.test), measures))
        if progress is not None:
            progress(number + 1)
    joined = {name: np.concatenate([one[name] for one in values]) for name in measures}
    seconds = time.process_time() - began
    return Trained(models, [means(one) for one in values], joined, seconds)


def compare(
    folds: Sequence[Fold],
    table: Table,
    *,
    name: str = "these folds",
    scale: bool = False,
    recorded: Recorded | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compute a table: each row on each fold, beside print, tested against the baseline.

    A row that names others is tested against these instead. The test is a paired randomisation over
    the test queries of all folds, corrected by Holm over all tests of a measure. `REFERENCES` are
    computed, too, and each ranker is tested against both, in a family of its own. On other folds
    than a table is of nothing printed is repeated (`Table.on`).

    Parameters
    ----------
    folds : sequence of Fold
        Given divisions.
    table : Table
        Rows to compute.
    name : str
        What the folds are called, where the table is of others.
    scale : bool
        Scale features to 0..1 over each query, in every row.
    recorded : Recorded, optional
        Opens a run for each row.
    progress : Progress, optional
        Told the share of the rows that are done.

    Returns
    -------
    dict
        JSON values: the table, folds, and for each row measures, facts, printed values and tests;
        ``references``, what `_references` says.
    """
    table = table.on(digest(folds), name)
    labels = {row.label for row in table.rows}
    by = {"measure": table.measures[0]}
    references = [replace(row, parameters=by) for row in REFERENCES if row.label not in labels]
    rows = [*(row for row in table.rows if row.ranker), *references]
    trained: dict[str, Trained] = {}
    runs: dict[str, str] = {}
    left_out: dict[str, str] = {}
    for number, row in enumerate(rows):
        ranker = row.reranker(f"table {table.name!r}")
        ranker = replace(ranker, scale=True) if scale else ranker

        def on_progress(done: int, label: str = row.label, before: int = number) -> None:
            if progress is not None:
                share = (before + done / len(folds)) / len(rows)
                progress(share, f"{label}, {done} of {len(folds)} folds")

        if reason := ranker.unavailable():
            left_out[row.label] = reason
            continue
        with nullcontext() if recorded is None else recorded(row, ranker) as run:
            trained[row.label] = one = train_on(folds, ranker, table.measures, on_progress)
            if run is not None:
                runs[row.label] = run.run_id
                run.measured(_metrics(one))
                run.facts({fold.name: m.facts for fold, m in zip(folds, one.models, strict=True)})
    if table.baseline not in trained:
        raise Refused(f"{table.baseline}: {left_out[table.baseline]} Name another baseline.")
    tests = _tests(trained, table)
    sides = [fold.test for fold in folds]
    return {
        "table": table.name,
        "title": table.title,
        "source": table.source,
        "note": table.note,
        "scaled": scale,
        "missing_values": sum(side.missing for side in sides),
        "values": sum(side.values.size for side in sides),
        "folds": [fold.name for fold in folds],
        "queries": sum(len(fold.test.queries) for fold in folds),
        "baseline": table.baseline,
        "measures": list(table.measures),
        "rows": [
            _row(row, folds, trained.get(row.label), tests.get(row.label), runs.get(row.label))
            | ({"left_out": left_out[row.label]} if row.label in left_out else {})
            for row in (*table.rows, *references)
        ],
        "references": _references(trained, table.measures[0]),
    }


def _references(trained: Mapping[str, Trained], measure: str) -> dict[str, Any]:
    """Return each reference -> ranker -> difference of a measure and p, corrected over all.

    ``below`` lists the rankers whose mean is below that of the reference.
    """
    names = [row.label for row in REFERENCES if row.label in trained]
    pairs = [(one, other) for other in names for one in trained if one not in names]
    values = {label: one.values[measure] for label, one in trained.items()}
    rounds = rounds_of(len(pairs))
    p = [paired_randomisation(values[one], values[other], rounds=rounds) for one, other in pairs]
    against: dict[str, Any] = {
        name: {"mean": trained[name].means[measure], "below": [], "tests": {}} for name in names
    }
    for (one, other), alone, corrected in zip(pairs, p, holm(p) if p else (), strict=True):
        difference = trained[one].means[measure] - trained[other].means[measure]
        test = {"difference": difference, "p": alone, "p_holm": float(corrected)}
        against[other]["tests"][one] = test
        if difference < 0:
            against[other]["below"].append(one)
    return {"measure": measure, "rows": against}


def _metrics(trained: Trained) -> dict[str, float]:
    numbers = {f"test/{name}": value for name, value in trained.means.items()}
    for number, fold in enumerate(trained.folds, 1):
        numbers |= {f"fold_{number}/{name}": value for name, value in fold.items()}
    return {**numbers, "usage/cpu_seconds": trained.seconds}


def _tests(trained: Mapping[str, Trained], table: Table) -> dict[str, dict[str, Any]]:
    """Return row -> row that it is tested against -> measure -> difference and p.

    p is corrected by Holm over all tests of a measure.
    """
    pairs = [
        (row.label, other)
        for row in table.rows
        for other in row.against or (table.baseline,)
        if row.label in trained and other in trained and row.label != other
    ]
    tests: dict[str, dict[str, Any]] = {label: {} for label, _ in pairs}
    rounds = rounds_of(len(pairs))
    for name in table.measures:
        values = [(trained[one].values[name], trained[other].values[name]) for one, other in pairs]
        p = [paired_randomisation(*both, rounds=rounds) for both in values]
        adjusted = holm(p) if p else ()
        for (label, against), both, alone, corrected in zip(
            pairs, values, p, adjusted, strict=True
        ):
            tests[label].setdefault(against, {})[name] = {
                "difference": float(np.mean(both[0] - both[1])),
                "p": alone,
                "p_holm": float(corrected),
            }
    return tests


def _row(
    row: Row,
    folds: Sequence[Fold],
    trained: Trained | None,
    tests: dict[str, Any] | None,
    run: str | None,
) -> dict[str, Any]:
    value: dict[str, Any] = {"label": row.label, "note": row.note}
    if row.printed:
        value["printed"] = {
            name: {"folds": list(numbers), "mean": float(np.mean(numbers))}
            for name, numbers in row.printed.items()
        }
    if trained is None:
        return value
    value |= {"ranker": row.ranker, "parameters": dict(row.parameters), "means": trained.means}
    value["folds"] = [
        {"name": fold.name, "measures": measures, "facts": model.facts}
        for fold, measures, model in zip(folds, trained.folds, trained.models, strict=True)
    ]
    value["cpu_seconds"] = round(trained.seconds, 1)
    if tests:
        first, *further = tests
        value |= {"against": first, "tests": tests[first]}
        value |= {"further_tests": {one: tests[one] for one in further}} if further else {}
    return value | ({"run_id": run} if run else {})
