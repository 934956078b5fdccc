"""The texts of the training pairs, and sums over the pairs of products of their rows.

A sum such as ``sum_i (q_i - d_i)(q_i - d_i)'`` is never made: its product with some columns is made
of the rows of the distinct texts, and of the matrix that tells which of them are pairs.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.models.bilinear.trained import same_space
from ssi_core.models.latent.svd import memory_of
from ssi_core.types import BadInput, Float32, Float64, Task


class Rows:
    """A matrix in as many parts as there are threads; a product has the same bits with any number.

    Parameters
    ----------
    matrix : CSR
        (n, m).
    threads : int
        Parts that are multiplied in parallel.
    """

    def __init__(self, matrix: Any, threads: int = 1) -> None:
        self.matrix = rows = sparse.csr_array(matrix)
        bounds = np.searchsorted(rows.indptr, np.linspace(0, rows.nnz, threads + 1))
        bounds[0], bounds[-1] = 0, rows.shape[0]
        self._parts = [_part(rows, a, b) for a, b in pairwise(bounds.tolist()) if b > a]

    def __matmul__(self, columns: NDArray[Any]) -> Any:
        """Return the product with dense columns."""
        if len(self._parts) == 1:
            return self._parts[0] @ columns
        with ThreadPoolExecutor(len(self._parts)) as pool:
            return np.concatenate(list(pool.map(lambda part: part @ columns, self._parts)))


def _part(rows: Any, first: int, last: int) -> sparse.csr_array:
    """Return some rows of a matrix without a copy."""
    start, end = rows.indptr[first], rows.indptr[last]
    indptr = rows.indptr[first : last + 1] - start
    values = rows.data[start:end], rows.indices[start:end], indptr
    return sparse.csr_array(values, shape=(last - first, rows.shape[1]))


class Paired:
    """The distinct queries and documents of the training pairs of a task, by the words they have.

    Attributes
    ----------
    left, right : int array
        The query and the document of each pair, as rows of ``queries`` and ``documents``.
    query_rows, document_rows : int array
        The same texts as rows of the task.
    words : int array
        Columns of the view that occur in these texts.
    queries, documents : Rows
        Texts as rows of those words.
    words_of_queries, words_of_documents : Rows
        The same matrices with words as rows.
    """

    def __init__(self, task: Task, view: str, dtype: Any, threads: int = 1) -> None:
        if len(task.train) == 0:
            raise BadInput(f"task {task.path}: no training pair; nothing can be learnt from it.")
        same_space(task, view, "one projection of queries and documents")
        pairs = task.train.rows
        self.query_rows, self.left = np.unique(pairs[:, 0], return_inverse=True)
        self.document_rows, self.right = np.unique(pairs[:, 1], return_inverse=True)
        sides = (
            task.queries.matrix(view)[self.query_rows],
            task.documents.matrix(view)[self.document_rows],
        )
        self.words = np.unique(np.concatenate([matrix.indices for matrix in sides]))
        if len(self.words) == 0:
            raise BadInput(
                f"task {task.path}: no text of a training pair has a word of the view {view!r}; "
                "nothing can be learnt from it."
            )
        self._width = task.documents.width(view)
        queries, documents = (matrix[:, self.words].astype(dtype) for matrix in sides)
        self.queries, self.documents = Rows(queries, threads), Rows(documents, threads)
        self.words_of_queries = Rows(queries.T, threads)
        self.words_of_documents = Rows(documents.T, threads)

    def __len__(self) -> int:
        return len(self.left)

    def projection(self, vectors: NDArray[Any]) -> Float32:
        """Return the rows of all words of the view; those of words that do not occur are zero."""
        whole = np.zeros((self._width, vectors.shape[1]), np.float32)
        whole[self.words] = vectors
        return whole


Relation = Literal["separate", "joined", "apart"]
_PAIRS = 10_000
"""Pairs whose rows are multiplied at a time."""
_CROSSED: dict[Relation, int] = {"separate": 0, "joined": 1, "apart": -1}


class Moments:
    """The matrix of second moments of the texts of pairs, by its products.

    Parameters
    ----------
    paired : Paired
        Texts of the pairs.
    relation : str
        Rows that are multiplied and added up: "separate": q and d, two for each pair; "joined":
        q + d; "apart": q - d.
    centred : bool
        Take the product of the means away, which leaves the covariance.
    threads : int
        Parts that are multiplied in parallel.
    """

    def __init__(
        self, paired: Paired, relation: Relation, *, centred: bool, threads: int = 1
    ) -> None:
        self._paired, self._crossed = paired, _CROSSED[relation]
        n, m = len(paired.query_rows), len(paired.document_rows)
        self._count = len(paired) * (2 if relation == "separate" else 1)
        self._times = [
            np.bincount(paired.left, minlength=n),
            np.bincount(paired.right, minlength=m),
        ]
        meet = sparse.csr_array((np.ones(len(paired)), (paired.left, paired.right)), shape=(n, m))
        self._meet, self._met = Rows(meet, threads), Rows(meet.T, threads)
        self._mean: Float64 | None = None
        if centred:
            self._mean = (self._total() / self._count)[:, None]

    def _total(self) -> Float64:
        paired, (queries, documents) = self._paired, self._times
        sign = -1 if self._crossed < 0 else 1
        total: Float64 = paired.words_of_queries @ queries
        total += sign * (paired.words_of_documents @ documents)
        return total

    def __call__(self, columns: Float64) -> Float64:
        """Return the product with columns."""
        paired = self._paired
        q, d = paired.queries @ columns, paired.documents @ columns
        across = (self._meet @ d, self._met @ q) if self._crossed else ()
        for rows, times in zip((q, d), self._times, strict=True):
            rows *= times[:, None]
        for rows, other in zip((q, d), across, strict=False):
            other *= self._crossed
            rows += other
        product: Float64 = paired.words_of_queries @ q
        product += paired.words_of_documents @ d
        product /= self._count
        if self._mean is not None:
            product -= self._mean * (self._mean.T @ columns)
        return product

    def diagonal(self) -> Float64:
        """Return the diagonal, without the means."""
        q, d = self._paired.queries.matrix, self._paired.documents.matrix
        total = (q**2).T @ self._times[0] + (d**2).T @ self._times[1]
        for first in range(0, len(self._paired) if self._crossed else 0, _PAIRS):
            some = slice(first, first + _PAIRS)
            both = q[self._paired.left[some]] * d[self._paired.right[some]]
            total += 2 * self._crossed * both.sum(axis=0)
        diagonal: Float64 = total / self._count
        return diagonal


def paired_memory(task: Task, view: str, size: int) -> int:
    """Return the bytes of `Paired` and the pairs, with ``size`` bytes for a number."""
    nonzeros = sum(task_side.matrix(view).nnz for task_side in (task.queries, task.documents))
    texts = len(task.queries) + len(task.documents)
    return (3 * size + 16) * nonzeros + 64 * len(task.train) + 32 * texts


def components_memory(task: Task, view: str, dimensions: int) -> int:
    """Return the bytes that the leading eigenvectors of `Moments` take."""
    words, texts = task.queries.width(view), len(task.queries) + len(task.documents)
    columns = 8 * texts * 4 * max(16, dimensions)
    return paired_memory(task, view, 8) + columns + memory_of((words, words), dimensions)
