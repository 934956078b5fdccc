"""Cross-validation: the reports of several folds as one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from ssi_core.evaluation.measures import standard_error
from ssi_core.types import Report


def pooled(reports: Sequence[Report]) -> Report:
    """Put reports of different queries together: every query counts as much as any other.

    Means and errors of the measures are those of all queries. What is estimated of a fold as a
    whole is the mean over folds by their queries, its error that of such a mean of independent
    values.

    Parameters
    ----------
    reports : one of each fold; no query is in two of them

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
    return Report(per_query, means, errors, bounds, pl.concat(slices) if slices else None)
