"""Cross-validation of what is chosen after training: the weights of a mixture, by two halves.

A model that is trained once may be used with several weights. Each half of the
judged queries is measured with the weights that are best on the other half, and both are put
together, so that no query chooses for itself (Gao, Toutanova and Yih 2011, section 5).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.folds import pooled
from ssi_core.evaluation.measures import LOWER_IS_BETTER
from ssi_core.scoring.vectors import Fitted
from ssi_core.tasks.split import hash_titles
from ssi_core.types import Report, Task


def two_folds(
    variants: Iterable[Fitted], task: Task, measure: str, *, split_seed: int = 0, **how: Any
) -> Report:
    """Measure the variants of a model, each half of the queries with what is best on the other.

    Parameters
    ----------
    variants : iterable of Fitted
        One model with several weights; a single one is measured as it is.
    task : `Task`
        Task to measure on.
    measure : str
        One of `measures.MEASURES`, whose mean over a half chooses; of equal ones the first.
    split_seed : int
        Random seed of the halves, which depend on it and on the ids of the queries only.
    **how : object
        See `evaluate`.

    Returns
    -------
    Report
        Report of all queries, with measures of single queries only.
    """
    reports = [evaluate(one, task, tuples=0, **how) for one in variants]
    if len(reports) == 1:
        return reports[0]
    sign = -1 if measure in LOWER_IS_BETTER else 1
    values = sign * np.stack([report.per_query[measure].to_numpy() for report in reports])
    half = halves(reports[0].per_query["id"], split_seed)
    parts = []
    for number in np.unique(half):
        others = half != number if len(np.unique(half)) > 1 else half == number
        best = int(values[:, others].mean(axis=1).argmax())
        parts.append(_of_some(reports[best], half == number, whole=number == half.min()))
    return pooled(parts)


def halves(ids: pl.Series, seed: int) -> NDArray[np.int8]:
    """Return the half of each query, int8 0 or 1, dealt out in turn by a keyed hash.

    >>> sorted(halves(pl.Series(["a", "b", "c", "d"]), seed=0).tolist())
    [0, 0, 1, 1]
    """
    order = np.argsort(hash_titles(ids, seed, b"half", "ids"), kind="stable")
    half = np.empty(len(ids), np.int8)
    half[order] = np.arange(len(ids)) % 2
    return half


def _of_some(report: Report, kept: NDArray[np.bool_], *, whole: bool) -> Report:
    """Return the report of some queries; ``whole`` keeps the slices of other queries."""
    per_query = report.per_query.filter(pl.Series(kept))
    slices = report.slices
    if slices is not None:
        inside = pl.col("id").is_in(per_query["id"].to_list())
        others = ~pl.col("id").is_in(report.per_query["id"].to_list())
        slices = slices.filter(inside | others if whole else inside)
    return replace(
        report,
        per_query=per_query,
        means={name: value for name, value in report.means.items() if name in per_query.columns},
        errors={name: value for name, value in report.errors.items() if name in per_query.columns},
        bounds={"p_at_10": float(np.minimum(per_query["relevant"].to_numpy(), 10).mean() / 10)},
        slices=slices,
    )
