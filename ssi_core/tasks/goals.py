"""Queries of a page and the page that its visitor looks for, both with their heaviest words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.arrays import load_csr
from ssi_core.tasks.layout import MATRICES
from ssi_core.tasks.queries import write_queries
from ssi_core.types import Float32, Int32, TextMatrix
from ssi_core.views.counting import BLOCK, matrix_path, row_blocks
from ssi_core.views.names import COUNTS
from ssi_core.views.statistics import Statistics
from ssi_core.views.weighting import Weighting, weigh

_WORDS = 100


def write_goals(
    path: Path,
    pages: pl.DataFrame,
    goals: Int32,
    statistics: Statistics,
    weightings: Sequence[Weighting],
) -> None:
    """Write the queries of a task whose documents are pages.

    Parameters
    ----------
    path : Path
        Directory of the task, which has the matrices of the documents.
    pages : DataFrame
        Id, title.
    goals : int32 (n, 2)
        Rows of the page and of the goal of each query.
    """
    name = {c: pages[c][goals[:, 0]] + " > " + pages[c][goals[:, 1]] for c in ("id", "title")}
    counts = load_csr(matrix_path(path / MATRICES, COUNTS))
    heavy = _heaviest(counts, statistics.idf, _WORDS)
    rows = _sums(heavy, goals[:, 0], goals[:, 1])
    write_queries(path, name["id"], name["title"], rows, statistics, weightings)


def _heaviest(counts: TextMatrix, idf: Float32, words: int) -> TextMatrix:
    """Counts of the heaviest words of each text alone."""
    kept = []
    for begin, end in row_blocks(counts.indptr, BLOCK):
        block = counts[begin:end]
        pattern = weigh(block, idf, Weighting("raw", cut=words))
        pattern.data[:] = 1
        kept.append(sparse.csr_array(block.multiply(pattern)))
    rows_kept: TextMatrix = sparse.vstack(kept, format="csr")
    return rows_kept


def _sums(
    counts: TextMatrix, one: NDArray[np.int32], other: NDArray[np.int32]
) -> Iterator[TextMatrix]:
    """Sums of two texts each, in blocks."""
    size = 16_384
    for first in range(0, len(one), size):
        part = slice(first, first + size)
        rows = sparse.csr_array(counts[one[part]] + counts[other[part]])
        rows.sort_indices()
        yield rows
