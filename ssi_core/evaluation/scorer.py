"""Scores of queries against documents, ``f = <sparse_q, sparse_d> + <dense_q, dense_d>``.

The sparse part goes through an inverted index, the dense part through BLAS. Scores that are
logarithms of sums are those of `evaluation.likelihood`, those of ranks of `evaluation.fusion`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from ssi_core.evaluation.exhaustive import best_of_all
from ssi_core.evaluation.fusion import reciprocal_ranks
from ssi_core.evaluation.half import inner_products, wide
from ssi_core.evaluation.likelihood import likelihoods, parts
from ssi_core.kernels.candidates import best_by_words
from ssi_core.kernels.scores import add_likelihoods, add_pairs, add_sparse
from ssi_core.kernels.sparse import csr
from ssi_core.kernels.structs import read_only
from ssi_core.kernels.topk import top_k
from ssi_core.types import BadInput, Float32, Int32, Int64, TextMatrix, Vectors

_PAIRS_AT_ONCE = 8192
_ROWS_BYTES = 64 << 20  # of full rows that queries become, 12 bytes an entry


def length(vectors: Vectors) -> int:
    """Return the number of texts; ValueError when there is no part, or the parts differ."""
    if vectors.fused:
        return length(vectors.fused[0])
    lengths = {p.shape[0] for p in (vectors.sparse, vectors.dense) if p is not None}
    if len(lengths) != 1:
        raise ValueError(f"vectors: parts of {sorted(lengths)} rows, expected one number of rows")
    return int(lengths.pop())


def take(vectors: Vectors, rows: Any) -> Vectors:
    """Return some rows of vectors, in that order; ``rows`` is a slice or row numbers."""
    return Vectors(
        None if vectors.sparse is None else vectors.sparse[rows],
        None if vectors.dense is None else wide(vectors.dense[rows]),
        vectors.through,
        vectors.topics,
        tuple(take(part, rows) for part in vectors.fused),
        vectors.constant,
        vectors.second,
    )


def _finite(array: NDArray[Any]) -> bool:
    """Tell whether an array is without NaN and infinity, in no more memory than it has."""
    # The sum of finite float32 is finite in float64.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(array, dtype=np.float64)))


def refuse_nan(vectors: Vectors, what: str) -> Vectors:
    """Return vectors that are all finite; `BadInput` for others, whose order means nothing."""
    for part in vectors.fused:
        refuse_nan(part, what)
    arrays = [
        None if vectors.sparse is None else vectors.sparse.data,
        vectors.dense,
        vectors.topics,
    ]
    if not all(_finite(array) for array in arrays if array is not None):
        raise BadInput(
            f"{what}: the model gives vectors that hold NaN or infinity, so that nothing can be "
            "ranked by them. Train the model again, with a smaller rate."
        )
    return vectors


@cache
def _blas() -> ThreadpoolController:
    """Return the controls of BLAS: numpy has loaded its own, and to look for it takes 10 ms."""
    return ThreadpoolController()


class Scorer:
    """Documents made ready to be scored against any queries.

    Parameters
    ----------
    documents : Vectors
        `Vectors` of n documents; the sparse part is held once more, by column.
    threads : int
        For the sparse part over queries and for BLAS; restored after each call.

    Examples
    --------
    >>> from scipy import sparse
    >>> one = sparse.csr_array(np.eye(2, dtype=np.float32))
    >>> Scorer(Vectors(one, None)).score(Vectors(one, None)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, documents: Vectors, *, threads: int = 1) -> None:
        self._documents = documents
        self._threads = threads
        self._words = None if documents.sparse is None else documents.sparse.tocsc()
        self._postings = None if self._words is None else csr(self._words)
        self._fused = [Scorer(part, threads=threads) for part in documents.fused]
        self.documents = length(documents)

    def score(self, queries: Vectors, candidates: NDArray[np.bool_] | None = None) -> Float32:
        """Return the scores of all queries with all documents.

        Parameters
        ----------
        queries : Vectors
            `Vectors` of m queries, with the parts and widths of the documents.
        candidates : bool (m, n) or None
            Documents among which a fusion ranks for each query; None: all. Other scores do not
            depend on it.

        Returns
        -------
        float32 (m, n), C order: 4 m n bytes, so give queries in blocks

        Raises
        ------
        ValueError
            Queries and documents have different parts, or parts of different width.
        """
        _check_alike(queries, self._documents)
        rows = length(queries)
        if queries.second is not None:
            from ssi_core.evaluation.second_stage import reordered  # which scores pairs

            first = self._fused[0].score(queries.fused[0])
            return reordered(queries, self._documents, first, candidates, threads=self._threads)
        if queries.fused:
            pairs = zip(self._fused, queries.fused, strict=True)
            scores_of_parts = (scorer.score(part, candidates) for scorer, part in pairs)
            return reciprocal_ranks(scores_of_parts, queries.constant, candidates)
        if queries.topics is not None:
            with _blas().limit(limits=self._threads, user_api="blas"):
                return likelihoods(queries, self._documents, self._words)
        if queries.dense is not None and self._documents.dense is not None:
            with _blas().limit(limits=self._threads, user_api="blas"):
                scores = inner_products(queries.dense, self._documents.dense)
        else:
            scores = np.zeros((rows, self.documents), np.float32)
        if queries.sparse is not None and self._postings is not None:
            _in_parts(self._adder(queries, self._postings, scores), rows, self._threads)
        return scores

    def best(self, queries: Vectors, k: int, hidden: Int64 | None = None) -> tuple[Int32, Float32]:
        """Return the k best documents of each query, best first, equal ones by ascending row.

        Only where scores are not sums of inner products an array has an entry for each query and
        document. The last bits of a score may differ from those of `score`, and with the number of
        queries.

        Parameters
        ----------
        hidden : int64 or None
            Rows that are never found, ascending.

        Returns
        -------
        int32 and float32 (m, k)
            Rows and scores; -1 and ``-inf`` where there are no more. Without a dense part, a
            document of score 0 is none of them.
        """
        _check_alike(queries, self._documents)
        m, n = length(queries), self.documents
        if queries.fused or queries.topics is not None:
            scores = self.score(queries)
            if hidden is not None:
                scores[:, hidden] = -np.inf
            if queries.dense is None:
                scores[scores == 0] = -np.inf
            rows, best = np.empty((m, k), np.int32), np.empty((m, k), np.float32)
            top_k(scores, rows, best)
            return rows, best
        dense, given = self._documents.dense, (self._postings, n, k, hidden)
        if queries.sparse is None or queries.through is None:
            words = None if queries.sparse is None else csr(queries.sparse)
            return best_of_all(queries.dense, words, dense, *given)
        parts_of_best = [
            best_of_all(
                None if queries.dense is None else queries.dense[part],
                csr(_met(queries, part)), dense, *given,
            )
            for part in _few(queries, 0, m)
        ]  # fmt: skip
        rows, best = (np.concatenate(arrays) for arrays in zip(*parts_of_best, strict=True))
        return rows, best

    def best_by_words(self, queries: Vectors, near: int, rows: Int32, scores: Float32) -> None:
        """Add the sparse part to given scores, and find the documents of the largest one.

        No array has an entry for each query and document.

        Parameters
        ----------
        queries : Vectors
            `Vectors` of m queries.
        near : int
            How many documents of each query are given.
        rows : int32 (m, near + words)
            The first ones are given, each once, or -1; written: the best of all by the sparse part
            alone, -1 in place of one that is given, and where no document has a word of the query.
        scores : float32 (m, near + words)
            The sparse part is added to those that are given, and written for the others.
        """
        assert self._postings is not None
        n = self.documents
        scratch = np.empty(n, np.float32), np.empty(n, np.int32), np.empty(n, np.int32)
        for part in _few(queries, 0, length(queries)):
            assert queries.sparse is not None
            some = queries.sparse[part] if queries.through is None else _met(queries, part)
            scratch[1][:] = 0
            best_by_words(*csr(some), *self._postings, near, rows[part], scores[part], *scratch)

    @staticmethod
    def _adder(
        queries: Vectors, postings: tuple[Int64, Int32, Float32], scores: Float32
    ) -> Callable[[int, int], None]:
        """Return what adds the sparse part of a range of queries to their scores."""
        if queries.through is None:
            query = csr(queries.sparse)
            return lambda first, last: add_sparse(*query, *postings, first, last, scores)

        def add(first: int, last: int) -> None:
            for rows in _few(queries, first, last):
                met = _met(queries, rows)
                add_sparse(*csr(met), *postings, 0, met.shape[0], scores[rows])

        return add


