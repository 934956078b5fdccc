"""A task made by hand and a ranker whose scores are given as a table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from scipy import sparse

from ssi_core.scoring.vectors import Inner
from ssi_core.types import Pairs, Task, Texts


def csr(array):
    matrix = sparse.csr_array(np.asarray(array, dtype=np.float32))
    matrix.sort_indices()
    return matrix


def texts(matrix, name):
    ids = pl.Series([f"{name} {i:02}" for i in range(matrix.shape[0])], dtype=pl.String)
    return Texts(ids, ids, {"counts": matrix}, {})


def random_task(rng, queries=12, documents=20, pool=None, levels=4, listed=False):
    """Random pairs on disjoint sides, exclusions, and scores with many ties.

    The score of (q, d) is the entry of the table that is the queries' matrix. ``listed``: queries
    of validation and of the test rank what was judged for them.
    """
    table = rng.integers(-levels, levels, (queries, documents)) / levels
    side = rng.choice(5, (queries, documents), p=[0.1, 0.1, 0.15, 0.5, 0.15])
    side[rng.integers(queries)] = 3
    pairs = [Pairs.of(np.argwhere(side == s)) for s in range(3)]
    grades = [Pairs(p.rows, p.weight, rng.integers(1, 4, len(p)).astype(np.float32)) for p in pairs]
    if listed:
        judged = rng.choice([0, 1, 2], (queries, documents), p=[0.8, 0.1, 0.1]) * (side > 2)
        for s in (1, 2):
            wrong = np.argwhere(judged == s).astype(np.int32)
            grades[s] = replace(grades[s], not_relevant=wrong, listed=True)
    exclude = sparse.csr_array(rng.random((queries, documents)) < 0.1)
    pools = [None, None]
    if pool is not None:
        pools = [
            np.sort(rng.choice(documents, pool, replace=False)).astype(np.int32) for _ in range(2)
        ]
    return Task(
        texts(csr(table), "a query"),
        texts(csr(np.eye(documents)), "50% document"),
        *grades,
        exclude,
        "toy",
        *pools,
    )


class Lookup:
    """A fitted ranker: rows of the counts view, as sparse or as dense vectors."""

    def __init__(self, dense=False):
        self.dense = dense

    def _embed(self, given):
        matrix = given.matrix("counts")
        if not self.dense:
            return Inner(matrix, None)
        return Inner(None, np.ascontiguousarray(matrix.toarray()))

    def embed_queries(self, queries):
        return self._embed(queries)

    def embed_documents(self, documents):
        return self._embed(documents)
