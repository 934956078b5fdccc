"""Named tuples that the kernels of a training pass to each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ssi_core.kernels.sparse import read_only

TRIPLES, HINGE, VIOLATED, SKIPPED = range(4)
"""Places in the ``totals`` of a sweep: triples drawn, sum of first hinges, those that violate,
triples without a d-."""


class Squares(NamedTuple):
    """The accumulators of the rows of ``U`` and ``V``, float32 (words,); ``dimensions`` is N.

    ``U is V`` where the embeddings are.
    """

    U: Any
    V: Any
    dimensions: np.float32


class Parameters(NamedTuple):
    """Learnt arrays: ``U``, ``V`` float32 (words, padded N), ``diagonal`` float32 (words or 1,).

    ``U is V`` makes the symmetric form: `forms.low_rank_step` then is the step of ``U'U``. In the
    form "per_document" V has a row for each document. ``W`` is that of a form of `pair_forms`,
    which has no U and V. ``squares`` are `Squares`, for `adagrad.adagrad_step`. ``second``
    float32 (words, padded N) is the map of documents of the second objective of a
    `sweep.Group`; it may be U. ``private`` is `private.Private`, what a thread has for itself
    in "low_rank_private".
    """

    U: Any
    V: Any
    diagonal: Any
    W: Any = None
    squares: Any = None
    second: Any = None
    private: Any = None


class Data(NamedTuple):
    """Arrays read: `sparse.Csr` rows of both sides in W's view and in the diagonal's; links.

    ``pairs`` int32 (n, 2); ``barred_indptr`` int64, ``barred_indices`` int32: for each query the
    sorted documents that are never drawn as d-. ``shown_indptr`` int64, ``shown`` int32: for each
    query those that `sweep.draw_shown` and `sweep.draw_hard` draw from. ``share`` int64 (1,): of
    how many of `sweep.SHARES` draws the latter draws from them. ``candidates`` int32: documents,
    each as often as `sweep.draw_weighted` is to draw it. ``runs`` int64 (n + 1,): where the runs of
    pairs of one query begin, for `block`. All are read-only (`of`).
    """

    queries: Any
    documents: Any
    diagonal_queries: Any
    diagonal_documents: Any
    pairs: Any
    barred_indptr: Any
    barred_indices: Any
    shown_indptr: Any = read_only(np.zeros(1, np.int64))
    shown: Any = read_only(np.zeros(0, np.int32))
    candidates: Any = read_only(np.zeros(0, np.int32))
    runs: Any = read_only(np.zeros(1, np.int64))
    share: Any = read_only(np.zeros(1, np.int64))

    @classmethod
    def of(
        cls,
        queries: Any,
        documents: Any,
        diagonal_queries: Any,
        diagonal_documents: Any,
        *links: Any,
    ) -> Data:
        """Return the data of rows and of the arrays of links, which become read-only.

        A kernel is compiled once for each set of types, and a task may be mapped or not.
        """
        arrays = (read_only(array) for array in links)
        return cls(queries, documents, diagonal_queries, diagonal_documents, *arrays)


class Work(NamedTuple):
    """Scratch of one thread, float32.

    ``query`` (N,), ``documents`` (2, N), ``spread`` (words,), ``dots`` (2,). For `pair_forms`:
    ``held`` int64 (1,), the query; ``words`` (words of W's view,), zeros. For `adagrad`: ``words``,
    and ``row``, a `sparse.Csr` of one row that has room for all words. For the form "per_document":
    ``direction`` (N,). For `block`: ``direction``, ``words`` (words of the diagonal's view,),
    zeros, and ``pool``, a `pooled.Pool`. For `pair_runs` N is the number of words of documents:
    ``query``, ``documents`` and ``direction``.
    """

    query: Any
    documents: Any
    spread: Any
    dots: Any
    held: Any = None
    words: Any = None
    row: Any = None
    direction: Any = None
    pool: Any = None


class Settings(NamedTuple):
    """Numbers of a sweep: margin, rates of W and of the diagonal, negatives tried per positive.

    ``warp`` multiplies both rates of a step by `warp.rank_weight`. ``second`` is the weight of the
    second objective of a `sweep.Group`; 0 leaves it out.
    """

    margin: np.float32
    rate: np.float32
    diagonal_rate: np.float32
    negatives: np.int64
    warp: bool = False
    second: np.float32 = np.float32(0)


class Stepped(NamedTuple):
    """Texts that steps were taken with: bool (queries,) and (documents,), which a sweep marks."""

    queries: Any
    documents: Any

    @classmethod
    def none_of(cls, data: Data, n_documents: int) -> Stepped:
        """Return marks of the texts of some data, none of which is marked."""
        queries = len(data.queries.indptr) - 1
        return cls(np.zeros(queries, np.bool_), np.zeros(n_documents, np.bool_))


class Turn(NamedTuple):
    """Arguments of a sweep for one of its groups of objectives.

    d- is drawn from 0..``n_documents`` - 1. ``state`` uint64 (1,) of the sampler, and the
    parameters, change in place; ``totals`` float64 (4,) is added to, ``stepped`` is marked.
    """

    parameters: Parameters
    data: Data
    work: Work
    n_documents: int
    state: Any
    settings: Settings
    totals: Any
    stepped: Stepped
