"""Leading singular vectors and eigenvectors, to a stated tolerance (block Lanczos).

With ``A`` the matrix or its transpose, whichever has fewer columns, the Krylov space of ``A'A`` and
32 random vectors grows until the Ritz vectors of each wanted N have converged: the residual
``||A'A Y_N - Y_N diag(s_1^2 .. s_N^2)||`` is at most ``tolerance * (s_N^2 - s_(N+1)^2)``. A fixed
fraction of ``s_1^2`` would pass wrong subspaces: the gap is some 1e-4 of it in texts at N = 200.
A generalised eigenproblem ``S v = l M v`` is the same iteration with ``M^-1 S`` for ``A'A``, where
lengths and angles are those of the inner product ``x'M y``.

Source: G. H. Golub and C. F. Van Loan, Matrix Computations, section 10.3 (block Lanczos), with full
reorthogonalisation; restarts keep Ritz vectors (K. Wu and H. Simon 2000).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import linalg

from ssi_core.models.latent.products import Products
from ssi_core.types import Float32, Float64, TextMatrix

Columns: TypeAlias = Callable[[Float64], Float64]
"""A linear map of columns."""

_BLOCK = 32
_DENSE = 512
"""Size up to which the whole spectrum is computed: cheaper than any iteration."""
_DEGENERATE = 1e-6
"""Share of ``s_N^2`` below which a gap is none, so that an N does not name a subspace."""
_ALIKE = 0.01
"""Share of the N-th eigenvalue by which others are so near that either may be taken."""
_ZERO = 1e-12
_LOST = 1e-4
"""Share of an image outside of the space below which rounding leaves it too little orthogonal."""
_BASIS_BYTES = 2 << 30
"""Memory of the Krylov basis; where it is used up, the iteration restarts."""


@dataclass(frozen=True)
class Factors:
    """Leading right singular vectors of a matrix.

    Attributes
    ----------
    vectors : float32 (columns, N)
        orthonormal columns, the largest entry of each positive; a column of the matrix without
        entries has a row of zeros
    dimensions : mapping
        each wanted N -> the N that was converged: smaller where ``s_N = s_(N+1)``
    residual : float
        largest residual over the wanted N, as a share of the gap after N; 0 of a dense solution
    """

    vectors: Float32
    dimensions: dict[int, int]
    residual: float


@dataclass(frozen=True)
class Metric:
    """A positive definite matrix M, by its products and its solutions.

    Attributes
    ----------
    product : callable
        ``x`` -> ``M x``.
    solve : callable
        ``x`` -> ``M^-1 x``.
    """

    product: Columns
    solve: Columns


@dataclass(frozen=True)
class _Ritz:
    values: Float64  # descending
    coefficients: Float64  # a column per value
    residuals: Float64  # norms


def leading_vectors(
    matrix: TextMatrix,
    wanted: Sequence[int],
    rng: np.random.Generator,
    *,
    tolerance: float = 0.01,
    basis_bytes: int = _BASIS_BYTES,
    threads: int = 1,
) -> Factors:
    """Compute the right singular vectors of the largest wanted N; those of smaller N lead them.

    Parameters
    ----------
    matrix : CSR (n, D)
        rows of texts
    wanted : sequence of int
        each N for which the subspace must have converged; bounded by ``min(n, D) - 1``
    rng : Generator
        Numpy.random.Generator of the first block.
    tolerance : float
        residual as a share of the gap after N
    basis_bytes : int
        memory of the Krylov basis
    threads : int
        threads of the products with the matrix, which change no bit of them
    """
    smallest, wide = min(matrix.shape), matrix.shape[0] < matrix.shape[1]
    bounded = {n: max(1, min(n, smallest - 1)) for n in wanted}
    grid, products = sorted(set(bounded.values())), Products(matrix, threads)
    gram = products.outer if wide else products.gram
    if smallest <= max(_DENSE, 2 * grid[-1]):
        values, basis = np.linalg.eigh(gram(np.eye(smallest)))
        values, basis, residual = values[::-1], basis[:, ::-1], 0.0
    else:
        values, basis, residual = _lanczos(gram, None, smallest, grid, rng, tolerance, basis_bytes)
    dimensions = {n: _firm(values, bound) for n, bound in bounded.items()}
    vectors = basis[:, : max(dimensions.values())]
    if wide:
        return Factors(_right(products, vectors, matrix.shape[1], threads), dimensions, residual)
    found = _signed(vectors)
    entries = products.transposed(np.ones((matrix.shape[0], 1)))
    found[entries[:, 0] == 0] = 0  # where rounding left something
    return Factors(found, dimensions, residual)


def _right(products: Products, left: Float64, size: int, threads: int) -> Float32:
    """Return the right singular vectors of left ones; a value of zero has none.

    Their side is the longer one: a few columns at a time are float64.
    """
    right = np.empty((size, left.shape[1]), np.float32)
    for first in range(0, left.shape[1], _BLOCK * threads):
        columns = slice(first, first + _BLOCK * threads)
        vectors = products.transposed(left[:, columns])
        lengths = np.sqrt(np.einsum("ij,ij->j", vectors, vectors))
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        right[:, columns] = _signed(vectors)
    return right


def leading_eigenvectors(
    product: Columns,
    size: int,
    wanted: int,
    rng: np.random.Generator,
    *,
    metric: Metric | None = None,
    tolerance: float = 0.01,
    basis_bytes: int = _BASIS_BYTES,
) -> Factors:
    """Compute eigenvectors of ``S v = l M v`` with the largest eigenvalues, ``v'M v = 1``.

    Parameters
    ----------
    product : callable
        ``x`` -> ``S x`` with S symmetric, without negative eigenvalues.
    size : int
        Rows of S.
    wanted : int
        N; bounded by ``size - 1``.
    rng : Generator
        Draws the first block.
    metric : Metric or None
        M; None: the identity.
    tolerance : float
        Residual as a share of the gap after N, or of a hundredth of the N-th eigenvalue where the
        gap is less: among values that are so near, any choice has the same quotient.
    basis_bytes : int
        Memory of the Krylov basis.
    """
    bounded = max(1, min(wanted, size - 1))
    if size <= max(_DENSE, 2 * bounded):
        unit = np.eye(size)
        M = None if metric is None else metric.product(unit)
        values, basis = linalg.eigh(product(unit), M)
        values, basis, residual = values[::-1], basis[:, ::-1], 0.0
    else:
        values, basis, residual = _lanczos(
            product, metric, size, [bounded], rng, tolerance, basis_bytes, _ALIKE
        )
    dimensions = _firm(values, bounded)
    return Factors(_signed(basis[:, :dimensions]), {wanted: dimensions}, residual)


def _signed(vectors: Float64) -> Float32:
    """Turn columns, in place, so that the largest entry of each is positive."""
    vectors *= np.where(-vectors.min(axis=0) > vectors.max(axis=0), -1.0, 1.0)
    return np.ascontiguousarray(vectors, np.float32)


def _lanczos(
    product: Columns,
    metric: Metric | None,
    size: int,
    grid: Sequence[int],
    rng: np.random.Generator,
    tolerance: float,
    basis_bytes: int,
    alike: float = 0.0,
) -> tuple[Float64, Float64, float]:
    """Return eigenvalues and eigenvectors of ``M^-1 S``, descending, and the largest residual."""
    most = grid[-1]
    capacity = _capacity(size, most, basis_bytes)
    Q = np.empty((size, capacity), order="F")
    T = np.zeros((capacity, capacity))
    columns, check = 0, min(capacity, 2 * most + 2 * _BLOCK)
    block = _orthonormal(rng.standard_normal((size, _BLOCK)), metric)[0]
    while True:
        block = block[:, : capacity - columns]
        new = slice(columns, columns + block.shape[1])
        Q[:, new], columns = block, new.stop
        image = product(np.ascontiguousarray(block))
        image = image if metric is None else metric.solve(image)
        image, T[:columns, new] = _without(Q[:, :columns], image, metric)
        T[new, :columns] = T[:columns, new].T
        block, coupling = _orthonormal(image, metric)
        if np.abs(np.diagonal(coupling)).min() <= _LOST * np.abs(T[:columns, new]).max():
            # Columns that were in the space already: others take their place.
            block = _orthonormal(_without(Q[:, :columns], block, metric)[0], metric)[0]
        if columns < check:
            continue
        ritz = _ritz(T[:columns, :columns], coupling, new)
        residual = _residual(ritz, grid, alike) if columns < size else 0.0
        if residual <= tolerance:
            return ritz.values, Q[:, :columns] @ ritz.coefficients[:, : most + 1], residual
        if columns == capacity:
            # A block is never cut: a direction that is left out would not come back.
            added = _whole_blocks(2 * (capacity - most) // 3)
            columns = _restart(Q, T, ritz, capacity - added)
        check = min(capacity, columns + max(_BLOCK, columns // 16))


def _capacity(size: int, most: int, basis_bytes: int) -> int:
    """Return the columns of the basis: those that texts need, or as many as the memory has."""
    enough, least = 4 * most + 9 * _BLOCK, 3 * most + 5 * _BLOCK
    return min(size, _whole_blocks(max(least, min(enough, basis_bytes // (8 * size)))))


def _whole_blocks(columns: int) -> int:
    return columns // _BLOCK * _BLOCK


def memory_of(shape: tuple[int, int], most: int) -> int:
    """Return the bytes that `leading_vectors` takes at its peak, the result included."""
    size, longest = min(shape), max(shape)
    columns = size if size <= max(_DENSE, 2 * most) else _capacity(size, most, _BASIS_BYTES)
    basis = 8 * size * (columns + 5 * _BLOCK + most)
    # The longer side has products of a block, and all vectors, only where it is that of words.
    wide = 8 * 4 * _BLOCK + 4 * most if shape[0] < shape[1] else 0
    return basis + 4 * 8 * columns**2 + longest * wide + 8 * shape[0]


def _without(basis: Float64, block: Float64, metric: Metric | None) -> tuple[Float64, Float64]:
    """Take the part in a basis out of a block, twice for the sake of rounding."""
    inside = basis.T @ _measured(block, metric)
    block = block - basis @ inside
    again = basis.T @ _measured(block, metric)
    return block - basis @ again, inside + again


def _measured(block: Float64, metric: Metric | None) -> Float64:
    return block if metric is None else metric.product(block)


def _orthonormal(block: Float64, metric: Metric | None) -> tuple[Float64, Float64]:
    """Return Q with ``Q'M Q = I`` and R, whose product is the block."""
    Q, R = np.linalg.qr(block)
    if metric is None:
        return Q, R
    L = np.linalg.cholesky(Q.T @ metric.product(Q))
    return linalg.solve_triangular(L, Q.T, lower=True).T, L.T @ R


