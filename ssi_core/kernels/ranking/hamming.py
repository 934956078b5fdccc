"""Hamming distances of packed codes: balls around queries by a scan, or by looking codes up.

A code of b bits is a row of ``ceil(b / 64)`` words of 64 bits, unused bits 0.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from ssi_core.kernels import jit, part

_BLOCK = 512

if numba.config.DISABLE_JIT:

    def ones(word: np.uint64) -> int:
        """Count the bits of a word that are on."""
        return int(word).bit_count()

else:

    @intrinsic
    def ones(context: Any, word: Any) -> Any:
        """Count the bits of a word that are on, by one instruction of the processor."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate


@part
def distance(codes: NDArray[np.uint64], row: int, query: NDArray[np.uint64]) -> int:
    """Return the number of bits in which a row differs from a query."""
    bits = 0
    for word in range(len(query)):
        bits += ones(codes[row, word] ^ query[word])
    return bits


@jit
def scan(
    codes: NDArray[np.uint64], query: NDArray[np.uint64], radius: int, rows: NDArray[np.int32]
) -> int:
    """Write the rows within a radius of a query, ascending, and return how many there are.

    Parameters
    ----------
    codes : uint64 (n, words)
        Codes of the rows.
    query : uint64 (words,)
        Code of the query.
    radius : int
        Largest distance.
    rows : int32 (n,)
        Written.
    """
    count = 0
    for row in range(len(codes)):
        rows[count] = row
        count += distance(codes, row, query) <= radius
        if count == len(rows):
            break
    return count


@jit
def scan_words(
    codes: NDArray[np.uint64], query: np.uint64, radius: int, rows: NDArray[np.int32]
) -> int:
    """Scan codes of one word as `scan` does; blocks without a row are counted and passed over.

    Parameters
    ----------
    codes : uint64 (n,)
        Codes of the rows.
    query : uint64
        Code of the query.
    radius : int
        Largest distance.
    rows : int32 (n,)
        Written.
    """
    count = 0
    for first in range(0, len(codes), _BLOCK):
        block = codes[first : first + _BLOCK]
        inside = 0
        for i in range(len(block)):
            inside += ones(block[i] ^ query) <= radius
        if inside:
            for i in range(len(block)):
                if ones(block[i] ^ query) <= radius:
                    rows[count] = first + i
                    count += 1
    return count


@jit
def class_counts(
    codes: NDArray[np.uint64],
    labels: NDArray[np.int32],
    queries: NDArray[np.uint64],
    radius: int,
    counts: NDArray[np.int64],
) -> None:
    """Count the rows of each class within a radius of each query.

    Parameters
    ----------
    codes : uint64 (n, words)
        Codes of the rows.
    labels : int32 (n,)
        Class of each row.
    queries : uint64 (m, words)
        Codes of the queries.
    radius : int
        Largest distance.
    counts : int64 (m, classes)
        Written.
    """
    counts[:] = 0
    for query in range(len(queries)):
        for row in range(len(codes)):
            if distance(codes, row, queries[query]) <= radius:
                counts[query, labels[row]] += 1


@part
def first_of(codes: NDArray[np.uint64], code: np.uint64) -> int:
    """Return the first place of ascending codes that is not below a code."""
    low, high = 0, len(codes)
    while low < high:
        middle = (low + high) >> 1
        if codes[middle] < code:
            low = middle + 1
        else:
            high = middle
    return low


@jit
def look_up(
    codes: NDArray[np.uint64],
    starts: NDArray[np.int64],
    query: np.uint64,
    bits: int,
    radius: int,
    rows: NDArray[np.int32],
) -> int:
    """Write the rows at distance 0, and those at distance 1, and return how many there are.

    O(bits log n): a query's own code and each code that differs in one bit are looked up.

    Parameters
    ----------
    codes : uint64 (n,)
        Ascending.
    starts : int64 (2^s + 1,)
        Codes whose highest s of their b bits are t stand in ``starts[t]:starts[t + 1]``.
    query : uint64
        Code of the query.
    bits : int
        b.
    radius : int
        0 or 1.
    rows : int32 (n,)
        Written: places among the ascending codes, those at distance 0 first.
    """
    count = 0
    shift = np.uint64(bits)
    size = len(starts) - 1
    while size > 1:
        size >>= 1
        shift -= np.uint64(1)
    for bit in range(-1, bits if radius else 0):
        code = query
        if bit >= 0:
            code = query ^ (np.uint64(1) << np.uint64(bit))
        top = np.int64(code >> shift) if shift < 64 else 0
        low, high = starts[top], starts[top + 1]
        position = low + first_of(codes[low:high], code)
        while position < high and codes[position] == code:
            rows[count] = position
            count += 1
            position += 1
    return count
