"""Features of (query, document) pairs: a row for each pair, with its grade.

A task (`types.Task`) has a row for each text; learning to rank has one for each pair.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from ssi_core.types import Float64, Int32, Int64

LARGEST_GRADE = 31
"""Gains are ``2^grade - 1``, and nobody judges in more levels."""


@dataclass(frozen=True)
class PairFeatures:
    """Features of the documents that each query has to rank.

    Attributes
    ----------
    values : float64 (pairs, features)
        C order, a row for each pair, the rows of a query together; finite, or NaN where a value is
        missing.
    grade : int32 (pairs,)
        0 is not relevant.
    queries : polars Series of str
        Id of each query, length n, each id once.
    start : int64 (n + 1,)
        The rows of query i are ``start[i]:start[i + 1]``, at least one.
    documents : polars Series of str
        Id of the document of each row; empty where the file has none.
    names : tuple of str
        Name of each feature.

    Raises
    ------
    ValueError
        Lengths do not fit together, a query has no row, or a value is infinite.
    """

    values: Float64
    grade: Int32
    queries: pl.Series
    start: Int64
    documents: pl.Series
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse arrays that do not fit together."""
        rows = len(self.grade)
        if self.values.ndim != 2 or self.values.shape != (rows, len(self.names)):
            raise ValueError(
                f"values: shape {self.values.shape}, expected {rows} grades x {len(self.names)} "
                "names"
            )
        if len(self.documents) != rows:
            raise ValueError(f"documents: {len(self.documents)} ids, expected {rows}")
        starts = len(self.start) == len(self.queries) + 1 and self.start[0] == 0
        if not starts or self.start[-1] != rows or np.any(np.diff(self.start) < 1):
            raise ValueError("start: expected an ascending list from 0, with a row for each query")
        if len(set(self.names)) != len(self.names) or self.queries.n_unique() != len(self.queries):
            raise ValueError("names, queries: expected each once")
        if np.isinf(self.values).any():
            raise ValueError("values: expected finite numbers, or NaN where one is missing")
        if rows and (self.grade.min() < 0 or self.grade.max() > LARGEST_GRADE):
            raise ValueError(f"grade: expected 0 to {LARGEST_GRADE}")

    def __len__(self) -> int:
        return len(self.grade)

    @property
    def sizes(self) -> Int64:
        """Rows of each query, int64 (n,)."""
        return np.diff(self.start)

    @property
    def missing(self) -> int:
        """Number of missing values."""
        return int(np.isnan(self.values).sum())

    @property
    def owner(self) -> Int64:
        """Place of the query of each row, int64 (pairs,)."""
        return np.repeat(np.arange(len(self.queries)), self.sizes)

    def lists(self) -> Iterator[tuple[str, slice]]:
        """Yield the id of each query, and its rows."""
        for query, first, last in zip(self.queries, self.start, self.start[1:], strict=False):
            yield query, slice(int(first), int(last))

    def columns(self, names: Sequence[str]) -> PairFeatures:
        """Return the same pairs with some of the features, in the order of the names."""
        columns = [self.names.index(name) for name in names]
        values = np.ascontiguousarray(self.values[:, columns])
        return self.with_values(values, tuple(names))

    def with_values(self, values: Float64, names: Sequence[str]) -> PairFeatures:
        """Return the same pairs with other features."""
        return PairFeatures(
            values, self.grade, self.queries, self.start, self.documents, tuple(names)
        )

    def take(self, queries: Sequence[int] | Int64) -> PairFeatures:
        """Return the rows of some queries, named by their places, in that order."""
        positions = np.asarray(queries, dtype=np.int64)
        sizes = self.sizes[positions]
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        rows = np.repeat(self.start[positions] - start[:-1], sizes) + np.arange(start[-1])
        return PairFeatures(
            self.values[rows],
            self.grade[rows],
            self.queries[positions],
            start,
            self.documents[rows],
            self.names,
        )


@dataclass(frozen=True)
class Fold:
    """A division into training, validation and test that a publisher has fixed.

    Attributes
    ----------
    name : str
        Name of the folder, such as Fold1.
    train, valid, test : PairFeatures
        The three sides; the same features in all of them.
    """

    name: str
    train: PairFeatures
    valid: PairFeatures
    test: PairFeatures


def digest(folds: Iterable[Fold]) -> str:
    """Return 16 hexadecimal digits of all values, grades and queries of folds."""
    whole = hashlib.sha256()
    for fold in folds:
        for side in (fold.train, fold.valid, fold.test):
            whole.update("\n".join((fold.name, *side.names, *side.queries, "")).encode())
            # + 0.0: a zero has one sign.
            for array in (side.values + 0.0, side.grade, side.start):
                whole.update(np.ascontiguousarray(array).data)
    return whole.hexdigest()[:16]
