"""Scores of a part of the documents: those near a query, and those with its words.

The score is ``<u, v> + <a, b>`` with ``u, v`` dense and ``a, b`` sparse. A query looks at documents
of large ``<u, v>``, which `SignCodes` finds, and at those of largest ``<a, b>``, which the inverted
index of words knows exactly. Both parts of the score are exact for whatever it looks at.

The b = 512 bits of a vector v are the signs of ``P'v``, P of blocks of random orthonormal columns.
Two vectors at an angle a differ in ``h = b a / pi`` bits on average, so that ``|v| (b - 2 h)``
ranks documents about as ``<u, v>`` does, whatever their lengths; the first of them are then scored
exactly. There is nothing to learn, and the codes are made in one pass.

Sources: M. Charikar, Similarity estimation techniques from rounding algorithms (2002); J. Ji et
al., Super-bit locality-sensitive hashing (2012), which makes the planes of a block orthogonal.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ssi_core.arrays import ArraySpec, check_arrays, load_array
from ssi_core.files import MAKE_AGAIN
from ssi_core.kernels.ranking.candidates import nearest_by_signs
from ssi_core.resources import Cost
from ssi_core.scoring.scorer import Scorer
from ssi_core.scoring.vectors import Inner, Vectors, wide
from ssi_core.types import Float32, Int32, Int64

# To look at a part is no help, and may miss some, where a share of 1 / _SHARE or more is asked for.
_SHARE = 4
# Documents that are looked at for their words alone.
_BY_WORDS = 64
BITS = 512
_BLOCK = 4096
"""Documents whose codes are met with all queries before the next are read."""


def planes(dimensions: int) -> Float32:
    """Return P, float32 (dimensions, 512): the same ones for a number of dimensions."""
    random = np.random.default_rng(dimensions)
    blocks = -(-BITS // dimensions)
    bases = [np.linalg.qr(random.standard_normal((dimensions,) * 2))[0] for _ in range(blocks)]
    return np.hstack(bases)[:, :BITS].astype(np.float32)


def signs(vectors: Float32, columns: Float32) -> NDArray[np.uint64]:
    """Return the codes of vectors by `planes`, uint64 (8, n), word by word."""
    codes = np.empty((BITS // 64, len(vectors)), np.uint64)
    for first in range(0, len(vectors), _BLOCK):
        on = wide(vectors[first : first + _BLOCK]) @ columns > 0
        words = np.packbits(on, axis=1, bitorder="little").view("<u8")
        codes[:, first : first + _BLOCK] = words.T
    return codes


def write_signs(dense: Float32, path: Path) -> None:
    """Write the codes of some vectors; 64 bytes each."""
    np.save(path, signs(dense, planes(dense.shape[1])), allow_pickle=False)


def signs_cost(dense: Float32) -> Cost:
    """Return the memory that codes take, made or read, and their disk."""
    size = BITS // 8 * len(dense)
    return Cost(size + 8 * len(dense) + 8 * _BLOCK * (BITS + 2 * dense.shape[1]), size)


class SignCodes:
    """Codes that `write_signs` wrote, which find documents of large inner products.

    Parameters
    ----------
    dense : float32 (n, dimensions)
        The vectors.
    path : Path
        File of their codes.
    """

    def __init__(self, dense: Float32, path: Path) -> None:
        self._dense, self._codes = dense, load_array(path, mapped=False)
        specs = {path.stem: ArraySpec("uint64", (BITS // 64, len(dense)))}
        check_arrays(specs, {path.stem: self._codes}, path.parent, MAKE_AGAIN)
        self._planes = planes(dense.shape[1])
        self._lengths = np.concatenate(
            [
                np.linalg.norm(wide(dense[first : first + _BLOCK]), axis=1)
                for first in range(0, len(dense), _BLOCK)
            ]
        )

    def __call__(self, queries: Float32, count: int) -> tuple[Int32, Float32]:
        """Return rows and inner products of the documents whose signs rank first."""
        m = len(queries)
        rows = np.empty((m, 2 * count), np.int32)
        products = np.empty(rows.shape, np.float32)
        nearest_by_signs(
            self._codes,
            self._lengths,
            np.ascontiguousarray(signs(queries, self._planes).T),
            np.empty(_BLOCK, np.int32),
            np.empty(_BLOCK, np.float32),
            rows,
            products,
            np.empty(m, np.int64),
            np.empty(m, np.float32),
        )
        rows, products = rows[:, :count], products[:, :count]
        for query, row, product in zip(queries, rows, products, strict=True):
            product[:] = wide(self._dense[row]) @ query
        return rows, products


class PartScores:
    """Scores of the documents near a query, and of those with its words.

    Parameters
    ----------
    near : SignCodes
        Finds documents by their dense vectors.
    documents : Vectors
        `Vectors` of all documents.
    size : int
        Documents near a query that are looked at.
    """

    def __init__(self, near: SignCodes, documents: Vectors, size: int) -> None:
        assert documents.dense is not None
        self._near, self._dense, self.size = near, documents.dense, size
        self._exact = Scorer(documents)

    def __call__(
        self, queries: Vectors, least: int, hidden: Int64 | None = None
    ) -> tuple[Int32, Float32]:
        """Return the rows that are looked at and their scores; see `ranked.Scores`."""
        assert queries.dense is not None
        count = max(self.size, least + (0 if hidden is None else len(hidden)))
        if _SHARE * count >= len(self._dense):
            return self._exact.best(queries, least, hidden)
        rows, scores = self._near(queries.dense, count)
        if queries.sparse is not None:
            rows, scores = self._with_words(queries, rows, scores)
        if hidden is not None:
            rows[np.isin(rows, hidden)] = -1
        scores[rows < 0] = -np.inf
        order = np.argsort(rows, axis=1)
        return np.take_along_axis(rows, order, 1), np.take_along_axis(scores, order, 1)

    def _with_words(
        self, queries: Vectors, near: Int32, products: Float32
    ) -> tuple[Int32, Float32]:
        """Add the words' part to scores, and the documents that are best by words."""
        assert isinstance(queries, Inner)
        assert queries.dense is not None
        count = near.shape[1]
        rows = np.hstack([near, np.full((len(near), _BY_WORDS), -1, np.int32)])
        scores = np.hstack([products, np.zeros((len(near), _BY_WORDS), np.float32)])
        self._exact.best_by_words(queries, count, rows, scores)
        for query, row, score in zip(queries.dense, rows, scores, strict=True):
            score[count:] += wide(self._dense[row[count:]]) @ query
        return rows, scores
