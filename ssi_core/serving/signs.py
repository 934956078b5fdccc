"""Signs of the documents' vectors as codes: a scan over bits in place of vectors.

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
from ssi_core.scoring.vectors import wide
from ssi_core.types import Float32, Int32

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
    """Codes that `write_signs` wrote, as a `candidates.Near`.

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