def score_pairs(
    queries: Vectors, documents: Vectors, rows: Int32 | None = None, *, threads: int = 1
) -> Float32:
    """Return the scores of given pairs; a fusion ranks among all of the documents.

    Parameters
    ----------
    queries, documents : `Vectors`
    rows : int32 (n, 2)
        Query row and document row; None: row i with row i. Fastest when pairs of one query stand
        together.
    threads : int
        As in `Scorer`.

    Returns
    -------
    float32 (n,)
    """
    _check_alike(queries, documents)
    if rows is None:
        if length(queries) != length(documents):
            raise ValueError(
                f"documents: {length(documents)} rows, expected {length(queries)}, one a query"
            )
        rows = np.repeat(np.arange(length(queries), dtype=np.int32)[:, None], 2, axis=1)
    query_row = np.ascontiguousarray(rows[:, 0], dtype=np.int32)
    document_row = np.ascontiguousarray(rows[:, 1], dtype=np.int32)
    scores = np.zeros(len(rows), np.float32)
    if queries.fused:
        _fill_fused(queries, documents, query_row, document_row, scores, threads)
        return scores
    if queries.topics is not None:
        _add_likelihoods(queries, documents, query_row, document_row, scores, threads)
        return scores
    if queries.dense is not None and documents.dense is not None:
        for first in range(0, len(rows), _PAIRS_AT_ONCE):
            part = slice(first, first + _PAIRS_AT_ONCE)
            left, right = queries.dense[query_row[part]], documents.dense[document_row[part]]
            scores[part] = np.einsum("ij,ij->i", left, wide(right))
    if queries.sparse is not None and documents.sparse is not None:
        if queries.through is None:
            _add_pairs(queries.sparse, documents.sparse, query_row, document_row, scores, threads)
            return scores
        order = np.argsort(query_row, kind="stable")
        for part in _few(queries, 0, length(queries)):
            bounds = np.searchsorted(query_row, [part.start, part.stop], sorter=order)
            places = order[bounds[0] : bounds[1]]
            distinct, row = np.unique(query_row[places], return_inverse=True)
            added = np.zeros(len(places), np.float32)
            met = _met(queries, distinct)
            rows_met = np.asarray(row, np.int32)
            _add_pairs(met, documents.sparse, rows_met, document_row[places], added, threads)
            scores[places] += added
    return scores


