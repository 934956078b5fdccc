"""Comparisons of the folds of one collection as one: each query once, as much as any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import polars as pl

from flows import tracking
from flows.reporting.partial_table import measured
from flows.reporting.result_file import settings_digest
from ssi_core.evaluation.claims import average_seeds
from ssi_core.evaluation.folds import pooled
from ssi_core.types import BadInput, Report

if TYPE_CHECKING:
    from flows.reporting.compare import Loaded

BETWEEN = ","
"""What stands between the comparisons of folds that are named as one."""
_SUMS = ("usage/row_seconds", "train/triples")
"""Metrics that are the more, the more folds there are."""


def pool(folds: Sequence[Loaded]) -> Loaded:
    """Put the comparisons of a table on several folds together.

    Raises
    ------
    BadInput
        They differ in settings, rows or seeds, or two of them test one query.
    """
    _check_rows(folds)
    rows = [zip(one.runs, chain(*one.reports.values()), strict=True) for one in folds]
    runs: list[tracking.FinishedRow] = []
    reports: dict[str, list[Report]] = {}
    for of_folds in zip(*rows, strict=True):
        report = pooled(_renumbered(folds, [report for _, report in of_folds]))
        runs.append(_joined([run for run, _ in of_folds], report))
        reports.setdefault(runs[-1].label, []).append(report)
    codes = {one.code for one in folds}
    return replace(
        folds[0],
        comparison=BETWEEN.join(one.comparison for one in folds),
        table=measured(folds[0].table, reports),
        runs=runs,
        reports=reports,
        means={label: average_seeds(of_label) for label, of_label in reports.items()},
        code=codes.pop() if len(codes) == 1 else None,
    )


def _check_rows(folds: Sequence[Loaded]) -> None:
    """Refuse folds that were computed with other settings, rows or seeds than the first."""
    first, *others = folds
    rows = [(run.label, run.seed) for run in first.runs]
    for one in others:
        if settings_digest(one.table) != settings_digest(first.table):
            raise BadInput(
                f"comparisons {first.comparison!r} and {one.comparison!r} were computed with "
                f"different settings of {one.experiment!r}. Compute the older one again."
            )
        if odd := set(rows) ^ {(run.label, run.seed) for run in one.runs}:
            label, seed = min(odd)
            raise BadInput(
                f"comparisons {first.comparison!r} and {one.comparison!r}: only one of them has "
                f"finished the row {label!r} with seed {seed}. Compute both with the same rows and "
                "seeds."
            )


def _renumbered(folds: Sequence[Loaded], reports: Sequence[Report]) -> list[Report]:
    """Number the queries of all folds by their ids: each collection has numbers of its own."""
    ids = pl.concat([report.per_query["id"] for report in reports])
    if len(repeated := ids.filter(ids.is_duplicated())):
        names = BETWEEN.join(one.comparison for one in folds)
        raise BadInput(
            f"comparisons {names!r}: two of them test the query {repeated[0]!r}. Name each fold of "
            "one collection once."
        )
    numbers = pl.DataFrame({"id": ids.sort()}).with_row_index("number")
    return [_with_numbers(report, numbers) for report in reports]


def _with_numbers(report: Report, numbers: pl.DataFrame) -> Report:
    queries = report.per_query
    new = queries.drop("query").join(numbers, on="id", how="left", maintain_order="left")
    return replace(report, per_query=new.rename({"number": "query"}).select(queries.columns))


def _joined(runs: Sequence[tracking.FinishedRow], report: Report) -> tracking.FinishedRow:
    """Return what the runs of a row are as one, whose measures are those of all queries."""
    metrics = {f"test/{name}": value for name, value in report.means.items()}
    metrics |= {f"test_se/{name}": value for name, value in report.errors.items()}
    for name in _SUMS:
        if all(name in run.metrics for run in runs):
            metrics[name] = sum(run.metrics[name] for run in runs)

    def words(of: str) -> dict[str, str]:
        every = [getattr(run, of) for run in runs]
        return {
            name: BETWEEN.join(dict.fromkeys(one[name] for one in every if name in one))
            for name in dict.fromkeys(chain(*every))
        }

    return replace(
        runs[0],
        run_id=BETWEEN.join(run.run_id for run in runs),
        metrics=metrics,
        chosen=words("chosen"),
        data=words("data"),
    )
