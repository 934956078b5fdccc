r"""Hubs: points that are among the k nearest neighbours of very many others.

``N_k(x)`` is the number of points that have x among their k nearest others, ``BN_k(x)`` the number
of those whose label is not that of x. Their distribution says how the space treats its points:

    S_Nk = mean((N_k - mu)^3) / sigma^3         BN_k ratio = sum_x BN_k(x) / sum_x N_k(x)

The skewness ``S_Nk`` is large where few points, the hubs, are neighbours of most others; the ratio
is the share of neighbours with another label, 0 where the labels are clusters.

Source: M. Radovanovic, A. Nanopoulos, M. Ivanovic, Hubness in the context of feature selection and
generation (Workshop on Feature Generation and Selection for Information Retrieval 2010). The
measure ``hubness`` of an evaluation is the skewness of another count: of the queries that find each
document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.evaluation.measures import hubness
from ssi_core.kernels.ranking.best import top_k
from ssi_core.scoring.scorer import Scorer
from ssi_core.scoring.vectors import Inner, Vectors
from ssi_core.types import BadInput, Int32, Int64

Similarity: TypeAlias = Literal["cosine", "dot"]
SIMILARITIES: tuple[Similarity, ...] = ("cosine", "dot")

_BLOCK_BYTES = 64 << 20


@dataclass(frozen=True)
class Hubs:
    """Counts of a graph of nearest neighbours.

    Attributes
    ----------
    k : int
        Neighbours of a point.
    points : int
        Texts that have a vector other than zero.
    occurrences : int64 (points,)
        ``N_k`` of each point.
    bad : int64 (points,) or None
        ``BN_k`` of each point; None without labels.
    """

    k: int
    points: int
    occurrences: Int64
    bad: Int64 | None = None

    @property
    def skewness(self) -> float:
        """``S_Nk``."""
        return hubness(self.occurrences)

    @property
    def bad_ratio(self) -> float | None:
        """``BN_k`` ratio; None without labels."""
        return None if self.bad is None else float(self.bad.sum() / self.occurrences.sum())


def hubs(
    vectors: Vectors,
    *,
    k: int = 10,
    labels: NDArray[np.integer] | None = None,
    similarity: Similarity = "cosine",
    threads: int = 1,
) -> Hubs:
    """Count how often each text is among the k nearest neighbours of another one.

    Texts whose vector is zero have no neighbours and are none: they are left out. Of equally near
    texts the first ones are neighbours.

    Parameters
    ----------
    vectors : Vectors
        `Vectors` of n texts, as documents; the inner product is the sum of both parts.
    k : int
        Neighbours of a text.
    labels : int (n,), optional
        Class of each text.
    similarity : Similarity
        "cosine" or "dot".
    threads : int
        As in `Scorer`.

    Raises
    ------
    BadInput
        There are not more than k texts with a vector, or the vectors have no inner product.
    """
    if not isinstance(vectors, Inner):
        raise BadInput(
            "hubs: the scores of the model are no inner products of vectors. Take a model with "
            "vectors, such as 'lsi' or 'bilinear'."
        )
    norms = _norms(vectors)
    points = np.flatnonzero(norms > 0)
    if len(points) <= k:
        raise BadInput(
            f"hubs: only {len(points)} texts have a vector, and {k} neighbours of each need more "
            f"than {k}. Give more texts, or take fewer neighbours."
        )
    some: Vectors = vectors.take(points)
    if similarity == "cosine":
        some = _unit(some, norms[points])
    near = neighbours(some, k, threads=threads)
    occurrences = np.bincount(near.ravel(), minlength=len(points)).astype(np.int64)
    if labels is None:
        return Hubs(k, len(points), occurrences)
    label = np.asarray(labels)[points]
    wrong = near[label[near] != label[:, None]]
    return Hubs(k, len(points), occurrences, np.bincount(wrong, minlength=len(points)))


def neighbours(vectors: Vectors, k: int, *, threads: int = 1) -> Int32:
    """Return the k others of the largest inner product with each text, int32 (n, k).

    Parameters
    ----------
    vectors : Vectors
        `Vectors` of n > k texts.
    k : int
        Neighbours of a text; equal ones by ascending row.
    """
    n = len(vectors)
    near = np.empty((n, k), np.int32)
    scorer = Scorer(vectors, threads=threads)
    block = max(1, _BLOCK_BYTES // (4 * n))
    for begin in range(0, n, block):
        end = min(n, begin + block)
        scores = scorer.score(vectors.take(slice(begin, end)))
        scores[np.arange(end - begin), np.arange(begin, end)] = -np.inf
        top_k(scores, near[begin:end], np.empty((end - begin, k), np.float32))
    return near


def _norms(vectors: Vectors) -> NDArray[np.float64]:
    squares = np.zeros(len(vectors))
    if vectors.sparse is not None:
        matrix = vectors.sparse
        squares += np.asarray(matrix.multiply(matrix).sum(axis=1), np.float64).ravel()
    if vectors.dense is not None:
        squares += np.einsum("ij,ij->i", vectors.dense, vectors.dense, dtype=np.float64)
    return np.sqrt(squares)


def _unit(vectors: Vectors, norms: NDArray[np.float64]) -> Vectors:
    scale = (1 / norms).astype(np.float32)
    matrix, dense = vectors.sparse, vectors.dense
    if matrix is not None:
        matrix = sparse.csr_array(sparse.diags_array(scale) @ matrix)
    return Inner(matrix, None if dense is None else dense * scale[:, None])
