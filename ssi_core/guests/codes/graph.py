"""Graphs of nearest neighbours: weights between rows of which one is among the k nearest of one.

    W_ij = s(x_i, x_j)   if x_i is among the k nearest of x_j, or the other way round; else 0

with s the cosine (1) or the heat kernel ``exp(-|x_i - x_j|^2 / (2 sigma^2))`` (2) of Zhang et al.
2010. In a supervised graph the neighbours of a row are those of its class.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from scipy import sparse

from ssi_core.types import Float64, Int32, Int64

Similarity: TypeAlias = Literal["cosine", "heat"]

_BLOCK_BYTES = 64 << 20


def neighbour_graph(
    rows: sparse.csr_array,
    k: int,
    *,
    similarity: Similarity = "cosine",
    sigma: float = 1.0,
    labels: Int32 | None = None,
) -> sparse.csr_array:
    """Return W, symmetric with an empty diagonal; weights of 0 are no edges.

    Parameters
    ----------
    rows : CSR (n, D)
        Vectors of texts.
    k : int
        Neighbours of each row; fewer where there are fewer others.
    similarity : Similarity
        "cosine" or "heat".
    sigma : float
        Width of the heat kernel.
    labels : int32 (n,), optional
        Classes: the neighbours of a row are of its class.
    """
    n = rows.shape[0]
    vectors = _unit(rows) if similarity == "cosine" else rows
    groups = [np.arange(n)]
    if labels is not None:
        groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    parts = [_edges(vectors[members], members, k, similarity, sigma) for members in groups]
    source, target, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
    one_way = sparse.csr_array((weight, (source, target)), shape=(n, n))
    both = sparse.csr_array(one_way.maximum(one_way.T))
    both.eliminate_zeros()
    both.sort_indices()
    return both


def _unit(rows: sparse.csr_array) -> sparse.csr_array:
    squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    length = np.where(squares > 0, np.sqrt(squares), 1.0)
    return sparse.csr_array(sparse.diags_array(1 / length) @ rows)


def _edges(
    vectors: sparse.csr_array, members: Int64, k: int, similarity: Similarity, sigma: float
) -> tuple[Int64, Int64, Float64]:
    """Return source, target and weight of the k nearest others of each row of a group."""
    n = len(members)
    most = min(k, n - 1)
    if most < 1:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    squares = np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel()
    columns = sparse.csc_array(vectors.T)
    targets, weights = np.empty((n, most), np.int64), np.empty((n, most))
    block = max(1, _BLOCK_BYTES // (8 * n))
    for begin in range(0, n, block):
        end = min(n, begin + block)
        near = (vectors[begin:end] @ columns).toarray()
        if similarity == "heat":
            near = squares[begin:end, None] + squares[None, :] - 2 * near
            near = -np.maximum(near, 0.0)
        near[np.arange(end - begin), np.arange(begin, end)] = -np.inf
        best = np.argpartition(-near, most - 1, axis=1)[:, :most]
        targets[begin:end] = best
        weights[begin:end] = np.take_along_axis(near, best, axis=1)
    if similarity == "heat":
        weights = np.exp(weights / (2 * sigma**2))
    return np.repeat(members, most), members[targets].ravel(), np.maximum(weights, 0.0).ravel()
