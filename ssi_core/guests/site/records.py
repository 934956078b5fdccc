"""The records of a site's index: what it keeps of a word and of a page, in bytes.

A word, numbers little-endian::

    varint   pages that have it
    float32  scale of their weights
    varint   for each page: its number less that of the page before (the first: plus 1)
    uint8    for each page: its weight / scale, 1 to 255

and where there is a latent part::

    float32  idf_i; 0: no row follows
    float32  scale of the row
    int8     for each of N dimensions: idf_i U_ik / scale

A page, where there is a latent part: float32 scale, then int8 of N dimensions, ``(V d)_k / scale``.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.types import Float32, Int32

_MOST_WEIGHT, _MOST_LATENT = 255, 127


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
    idf: float = 0.0
    row: NDArray[np.int8] | None = None
    row_scale: float = 0.0


def word_of(pages: Int32, weights: Float32, idf: float = 0.0, row: Float32 | None = None) -> Word:
    """Round the weights of a word to the nearest of 255 steps, and its row to 127 on each side."""
    scale = np.float32(weights.max() / np.float32(_MOST_WEIGHT))
    steps = np.clip(np.rint(weights / scale), 1, _MOST_WEIGHT).astype(np.uint8)
    if row is None or idf <= 0:
        return Word(pages, steps, float(scale))
    rounded, row_scale = _rounded(row * np.float32(idf))
    return Word(pages, steps, float(scale), float(np.float32(idf)), rounded, row_scale)


def _rounded(row: Float32) -> tuple[NDArray[np.int8], float]:
    scale = np.float32(np.abs(row).max() / np.float32(_MOST_LATENT))
    if scale == 0:
        return np.zeros(len(row), np.int8), 0.0
    return np.clip(np.rint(row / scale), -_MOST_LATENT, _MOST_LATENT).astype(np.int8), float(scale)


def pack_word(word: Word, dimensions: int) -> bytes:
    """Return the record of a word, in an index of some dimensions."""
    gaps = np.diff(word.pages, prepend=-1).tolist()
    packed = [_varint(len(gaps)), struct.pack("<f", word.scale), *map(_varint, gaps)]
    packed.append(word.weights.tobytes())
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
        pages = np.cumsum([reader.varint() for _ in range(count)]).astype(np.int32) - np.int32(1)
        weights = reader.numbers(np.uint8, count)
        idf = reader.float() if dimensions else 0.0
        if idf == 0:
            found.append(Word(pages, weights, scale))
            continue
        row_scale = reader.float()
        row = reader.numbers(np.int8, dimensions)
        found.append(Word(pages, weights, scale, idf, row, row_scale))
    return found


def pack_pages(vectors: Float32) -> bytes:
    """Return the records of all pages."""
    rows = (_rounded(row) for row in vectors)
    return b"".join(struct.pack("<f", scale) + row.tobytes() for row, scale in rows)


def unpack_pages(data: bytes, dimensions: int) -> tuple[Float32, NDArray[np.int8]]:
    """Return the scales of pages, float32 (pages,), and their vectors, int8 (pages, N)."""
    kind = np.dtype([("scale", "<f4"), ("row", "i1", (dimensions,))])
    records = np.frombuffer(data, kind)
    return records["scale"], records["row"]


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

    def numbers(self, kind: type, count: int) -> NDArray[Any]:
        self._at += count
        return np.frombuffer(self._data, kind, count, self._at - count)
