r"""Laplacian eigenmaps of a graph (Belkin and Niyogi 2003), with the constant projected out.

    minimise Tr(Y'LY)  with  Y'DY = I,  Y'D1 = 0;      L = D - W,  L v = lambda D v

In ``u = D^{1/2} v`` this is a symmetric problem: the largest eigenvalues of
``D^{-1/2} W D^{-1/2}``. A graph of c parts has c eigenvectors of lambda = 0. A program that drops
the first column would then drop any mixture of them; here the space of the c parts is known
without a computation, the constant is projected out of it in the inner product of D, and a seeded
rotation chooses a basis of the c - 1 dimensions that are left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import LinearOperator, eigsh

from ssi_core.types import BadInput, Float64, Int32

_DENSE = 512
"""Rows up to which the whole spectrum is computed."""


@dataclass(frozen=True)
class Eigenmap:
    """Smallest eigenvectors of a graph.

    Attributes
    ----------
    values : float64 (n, l)
        A column per eigenvector, ``values.T @ D @ values`` is the identity; rows without an edge
        are 0.
    eigenvalues : float64 (l,)
        lambda of each column, ascending.
    parts : int
        Connected parts of the graph; rows without an edge are none.
    """

    values: Float64
    eigenvalues: Float64
    parts: int


def eigenmap(graph: sparse.csr_array, dimensions: int, rng: np.random.Generator) -> Eigenmap:
    """Compute the eigenvectors of the smallest eigenvalues, the constant left out.

    Parameters
    ----------
    graph : CSR (n, n)
        W, symmetric, not negative.
    dimensions : int
        l.
    rng : Generator
        Numpy.random.Generator of the rotation and of the iteration's first vector.

    Raises
    ------
    BadInput
        The graph has not more than l rows with an edge.
    """
    degree = np.asarray(graph.sum(axis=1)).ravel()
    linked = np.flatnonzero(degree > 0)
    if dimensions >= len(linked):
        raise BadInput(
            f"{dimensions} bits need more than {dimensions} texts that share words with others; "
            f"there are {len(linked)}. Take fewer bits, or give more texts."
        )
    inner = sparse.csr_array(graph[linked][:, linked])
    root = np.sqrt(degree[linked])
    scale = sparse.diags_array(1 / root)
    normal = sparse.csr_array(scale @ inner @ scale)
    count, part = csgraph.connected_components(normal, directed=False)
    volume = np.bincount(part, weights=degree[linked])
    # A value per part, so that the rows of a part are equal in all bits.
    zero = (_rotated(np.sqrt(volume), dimensions, rng) / np.sqrt(volume)[:, None])[part]
    rest = dimensions - zero.shape[1]
    eigenvalues = np.zeros(dimensions)
    embedded = zero
    if rest:
        values, vectors = _largest(normal, root, part, rest, rng)
        eigenvalues[zero.shape[1] :] = 1 - values
        embedded = np.hstack([zero, vectors / root[:, None]])
    peaks = embedded[np.abs(embedded).argmax(axis=0), np.arange(dimensions)]
    values_of_all = np.zeros((graph.shape[0], dimensions))
    values_of_all[linked] = embedded * np.where(peaks < 0, -1.0, 1.0)
    return Eigenmap(values_of_all, eigenvalues, int(count))


def _rotated(weight: Float64, dimensions: int, rng: np.random.Generator) -> Float64:
    """Return a random orthonormal basis orthogonal to a vector, at most ``dimensions`` columns.

    Parameters
    ----------
    weight : float64 (c,)
        The vector, of any length: coordinates of the constant among the parts.
    """
    unit = weight / np.linalg.norm(weight)
    random = rng.standard_normal((len(unit), len(unit) - 1))
    columns, _ = np.linalg.qr(random - unit[:, None] * (unit @ random))
    return columns[:, :dimensions]


def _largest(
    normal: sparse.csr_array, root: Float64, part: Int32, count: int, rng: np.random.Generator
) -> tuple[Float64, Float64]:
    """Return the largest eigenvalues outside of the space of the parts, descending, and vectors.

    Each part is solved by itself, so that a vector of one part is exactly 0 on all others: noise
    there would be cut at the median into random bits.
    """
    values, vectors = [], []
    for number in range(int(part.max()) + 1):
        members = np.flatnonzero(part == number)
        most = min(count, len(members) - 1)
        inner = sparse.csr_array(normal[members][:, members])
        unit = root[members] / np.linalg.norm(root[members])
        some, columns = _largest_of_part(inner, unit, most, rng)
        whole = np.zeros((len(part), most))
        whole[members] = columns
        values.append(some)
        vectors.append(whole)
    joined = np.concatenate(values)
    order = np.argsort(-joined, kind="stable")[:count]
    return joined[order], np.hstack(vectors)[:, order]


def _largest_of_part(
    normal: sparse.csr_array, unit: Float64, count: int, rng: np.random.Generator
) -> tuple[Float64, Float64]:
    """Return the largest eigenvalues of a connected graph but for the constant's, and vectors."""
    n = normal.shape[0]
    if n <= max(_DENSE, 3 * count):
        values, vectors = np.linalg.eigh(normal.toarray() - 3 * np.outer(unit, unit))
    else:
        # The eigenvalue 1 of the constant becomes -2, below all others.
        operator = LinearOperator(
            (n, n), dtype=np.float64, matvec=lambda x: normal @ x - 3 * unit * (unit @ x)
        )
        values, vectors = eigsh(operator, count, which="LA", v0=rng.standard_normal(n), tol=1e-9)
    order = np.argsort(-values)[:count]
    return values[order], vectors[:, order]
