"""The records of a site's index: what it keeps of a word and of a page, in bytes.

A word, numbers little-endian::

    varint   pages that have it
    float32  scale of their weights
    varint   for each page: its number less that of the page before (the first: plus 1)
    uint8    for each page: its weight / scale, 1 to 255
    uint8    weight of the word in `matching`
    varint   names that have it
    varint   for each name, three numbers, as of a page before: its own, less that of the name
             before; its page, less that of the name before; 32 times its total, plus twice the
             place of the word in it, plus 1 for a title

and where there is a latent part::

    float32  idf_i; 0: no row follows
    float32  scale of the row
    int8     for each of N dimensions: idf_i U_ik / scale

A vector: float32 scale, then int8 of N dimensions, ``(V d)_k / scale``. A group of pages: varint,
how many; varint for each, its number as above; their vectors.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.types import Float32, Int32

_MOST_WEIGHT, _MOST_LATENT = 255, 127


@dataclass(frozen=True)
class Called:
    """Names that have a word, all int32 (names,), ascending.

    Attributes
    ----------
    numbers, pages : int32
        The number of each, and that of its page.
    totals : int32
        Sum of the weights of its words.
    positions : int32
        The place of the word among its words, 0 to 15.
    titles : bool
        Whether it is a title.
    """

    numbers: Int32
    pages: Int32
    totals: Int32
    positions: Int32
    titles: NDArray[np.bool_]


@dataclass(frozen=True)
class Word:
    """A word of an index.

    Attributes
    ----------
    pages : int32
        Numbers of the pages that have it, ascending.
    weights : uint8
        Its weight in each of them, in units of ``scale``.
    scale : float
        A float32.
    weight : int
        Its weight in `matching`, 1 to 255.
    called : Called
        Names that have it.
    idf : float
        Its weight in the latent part of a query; 0: it has none.
    row : int8 (N,)
        Its row, in units of ``row_scale``.
    row_scale : float
        A float32.
    """

    pages: Int32
    weights: NDArray[np.uint8]
    scale: float
    weight: int
    called: Called
    idf: float = 0.0
    row: NDArray[np.int8] | None = None
    row_scale: float = 0.0


def word_of(
    pages: Int32,
    weights: Float32,
    weight: int,
    called: Called,
    idf: float = 0.0,
    row: Float32 | None = None,
) -> Word:
    """Round the weights of a word to the nearest of 255 steps, and its row to 127 on each side."""
    scale = np.float32(weights.max() / np.float32(_MOST_WEIGHT))
    steps = np.clip(np.rint(weights / scale), 1, _MOST_WEIGHT).astype(np.uint8)
    word = Word(pages, steps, float(scale), weight, called)
    if row is None or idf <= 0:
        return word
    rounded, row_scale = _rounded(row * np.float32(idf))
    return replace(word, idf=float(np.float32(idf)), row=rounded, row_scale=row_scale)


def _rounded(row: Float32) -> tuple[NDArray[np.int8], float]:
    scale = np.float32(np.abs(row).max() / np.float32(_MOST_LATENT))
    if scale == 0:
        return np.zeros(len(row), np.int8), 0.0
    return np.clip(np.rint(row / scale), -_MOST_LATENT, _MOST_LATENT).astype(np.int8), float(scale)


def pack_word(word: Word, dimensions: int) -> bytes:
    """Return the record of a word, in an index of some dimensions."""
    called = word.called
    packed = [_varint(len(word.pages)), struct.pack("<f", word.scale), *_gaps(word.pages)]
    packed += [word.weights.tobytes(), bytes([word.weight]), _varint(len(called.numbers))]
    totals = map(_varint, (32 * called.totals + 2 * called.positions + called.titles).tolist())
    for of_name in zip(_gaps(called.numbers), _gaps(called.pages), totals, strict=True):
        packed += of_name
    if dimensions:
        packed.append(struct.pack("<f", word.idf))
        if word.row is not None:
            packed += [struct.pack("<f", word.row_scale), word.row.tobytes()]
    return b"".join(packed)


def unpack_words(data: bytes, words: int, dimensions: int) -> list[Word]:
    """Return the words of some records, one behind the other."""
    reader, found = _Reader(data), []
    for _ in range(words):
        count = reader.varint()
        scale = reader.float()
        pages = reader.ascending(count)
        weights = reader.numbers(np.uint8, count)
        [weight] = reader.numbers(np.uint8, 1).tolist()
        word = Word(pages, weights, scale, weight, _called(reader))
        idf = reader.float() if dimensions else 0.0
        if idf:
            row_scale = reader.float()
            row = reader.numbers(np.int8, dimensions)
            word = replace(word, idf=idf, row=row, row_scale=row_scale)
        found.append(word)
    return found


def _called(reader: _Reader) -> Called:
    rows = [[reader.varint() for _ in range(3)] for _ in range(reader.varint())]
    numbers, pages, totals = np.array(rows, np.int32).reshape(-1, 3).T
    one = np.int32(1)
    ascending = np.cumsum(numbers) - one, np.cumsum(pages) - one
    return Called(*ascending, totals >> 5, (totals >> 1) & 15, (totals & 1) == 1)


def pack_vectors(vectors: Float32) -> bytes:
    """Return the records of some vectors."""
    rows = (_rounded(row) for row in vectors)
    return b"".join(struct.pack("<f", scale) + row.tobytes() for row, scale in rows)


def unpack_vectors(data: bytes, dimensions: int) -> tuple[Float32, NDArray[np.int8]]:
    """Return scales, float32 (vectors,), and rows, int8 (vectors, N)."""
    kind = np.dtype([("scale", "<f4"), ("row", "i1", (dimensions,))])
    records = np.frombuffer(data, kind)
    return records["scale"], records["row"]


def pack_group(pages: Int32, vectors: Float32) -> bytes:
    """Return the record of a group of pages."""
    return b"".join([_varint(len(pages)), *_gaps(pages), pack_vectors(vectors)])


def unpack_group(data: bytes, dimensions: int) -> tuple[Int32, Float32, NDArray[np.int8]]:
    """Return the pages of a group, and the scales and rows of their vectors."""
    reader = _Reader(data)
    pages = reader.ascending(reader.varint())
    return pages, *unpack_vectors(reader.rest(), dimensions)


def _gaps(numbers: Int32) -> Iterator[bytes]:
    return map(_varint, np.diff(numbers, prepend=-1).tolist())


def _varint(number: int) -> bytes:
    """Return seven bits a byte, the lowest first; the last byte is below 128."""
    packed = bytearray()
    while number >= 128:
        packed.append(number & 127 | 128)
        number >>= 7
    packed.append(number)
    return bytes(packed)


class _Reader:
    """Reads numbers one behind the other."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def varint(self) -> int:
        number = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7

    def float(self) -> Any:
        self._at += 4
        return struct.unpack("<f", self._data[self._at - 4 : self._at])[0]

    def ascending(self, count: int) -> Int32:
        gaps = np.array([self.varint() for _ in range(count)], np.int32)
        return np.cumsum(gaps, dtype=np.int32) - np.int32(1)

    def rest(self) -> bytes:
        return self._data[self._at :]

    def numbers(self, kind: type, count: int) -> NDArray[Any]:
        self._at += count
        return np.frombuffer(self._data, kind, count, self._at - count)