def _fill_fused(
    queries: Vectors,
    documents: Vectors,
    query_row: Int32,
    document_row: Int32,
    scores: Float32,
    threads: int,
) -> None:
    """Score the pairs of a few queries at a time, whose scores with all documents are made."""
    scorer = Scorer(documents, threads=threads)
    distinct, place = np.unique(query_row, return_inverse=True)
    size = max(1, _ROWS_BYTES // (12 * scorer.documents))
    for first in range(0, len(distinct), size):
        block = scorer.score(take(queries, distinct[first : first + size]))
        pairs = np.flatnonzero((place >= first) & (place < first + size))
        scores[pairs] = block[place[pairs] - first, document_row[pairs]]


def _add_pairs(
    queries: TextMatrix,
    documents: TextMatrix,
    query_row: Int32,
    document_row: Int32,
    scores: Float32,
    threads: int,
) -> None:
    query, document = csr(queries), csr(documents)
    rows = read_only(query_row), read_only(document_row)
    width = queries.shape[1]

    def add(first: int, last: int) -> None:
        scratch = np.zeros(width, np.float32)
        add_pairs(*query, *document, *rows, first, last, scratch, scores)

    _in_parts(add, len(scores), threads)


def _add_likelihoods(
    queries: Vectors,
    documents: Vectors,
    query_row: Int32,
    document_row: Int32,
    scores: Float32,
    threads: int,
) -> None:
    counts, topics, weights = parts(queries, documents)
    width = counts.shape[1]
    words: Any = documents.sparse
    if words is None:
        words = TextMatrix((len(weights), width), dtype=np.float32)
    inner = *csr(counts), *csr(words), read_only(topics), read_only(wide(weights))
    rows = read_only(query_row), read_only(document_row)

    def add(first: int, last: int) -> None:
        scratch = np.zeros(width, np.float32)
        add_likelihoods(*inner, *rows, first, last, scratch, scores)

    _in_parts(add, len(scores), threads)


def _few(queries: Vectors, first: int, last: int) -> Iterator[slice]:
    """Rows whose sparse parts can be held when they are full."""
    width = queries.through.width if queries.through is not None else 1
    size = max(1, _ROWS_BYTES // (12 * max(1, width)))
    return (slice(start, min(start + size, last)) for start in range(first, last, size))


def _met(queries: Vectors, rows: Any) -> TextMatrix:
    """Sparse parts of some queries, over the columns of documents."""
    assert queries.sparse is not None
    assert queries.through is not None
    return queries.through(queries.sparse[rows])


def _check_alike(queries: Vectors, documents: Vectors) -> None:
    def width(vectors: Vectors, name: str) -> int | None:
        if name == "sparse" and vectors.through is not None:
            return vectors.through.width
        part = getattr(vectors, name)
        return None if part is None else int(part.shape[1])

    if queries.topics is not None:
        parts(queries, documents)  # refuses other widths
        return
    if len(queries.fused) != len(documents.fused):
        fused = len(queries.fused), len(documents.fused)
        raise ValueError(f"queries: {fused[0]} fused models, expected {fused[1]}, the documents'")
    for pair in zip(queries.fused, documents.fused, strict=True):
        _check_alike(*pair)
    for name in ("sparse", "dense"):
        came, expected = width(queries, name), width(documents, name)
        if came != expected:
            raise ValueError(f"queries: {name} width {came}, expected {expected}, the documents'")


def _in_parts(work: Callable[[int, int], None], rows: int, threads: int) -> None:
    """Call ``work(first, last)`` over all rows, in parts that even out among the threads."""
    parts = min(rows, 1 if threads == 1 else 8 * threads)
    if parts <= 1:
        work(0, rows)
        return
    bounds = np.linspace(0, rows, parts + 1).astype(int).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, bounds[:-1], bounds[1:]))
