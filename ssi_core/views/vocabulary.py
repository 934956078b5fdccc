"""The words that are columns: by collection frequency, so that ids are ranks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import overload

import numpy as np
import polars as pl
from scipy import sparse

from ssi_core.arrays import with_data
from ssi_core.types import Int32, Int64, TextMatrix
from ssi_core.views.lexicon import Lexicon


class Vocabulary(Sequence[str]):
    """Words, the most frequent first: "the n most frequent words" are the ids below n.

    Parameters
    ----------
    words : Series
        Distinct words.
    """

    def __init__(self, words: pl.Series) -> None:
        self.series = words.alias("word")

    def __len__(self) -> int:
        return len(self.series)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Vocabulary: ...
    def __getitem__(self, index: int | slice) -> str | Vocabulary:
        word = self.series[index]
        return Vocabulary(word) if isinstance(index, slice) else str(word)

    def __iter__(self) -> Iterator[str]:
        return iter(self.series.to_list())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.series.equals(other.series)

    def __hash__(self) -> int:
        return hash(self.digest())

    def digest(self) -> str:
        """Return a digest of the words and their order, 16 hexadecimal digits."""
        text = "\n".join(self.series.to_list())
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def choose_words(lexicon: Lexicon, frequency: Int64, words: int | None) -> tuple[Vocabulary, Int32]:
    """Take the most frequent words; equal ones in alphabetical order (of code points).

    Parameters
    ----------
    frequency : int64 array
        Int64 (len(lexicon),), occurrences of each number of the lexicon.
    words : int or None
        At most so many; None: every word that occurs.

    Returns
    -------
    vocabulary, ids
        ids : int32 (len(lexicon),), the word's place in the vocabulary or -1
    """
    least = 1
    if words is not None and words < np.count_nonzero(frequency):
        least = max(1, int(np.partition(frequency, -words)[-words]))
    numbers = np.flatnonzero(frequency >= least)
    chosen = (
        pl.DataFrame(
            {"word": lexicon.words(numbers), "number": numbers, "frequency": frequency[numbers]}
        )
        .sort(["frequency", "word"], descending=[True, False])
        .head(words if words is not None else len(numbers))
    )
    ids = np.full(len(frequency), -1, np.int32)
    ids[chosen["number"].to_numpy()] = np.arange(len(chosen), dtype=np.int32)
    return Vocabulary(chosen["word"]), ids


def to_columns(indptr: Int64, columns: Int32, counts: Int32, width: int) -> TextMatrix:
    """Convert bags of words to a matrix of counts, without columns outside of 0..width - 1.

    Returns
    -------
    CSR float32 (len(indptr) - 1, width), sorted indices
    """
    kept = (columns >= 0) & (columns < width)
    if len(indptr) == 2:
        return _one_row(columns[kept], counts[kept], width)
    ends = np.concatenate([[0], np.cumsum(kept)])
    matrix = sparse.csr_array(
        (counts[kept].astype(np.float32), columns[kept], ends[indptr].astype(np.int32)),
        shape=(len(indptr) - 1, width),
    )
    matrix.sort_indices()
    return matrix


def _one_row(columns: Int32, counts: Int32, width: int) -> TextMatrix:
    order = columns.argsort()
    row = with_data(_no_word(width), counts[order].astype(np.float32))
    row.indices, row.indptr = columns[order], np.array([0, len(columns)], np.int32)
    return row


@lru_cache(maxsize=64)
def _no_word(width: int) -> TextMatrix:
    nothing = np.empty(0, np.float32), np.empty(0, np.int32), np.zeros(2, np.int32)
    return sparse.csr_array(nothing, shape=(1, width))
