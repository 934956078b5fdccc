"""Words and their numbers: bags of words of many texts, and the words of them that are columns.

Texts are counted on their UTF-8 bytes, and have the words of `ssi_core.text.tokenizer.tokenize`.
Most of a text is ASCII: a chunk of ASCII between separators is a word, unless words are stems. Any
other chunk is tokenised in Python the first time that it is met, and by its number from then on.
Cutting a text into chunks before it is normalised loses nothing: NFKC joins no letter or digit with
a separator of ASCII.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.arrays import row_of
from ssi_core.kernels.text import ngrams
from ssi_core.kernels.text import words as kernels
from ssi_core.text.tokenizer import language_of, tokenize
from ssi_core.types import Int32, Int64, TextMatrix

BATCH_BYTES = 1 << 24
"""Bytes of text that are worked on at a time: what bounds the memory, beside the words."""


def batches(texts: Iterable[bytes], most: int = BATCH_BYTES) -> Iterator[list[bytes]]:
    """Gather texts until they are about ``most`` bytes; a longer text is a batch of its own.

    >>> list(batches([b"aa", b"b", b"cccc"], most=3))
    [[b'aa', b'b'], [b'cccc']]
    """
    batch: list[bytes] = []
    size = 0
    for text in texts:
        if batch and size + len(text) > most:
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


def _lower_table() -> NDArray[np.uint64]:
    table = np.arange(256, dtype=np.uint64)
    for byte in range(128):
        kept = chr(byte).isalnum()
        table[byte] = ord(chr(byte).lower()) if kept else 0
    return table


_LOWER = _lower_table()


class Lexicon:
    """A growing list of words, each with a number, and the counter of words of texts.

    Parameters
    ----------
    language : str
        Code of a Wikipedia, see `tokenize`.
    words : iterable of str
        Get the numbers 0, 1, ... in this order; each must be a word of `tokenize`.
    """

    def __init__(self, language: str, words: Iterable[str] = ()) -> None:
        self.language = language
        rule = language_of(language)
        self._by_chunk, self._verbatim = rule.by_chunk, rule.verbatim
        self._slots = np.zeros((1 << 12, 2), np.uint64)
        self._starts = np.zeros(1 << 12, np.int64)
        self._pool = np.zeros(1 << 14, np.uint8)
        self._state = np.zeros(6, np.int64)
        self._word_of = np.zeros(0, np.int32)
        self._more = np.zeros(0, np.int32)
        self._more_ends = np.zeros(1, np.int64)
        given = list(words)
        self._scan([word.encode() for word in given])
        self._resolve()
        kept = self._pool[: self._state[kernels.POOLED]].tobytes()
        if len(self) != len(given) or kept != "".join(given).encode():
            raise ValueError("words: expected distinct words as `tokenize` gives them")

    @classmethod
    def restored(cls, language: str, chunks: bytes) -> Lexicon:
        """Make a lexicon again from its `chunks`, number by number."""
        lexicon = cls(language)
        if chunks:
            lexicon._scan([chunks])
            lexicon._resolve()
        return lexicon

    def __len__(self) -> int:
        """Numbers given so far, to words and to chunks that are none."""
        return int(self._state[kernels.KNOWN])

    def count(self, texts: Sequence[bytes]) -> tuple[Int64, Int32, Int32]:
        """Count the words of UTF-8 texts of at most a few times `BATCH_BYTES` together.

        Returns
        -------
        indptr, words, counts : int64 (n + 1,), int32, int32; the words of a text are in the order
            of their first occurrence
        """
        ids, ends = self._chunks(texts)
        room = self._words_in(ids)
        words, counts = np.empty(room, np.int32), np.empty(room, np.int32)
        indptr = np.empty(len(texts) + 1, np.int64)
        seen = np.zeros(len(self), np.int32)
        n = kernels.bags(
            ids, ends, self._word_of, self._more_ends, self._more, seen, words, counts, indptr
        )
        return indptr, words[:n], counts[:n]

    def merge(self, chunks: bytes) -> Int32:
        """Add the `chunks` of a lexicon of other texts; return the number here of each there.

        The numbers are those that counting the other texts would have given: what is new comes in
        the order in which it comes in them.
        """
        if not chunks:
            return np.zeros(0, np.int32)
        numbers, _ = self._scan([chunks])
        self._resolve()
        return numbers

    def in_order(self, texts: Sequence[bytes]) -> tuple[Int32, Int64]:
        """Return the words of texts in order; see `count`.

        Returns
        -------
        words, ends : int32, and int64 (n,) where each text's end
        """
        ids, ends = self._chunks(texts)
        words, text_ends = np.empty(self._words_in(ids), np.int32), np.empty(len(texts), np.int64)
        tables = self._word_of, self._more_ends, self._more
        ngrams.in_order(ids, ends, *tables, words, text_ends)
        return words, text_ends

    def words(self, numbers: Int32 | Int64) -> pl.Series:
        """Return the words (or chunks) with these numbers."""
        starts = self._starts[numbers]
        lengths = self._starts[numbers + 1] - starts
        ends = np.cumsum(lengths)
        # A line each, which none has a break in: decoded at once, not word by word.
        positions = np.repeat(starts - ends + lengths, lengths) + np.arange(lengths.sum())
        lines = np.insert(self._pool[positions], ends, ord("\n")).tobytes().decode()
        return pl.Series(lines.split("\n")[:-1], dtype=pl.String)

    def chunks(self, first: int) -> bytes:
        """Return the chunks with numbers from ``first`` on, a line each."""
        starts = self._starts[first : len(self) + 1]
        ends = starts[1:] - starts[0]
        return np.insert(self._pool[starts[0] : starts[-1]], ends, ord("\n")).tobytes()

    def _chunks(self, texts: Sequence[bytes]) -> tuple[Int32, Int64]:
        """Scan texts of any language, and number the words of all chunks."""
        if not self._by_chunk:
            texts = [" ".join(tokenize(t.decode(), self.language)).encode() for t in texts]
        scanned = self._scan(texts)
        self._resolve()
        return scanned

    def _scan(self, texts: Sequence[bytes]) -> tuple[Int32, Int64]:
        """Return the numbers of all chunks, and the end of each text."""
        data = np.frombuffer(b"\n".join(texts) + b"\n", np.uint8)
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum([len(text) + 1 for text in texts], out=offsets[1:])
        ids = np.empty(len(data) // 2 + 1, np.int32)
        ends = np.empty(len(texts), np.int64)
        self._state[: kernels.KNOWN] = 0
        tables = (self._slots, self._starts, self._pool)
        # Hashes wrap around; numpy warns of it where the kernels run uncompiled.
        with np.errstate(over="ignore"):
            while not kernels.scan(data, offsets, _LOWER, *tables, self._state, ids, ends):
                self._grow()
                tables = (self._slots, self._starts, self._pool)
        return ids[: self._state[kernels.WRITTEN]], ends

    def _grow(self) -> None:
        """Enlarge the tables that are too full for the next chunk."""
        if kernels.is_full(len(self), len(self._slots), len(self._starts)):
            slots = np.zeros((2 * len(self._slots), 2), np.uint64)
            kernels.refill(self._slots, slots)
            self._slots = slots
            self._starts = np.concatenate([self._starts, np.zeros_like(self._starts)])
        needed = int(self._state[kernels.POOLED] + self._state[kernels.NEEDED])
        if needed > len(self._pool):
            extra = np.zeros(max(len(self._pool), needed), np.uint8)
            self._pool = np.concatenate([self._pool, extra])

    def _resolve(self) -> None:
        """Find the words of the chunks since the last call."""
        known, new = len(self._word_of), len(self)
        if known == new:
            return
        starts = self._starts[known : new + 1]
        largest = np.maximum.reduceat(self._pool[starts[0] : starts[-1]], starts[:-1] - starts[0])
        chunks = known + np.flatnonzero((largest >= 128) | (not self._verbatim))
        tokens = [self._split(chunk) for chunk in self.words(chunks)]
        words, ends = self._scan([" ".join(one).encode() for one in tokens])
        lengths = np.diff(ends, prepend=0)
        single = lengths == 1
        word_of = np.arange(known, len(self), dtype=np.int32)
        word_of[chunks[single] - known] = words[ends[single] - 1]
        others = np.flatnonzero(~single)
        first = len(self._more_ends) - 1
        word_of[chunks[others] - known] = -1 - (first + np.arange(len(others)))
        self._word_of = np.concatenate([self._word_of, word_of])
        kept = words[np.repeat(~single, lengths)]
        more_ends = self._more_ends[-1] + np.cumsum(lengths[others])
        self._more = np.concatenate([self._more, kept])
        self._more_ends = np.concatenate([self._more_ends, more_ends])

    def _split(self, chunk: str) -> list[str]:
        """Return the words of a chunk, or the chunk if texts come as words."""
        return tokenize(chunk, self.language) if self._by_chunk else [chunk]

    def _words_in(self, ids: Int32) -> int:
        words = self._word_of[ids]
        several = -1 - words[words < 0]
        if not len(several):
            return len(words)
        sizes = self._more_ends[several + 1] - self._more_ends[several]
        return len(words) - len(several) + int(sizes.sum())


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
        columns, data = columns[kept], counts[kept].astype(np.float32)
        order = columns.argsort()
        return row_of(columns[order], data[order], width)
    ends = np.concatenate([[0], np.cumsum(kept)])
    matrix: TextMatrix = sparse.csr_array(
        (counts[kept].astype(np.float32), columns[kept], ends[indptr].astype(np.int32)),
        shape=(len(indptr) - 1, width),
    )
    if matrix.nnz > width:
        # Columns in order, then rows in order: as many steps as entries and columns.
        return matrix.tocsc().tocsr()
    matrix.sort_indices()
    return matrix
