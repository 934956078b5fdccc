"""Words that go together: DICE coefficients against the F most frequent words, the top k kept.

``DICE(i, j) = 2 cooc(i, j) / (df_i + df_j)`` (Bai et al. 2010, section 2.2.3). Both counts are of
documents: with the paper's total occurrences below the line, a word that a text repeats would no
longer match itself best. Two things bound the memory: the product of the two matrices is held one
row at a time, and the documents of the items, as many items at a time as `POSTINGS` has room for.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels.sparse import Csr, csr
from ssi_core.kernels.text import dice as kernels
from ssi_core.types import Float32, Int32, Int64, Progress, TextMatrix

POSTINGS = 1 << 26
"""Documents of items that are held at a time, 4 bytes each."""

Mask = NDArray[np.bool_]


class Matches(NamedTuple):
    """The k best frequent words of each item, the best first.

    ``bins`` int32 (items, k), -1 where an item meets fewer than k words; ``values`` float32
    (items, k), DICE in 0..1.
    """

    bins: Int32
    values: Float32


def memory_of(items: int, k: int, documents: int, frequent: int, *, entries: int) -> int:
    """Return the bytes that `dice` takes at its peak, beside the matrices.

    Parameters
    ----------
    entries : int
        Non-zeros of the items' columns.
    """
    return items * (8 * k + 48) + 16 * documents + 24 * frequent + 4 * min(entries, POSTINGS)


def dice(
    words: TextMatrix,
    frequent: int,
    k: int,
    *,
    items: TextMatrix | None = None,
    first: int = 0,
    last: int | None = None,
    documents: Mask | None = None,
    postings: int = POSTINGS,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Matches:
    """Match items with the ``frequent`` most frequent words.

    A frequent word matches itself first; other ties come by ascending number, and a word that an
    item never meets is no match.

    Parameters
    ----------
    words : CSR matrix
        Counts, a row per document, columns by falling frequency; may be memory mapped.
    items : CSR matrix or None
        Counts of n-grams in the same documents; None: the items are the words themselves.
    first, last : int, int or None
        Columns of ``items`` that are wanted; None: to the end.
    documents : bool
        The rows that count; None: all.
    postings : int
        See `POSTINGS`; the matrices are read once for each filling.
    threads : int or None
        The result does not depend on it; None: as many as numba may use here.

    Returns
    -------
    `Matches` of last - first rows
    """
    if k < 1 or frequent < 1:
        raise ValueError(f"k={k}, frequent={frequent}; expected at least 1")
    frequent = min(frequent, words.shape[1])
    chosen = np.ones(words.shape[0], np.bool_) if documents is None else documents
    wanted = words if items is None else items
    last = wanted.shape[1] if last is None else last
    if not 0 <= first <= last <= wanted.shape[1]:
        raise ValueError(f"first={first}, last={last}; expected a range in 0..{wanted.shape[1]}")
    matrix, wanted_rows = csr(words), csr(wanted)
    everywhere = document_frequency(words, chosen)
    of_words = everywhere[:frequent].copy()
    frequency = everywhere if items is None else document_frequency(items, chosen)
    frequency = frequency[first:last]
    ends = np.empty(words.shape[0], np.int64)
    kernels.frequent_ends(matrix.indptr, matrix.indices, frequent, ends)
    matches = Matches(
        np.empty((last - first, k), np.int32), np.empty((last - first, k), np.float32)
    )

    def match(lists: tuple[Int64, Int32], own: int, begin: int, end: int, at: int) -> None:
        scratch = np.zeros(frequent, np.int32), np.empty(frequent + 1, np.int32)
        kernels.best_matches(
            *lists,
            begin,
            end,
            matrix.indptr[:-1],
            ends,
            matrix.indices,
            of_words,
            own,
            *scratch,
            matches.bins[at:],
            matches.values[at:],
        )

    threads = threads or numba.get_num_threads()
    with ThreadPoolExecutor(threads) as pool:
        for begin, end in _fillings(frequency, postings):
            lists = _postings(wanted_rows, chosen, frequency[begin:end], first + begin)
            first_item = first + begin if items is None else frequent
            pieces = _pieces(lists[0], 1 if threads == 1 else 16 * threads)
            waiting = [pool.submit(match, lists, first_item, a, b, begin) for a, b in pieces]
            for done in waiting:
                done.result()
            if progress is not None:
                progress(end / max(1, len(frequency)), "matches of words")
    return matches


def document_frequency(matrix: TextMatrix, documents: Mask) -> Int64:
    """Count the chosen documents with each column: int64 (columns,)."""
    counts = np.zeros(matrix.shape[1], np.int64)
    rows = csr(matrix)
    kernels.count_documents(rows.indptr, rows.indices, documents, counts)
    return counts


def _postings(matrix: Csr, chosen: Mask, frequency: Int64, first: int) -> tuple[Int64, Int32]:
    """Return the documents of each column from ``first`` on."""
    starts = np.concatenate([[0], np.cumsum(frequency)]).astype(np.int64)
    lists = np.empty(int(starts[-1]), np.int32)
    last = first + len(frequency)
    ends = starts[:-1].copy()
    kernels.gather_postings(matrix.indptr, matrix.indices, chosen, first, last, ends, lists)
    return starts, lists


def _fillings(frequency: Int64, most: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of items with at most ``most`` documents, or of one larger item."""
    ends = np.cumsum(frequency)
    begin = 0
    while begin < len(ends):
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + most, side="right")))
        yield begin, end
        begin = end


def _pieces(starts: Int64, most: int) -> list[tuple[int, int]]:
    """Cut items into about ``most`` ranges of equal work."""
    work: Any = starts + np.arange(len(starts))
    cuts = np.unique(np.searchsorted(work, np.linspace(0, work[-1], most + 1)))
    return list(pairwise(cuts.tolist()))
