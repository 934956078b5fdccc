"""Cross-validation: one fold of a task, and the reports of several as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from ssi_core.evaluation.measures import standard_error
from ssi_core.types import BadInput, Report, Task


def fold_of(task: Task, number: int | None) -> Task:
    """Return the fold of a task that a model was trained in; a task without folds is its own.

    Parameters
    ----------
    task : `Task`
        Task, divided into folds or not.
    number : int or None
        From 1; None where there is one division only.

    Raises
    ------
    BadInput
        The task has folds and none is named: whichever were taken, the model may have been trained
        on the queries that it tests. Or there is no such fold.
    """
    known = len(task.folds)
    if number is None and known:
        raise BadInput(
            f"task {task.path} tests its queries in {known} folds, and a model trained in one has "
            f"learnt from queries that others test. Name its fold, 1 to {known} (--fold), or a "
            "run, which has the models of all folds."
        )
    if number is None:
        return task
    if not 1 <= number <= known:
        choice = f"its folds are 1 to {known}" if known else "it has no folds"
        raise BadInput(f"task {task.path}: it has no fold {number}; {choice}.")
    return task.folds[number - 1]


def pooled(reports: Sequence[Report]) -> Report:
    """Put reports of different queries together: every query counts as much as any other.

    Means and errors of the measures are those of all queries. What is estimated of a fold as a
    whole is the mean over folds by their queries, its error that of such a mean of independent
    values.

    Parameters
    ----------
    reports : sequence of Report
        One of each fold; no query is in two of them.

    Raises
    ------
    ValueError
        There is no report, or two have a query in common.
    """
    if len(reports) == 1:
        return reports[0]
    if not reports:
        raise ValueError("reports: none came, expected one of each fold")
    per_query = pl.concat([report.per_query for report in reports]).sort("query")
    if per_query["query"].n_unique() < len(per_query):
        raise ValueError("reports: two folds test one query, expected each query once")
    sizes = np.array([len(report.per_query) for report in reports])
    shares = sizes / sizes.sum()
    means, errors = {}, {}
    for name in reports[0].means:
        if name in per_query.columns:
            values = per_query[name].to_numpy()
            means[name], errors[name] = float(values.mean()), standard_error(values)
        elif all(name in report.means for report in reports):
            means[name] = float(shares @ [report.means[name] for report in reports])
            if name in reports[0].errors:
                each = shares * [report.errors[name] for report in reports]
                errors[name] = float(np.sqrt(np.sum(each**2)))
    bounds = {
        name: float(shares @ [report.bounds[name] for report in reports])
        for name in reports[0].bounds
    }
    slices = [report.slices for report in reports if report.slices is not None]
    whole = pl.concat(slices) if slices else None
    # The folds of a task have the same candidates.
    return Report(per_query, means, errors, bounds, whole, reports[0].candidates)
