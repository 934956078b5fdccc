"""Codes as words of 64 bits, and the texts within a Hamming ball around a code."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels.ranking import hamming
from ssi_core.types import Int32, Int64

Codes: TypeAlias = NDArray[np.uint64]
"""A row per text: ``ceil(bits / 64)`` words, bit i in word ``i // 64``, unused bits 0."""
Bits: TypeAlias = NDArray[np.bool_]
"""A row per text, a column per bit."""

_LARGEST_TOP = 20


def pack(bits: Bits) -> Codes:
    """Return the codes of rows of bits.

    Parameters
    ----------
    bits : bool (n, b)
        True is on.
    """
    n, b = bits.shape
    padded = np.zeros((n, -(-b // 64) * 64), np.bool_)
    padded[:, :b] = bits
    octets = np.packbits(padded, axis=1, bitorder="little")
    return np.ascontiguousarray(octets).view("<u8").astype(np.uint64)


def unpack(codes: Codes, bits: int) -> Bits:
    """Return the rows of bits of codes; the inverse of `pack`.

    Parameters
    ----------
    codes : uint64 (n, words)
        Packed bits, 64 in a word.
    bits : int
        Length of a code.
    """
    octets = np.ascontiguousarray(codes.astype("<u8")).view(np.uint8)
    octets = octets.reshape(len(codes), -1)
    return np.unpackbits(octets, axis=1, count=bits, bitorder="little").astype(np.bool_)


class BallIndex:
    """Codes that are searched for those within a radius of a query; the answers are exact.

    A radius of 0 or 1 of codes of up to 64 bits is looked up in sorted codes; anything else is a
    scan over all codes.

    Parameters
    ----------
    codes : uint64 (n, words)
        Codes of the texts.
    bits : int
        Length of a code.
    """

    def __init__(self, codes: Codes, bits: int) -> None:
        self.bits = bits
        self._codes = np.ascontiguousarray(codes)
        self._rows = np.empty(len(codes), np.int32)
        self._order: Int32 | None = None
        if codes.shape[1] == 1:
            order = np.argsort(codes[:, 0], kind="stable")
            self._sorted = codes[order, 0]
            self._order = order.astype(np.int32)
            self._starts = _starts(self._sorted, bits)

    def search(self, query: NDArray[np.uint64], radius: int = 1) -> Int32:
        """Return the rows within a radius of a query, the nearest first, equal ones ascending.

        Parameters
        ----------
        query : uint64 (words,)
            Code of the query.
        radius : int
            Largest number of bits that differ.
        """
        if self._order is not None and radius <= 1:
            count = hamming.look_up(
                self._sorted, self._starts, query[0], self.bits, radius, self._rows
            )
            rows = self._order[self._rows[:count]]
        else:
            rows = self.scan(query, radius)
        if len(rows) < 2:
            return rows
        far = np.bitwise_count(self._codes[rows] ^ query).sum(axis=1)
        return rows[np.lexsort((rows, far))]

    def scan(self, query: NDArray[np.uint64], radius: int) -> Int32:
        """Return the rows within a radius of a query, ascending, by looking at every code.

        Parameters
        ----------
        query : uint64 (words,)
            Code of the query.
        radius : int
            Largest number of bits that differ.
        """
        if self._codes.shape[1] == 1:
            count = hamming.scan_words(self._codes.ravel(), query[0], radius, self._rows)
        else:
            count = hamming.scan(self._codes, np.ascontiguousarray(query), radius, self._rows)
        return self._rows[:count].copy()


def _starts(codes: NDArray[np.uint64], bits: int) -> Int64:
    """Return where the codes of each value of their highest bits begin."""
    top = min(_LARGEST_TOP, bits, max(0, len(codes).bit_length() - 2))
    if not top:
        return np.array([0, len(codes)], np.int64)
    begins = np.arange(1 << top, dtype=np.uint64) << np.uint64(bits - top)
    return np.append(np.searchsorted(codes, begins), len(codes)).astype(np.int64)
