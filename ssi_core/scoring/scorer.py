"""Documents made ready to be scored by queries of any class (`scoring.vectors`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.kernels.sparse import Csr, count_frequent, csr
from ssi_core.scoring.inner import Formula, InnerProducts
from ssi_core.scoring.likelihood import Likelihoods
from ssi_core.scoring.rank_sum import RankSums
from ssi_core.scoring.two_stage import TwoStages, columns
from ssi_core.scoring.vectors import Inner, Likelihood, RankSum, Several, TwoStage, Vectors
from ssi_core.types import Float32, Float64, Int32, Int64

FORMULAS: Mapping[type[Vectors], type[Formula[Any]]] = {
    Inner: InnerProducts,
    Likelihood: Likelihoods,
    RankSum: RankSums,
    TwoStage: TwoStages,
}
"""Class of queries -> their formula."""


_SHARE = 0.25
"""Share of the documents that have frequent words, in the mean."""
COLUMNS_BYTES = 64 << 20
"""Of the columns of frequent words."""
_DOCUMENTS_AT_ONCE = 512


class Ready:
    """Documents made ready: their sparse part is held once more, by column, when it is needed.

    Parameters
    ----------
    vectors : Vectors
        Vectors of n documents.
    threads : int
        For the sparse part over queries and for BLAS; restored after each call.
    """

    def __init__(self, vectors: Vectors, threads: int) -> None:
        self.vectors, self.threads = vectors, threads
        self.count = len(vectors)

    @cached_property
    def words(self) -> sparse.csc_array | None:
        """The sparse part, by column."""
        return None if self.vectors.sparse is None else self.vectors.sparse.tocsc()

    @cached_property
    def postings(self) -> Csr | None:
        """The same, as kernels take it."""
        return None if self.words is None else csr(self.words)

    @cached_property
    def frequent(self) -> Float32:
        """Full columns of the first words, if they are frequent; see `add_frequent`."""
        assert self.words is not None
        in_documents = np.diff(self.words.indptr)
        blocks = -(-self.count // _DOCUMENTS_AT_ONCE)
        most = COLUMNS_BYTES // max(1, 4 * blocks * _DOCUMENTS_AT_ONCE)
        count = count_frequent(in_documents[:most], _SHARE * self.count)
        columns = np.zeros((blocks, count, _DOCUMENTS_AT_ONCE), np.float32)
        entries = slice(self.words.indptr[count])
        word = np.repeat(np.arange(count), in_documents[:count])
        block, document = np.divmod(self.words.indices[entries], _DOCUMENTS_AT_ONCE)
        columns[block, word, document] = self.words.data[entries]
        return columns

    @cached_property
    def parts(self) -> Sequence[Scorer]:
        """Scorers of the parts of several models."""
        parts = self.vectors.parts if isinstance(self.vectors, Several) else ()
        return [Scorer(part, threads=self.threads) for part in parts]


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
    >>> Scorer(Inner(one)).score(Inner(one)).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, documents: Vectors, *, threads: int = 1) -> None:
        self._ready = Ready(documents, threads)
        self.documents = self._ready.count
        # Made now, and not with the first query.
        _ = self._ready.postings, self._ready.parts

    def score(self, queries: Vectors, candidates: NDArray[np.bool_] | None = None) -> Float32:
        """Return the scores of all queries with all documents.

        Parameters
        ----------
        queries : Vectors
            `Vectors` of m queries, with the parts and widths of the documents.
        candidates : bool (m, n) or None
            Documents among which several models rank for each query; None: all. Other scores do
            not depend on it.

        Returns
        -------
        float32 (m, n), C order: 4 m n bytes, so give queries in blocks

        Raises
        ------
        ValueError
            Queries and documents have different parts, or parts of different width.
        """
        return _formula(self._ready, queries).scores(queries, candidates)

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
        return _formula(self._ready, queries).best(queries, k, hidden)

    def best_by_words(self, queries: Inner, near: int, rows: Int32, scores: Float32) -> None:
        """Add the sparse part to given scores, and find the documents of the largest one.

        No array has an entry for each query and document.

        Parameters
        ----------
        queries : Inner
            Vectors of m queries.
        near : int
            How many documents of each query are given.
        rows : int32 (m, near + words)
            The first ones are given, each once, or -1; written: the best of all by the sparse part
            alone, -1 in place of one that is given, and where no document has a word of the query.
        scores : float32 (m, near + words)
            The sparse part is added to those that are given, and written for the others.
        """
        InnerProducts(self._ready).best_by_words(queries, near, rows, scores)

    def pairs(self, queries: Vectors, rows: Int32) -> Float32:
        """Return the scores of given pairs, float32 (n,); see `score_pairs`."""
        return _pairs(self._ready, queries, rows)


def score_pairs(
    queries: Vectors, documents: Vectors, rows: Int32 | None = None, *, threads: int = 1
) -> Float32:
    """Return the scores of given pairs; several models rank among all of the documents.

    Parameters
    ----------
    queries, documents : `Vectors`
        Both sides of the pairs.
    rows : int32 (n, 2)
        Query row and document row; None: row i with row i. Fastest when pairs of one query stand
        together.
    threads : int
        As in `Scorer`.

    Returns
    -------
    float32 (n,)
    """
    if rows is None:
        if len(queries) != len(documents):
            raise ValueError(
                f"documents: {len(documents)} rows, expected {len(queries)}, one a query"
            )
        rows = np.repeat(np.arange(len(queries), dtype=np.int32)[:, None], 2, axis=1)
    return _pairs(Ready(documents, threads), queries, rows)


def scores_of_parts(
    queries: Several, documents: Vectors, pairs: Int32, *, threads: int = 1
) -> Float64:
    """Return the score of each part for each pair, float64 (pairs, parts); all are finite."""
    assert isinstance(documents, Several)
    parts = zip(queries.parts, documents.parts, strict=True)
    return columns(score_pairs(*both, pairs, threads=threads) for both in parts)


def _pairs(ready: Ready, queries: Vectors, rows: Int32) -> Float32:
    query_row = np.ascontiguousarray(rows[:, 0], dtype=np.int32)
    document_row = np.ascontiguousarray(rows[:, 1], dtype=np.int32)
    return _formula(ready, queries).pairs(queries, query_row, document_row)


def _formula(ready: Ready, queries: Vectors) -> Formula[Any]:
    queries.check(ready.vectors)
    return FORMULAS[type(queries)](ready)