def _ritz(T: Float64, coupling: Float64, last: slice) -> _Ritz:
    values, coefficients = np.linalg.eigh((T + T.T) / 2)
    values, coefficients = values[::-1], coefficients[:, ::-1]
    return _Ritz(values, coefficients, np.linalg.norm(coupling @ coefficients[last], axis=0))


def _residual(ritz: _Ritz, grid: Sequence[int], alike: float) -> float:
    """Return the largest residual of the wanted subspaces, as a share of the gap after each."""
    shares = []
    for n in {_firm(ritz.values, n) for n in grid}:
        gap = max(ritz.values[n - 1] - ritz.values[n], alike * ritz.values[n - 1])
        shares.append(np.linalg.norm(ritz.residuals[:n]) / max(gap, np.finfo(float).tiny))
    return float(max(shares))


def _firm(values: Float64, n: int) -> int:
    """Return the largest N up to ``n`` that is followed by a gap; 1 where there is none."""
    gaps = values[:n] - values[1 : n + 1]
    # What rounding leaves of a zero is no value, and has no gap.
    firm = np.flatnonzero((gaps > _DEGENERATE * values[:n]) & (values[:n] > _ZERO * values[0]))
    return int(firm[-1]) + 1 if len(firm) else 1


def _restart(Q: Float64, T: Float64, ritz: _Ritz, kept: int) -> int:
    """Shrink the basis to the leading Ritz vectors; return its number of columns."""
    Q[:, :kept] = Q @ ritz.coefficients[:, :kept]
    T[:] = 0
    np.fill_diagonal(T[:kept, :kept], ritz.values[:kept])
    return kept
