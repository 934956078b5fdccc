"""Words of UTF-8 bytes by an open-addressing hash table; bags of words per text.

A *chunk* is a maximal run of ASCII letters, ASCII digits and bytes beyond ASCII. A chunk of ASCII
alone is a word once it is in lower case; any other is kept as it stands, for its words are found
once per distinct chunk and not once per occurrence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit, jit_making

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Words64 = NDArray[np.uint64]

# Entries of `state`: the text and byte to go on from, ids written, chunks known, bytes of the pool
# in use, bytes that the next chunk needs.
TEXT, PLACE, WRITTEN, KNOWN, POOLED, NEEDED = range(6)

_NONE, _ONE, _BYTE, _HALF = np.uint64(0), np.uint64(1), np.uint64(8), np.uint64(32)
_ASCII = np.uint64(128)
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


@jit
def mix(x: np.uint64) -> np.uint64:
    """Spread 64 bits; one to one, so that a chunk of at most 8 bytes is known by its hash."""
    x = (x ^ (x >> _HALF)) * _FIRST
    x = (x ^ (x >> _HALF)) * _SECOND
    return x ^ (x >> _HALF)


@jit
def _hash(data: Bytes, begin: int, end: int) -> np.uint64:
    """Hash bytes, eight at a time."""
    hashed, packed = _NONE, _NONE
    for position in range(begin, end):
        if position > begin and (position - begin) % 8 == 0:
            hashed = mix(hashed ^ packed)
            packed = _NONE
        packed = (packed << _BYTE) | np.uint64(data[position])
    return mix(hashed ^ packed)


@jit
def _cut(
    data: Bytes,
    begin: int,
    end: int,
    lower: Words64,
    hashes: Words64,
    chunk_ends: Longs,
    lengths: Longs,
) -> int:
    """Cut bytes that end with a separator into chunks; returns how many.

    Written: the hash of each, where it ends, and its length, negative if it is not all ASCII.
    """
    chunks = 0
    length = 0
    hashed, packed, beyond = _NONE, _NONE, _NONE
    for position in range(begin, end):
        byte = lower[data[position]]
        if byte != _NONE:
            if length > 0 and length % 8 == 0:
                hashed = mix(hashed ^ packed)
                packed = _NONE
            packed = (packed << _BYTE) | byte
            beyond |= byte
            length += 1
        elif length > 0:
            chunk_ends[chunks] = position
            if beyond < _ASCII:
                hashes[chunks] = mix(hashed ^ packed)
                lengths[chunks] = length
            else:
                hashes[chunks] = _hash(data, position - length, position)
                lengths[chunks] = -length
            chunks += 1
            length = 0
            hashed, packed, beyond = _NONE, _NONE, _NONE
    return chunks


@jit
def _same(
    data: Bytes, begin: int, length: int, lower: Words64, starts: Longs, pool: Bytes, known: Any
) -> bool:
    """Tell whether the chunk at ``begin``, of more than 8 bytes, is a known one."""
    first = starts[known]
    if starts[known + 1] - first != abs(length):
        return False
    for i in range(abs(length)):
        byte = data[begin + i]
        if pool[first + i] != (np.uint8(lower[byte]) if length > 0 else byte):
            return False
    return True


@jit
def is_full(known: int, slots: int, starts: int) -> bool:
    """Tell whether there is no place for one more chunk; two thirds of the slots are used."""
    return 3 * known >= 2 * slots or known + 2 > starts


@jit_making
def scan(
    data: Bytes,
    offsets: Longs,
    lower: Words64,
    slots: Words64,
    starts: Longs,
    pool: Bytes,
    state: Longs,
    ids: Ints,
    ends: Longs,
) -> bool:
    """Write the number of each chunk of texts; one not seen before gets the next number.

    Parameters
    ----------
    data, offsets : Bytes, Longs
        Bytes, and where each of n texts begins and the last ends, (n + 1,); the last byte of each
        text is a separator.
    lower : Words64
        (256,); 0 for a separator, else the byte in ASCII lower case.
    slots : Words64
        (power of two, 2): hash; 0 or 2 * (number + 1), plus 1 for a chunk of over 8 bytes.
    starts, pool : Longs, Bytes
        Bytes of chunk i are ``pool[starts[i]:starts[i + 1]]``.
    state : Longs
        See the constants of this module; changed in place.
    ids, ends : Ints, Longs
        Written: the numbers of the chunks in order, and where each text's end, (n,).

    Returns
    -------
    False if a table is too full to go on: enlarge it and call again.
    """
    mask = np.uint64(len(slots) - 1)
    written = state[WRITTEN]
    # The chunks of a text are cut first and looked up then, so that the look-ups overlap.
    most = 0
    for text in range(len(offsets) - 1):
        most = max(most, (offsets[text + 1] - offsets[text]) // 2)
    hashes = np.empty(most, np.uint64)
    chunk_ends = np.empty(most, np.int64)
    lengths = np.empty(most, np.int64)
    for text in range(state[TEXT], len(offsets) - 1):
        begin = max(state[PLACE], offsets[text])
        chunks = _cut(data, begin, offsets[text + 1], lower, hashes, chunk_ends, lengths)
        for c in range(chunks):
            hashed, length = hashes[c], lengths[c]
            begin = chunk_ends[c] - abs(length)
            is_long = np.uint64(abs(length) > 8)
            entry: Any = -1
            slot = hashed & mask
            while slots[slot, 1] != _NONE:
                if slots[slot, 0] == hashed and slots[slot, 1] & _ONE == is_long:
                    number = np.int64(slots[slot, 1] >> _ONE) - 1
                    if not is_long or _same(data, begin, length, lower, starts, pool, number):
                        entry = number
                        break
                slot = (slot + _ONE) & mask
            if entry < 0:
                entry = state[KNOWN]
                pooled = state[POOLED]
                length = abs(length)
                if is_full(entry, len(slots), len(starts)) or pooled + length > len(pool):
                    state[TEXT] = text
                    state[PLACE] = begin
                    state[WRITTEN] = written
                    state[NEEDED] = length
                    return False
                is_ascii = lengths[c] > 0
                for i in range(begin, begin + length):
                    pool[pooled] = np.uint8(lower[data[i]]) if is_ascii else data[i]
                    pooled += 1
                slots[slot, 0] = hashed
                slots[slot, 1] = np.uint64(2 * (entry + 1)) | is_long
                starts[entry + 1] = pooled
                state[KNOWN] = entry + 1
                state[POOLED] = pooled
            ids[written] = entry
            written += 1
        ends[text] = written
    state[WRITTEN] = written
    return True


@jit
def refill(old: Words64, new: Words64) -> None:
    """Put the entries of a hash table into a larger one of zeros."""
    mask = np.uint64(len(new) - 1)
    for i in range(len(old)):
        if old[i, 1] != _NONE:
            slot = old[i, 0] & mask
            while new[slot, 1] != _NONE:
                slot = (slot + _ONE) & mask
            new[slot, 0] = old[i, 0]
            new[slot, 1] = old[i, 1]


@jit
def bags(
    ids: Ints,
    ends: Longs,
    word_of: Ints,
    more_ends: Longs,
    more: Ints,
    seen: Ints,
    words: Ints,
    counts: Ints,
    indptr: Longs,
) -> int:
    """Count the words of each text, in the order of their first occurrence.

    Parameters
    ----------
    ids, ends : Ints, Longs
        Chunks of n texts, from `scan`.
    word_of : Ints
        Word of each chunk; -1 - j for ``more[more_ends[j]:more_ends[j + 1]]``.
    seen : Ints
        Zeros, one per word; zeros again afterwards.
    words, counts : Ints
        Written: room for every word of every text.
    indptr : Longs
        Written, (n + 1,): the bag of text i is ``indptr[i]:indptr[i + 1]``.

    Returns
    -------
    int
        Number of entries written.
    """
    written = 0
    begin = 0
    indptr[0] = 0
    for text in range(len(ends)):
        first = written
        for t in range(begin, ends[text]):
            word = word_of[ids[t]]
            if word >= 0:
                if seen[word] == 0:
                    words[written] = word
                    written += 1
                seen[word] += 1
            else:
                for j in range(more_ends[-1 - word], more_ends[-word]):
                    if seen[more[j]] == 0:
                        words[written] = more[j]
                        written += 1
                    seen[more[j]] += 1
        for i in range(first, written):
            counts[i] = seen[words[i]]
            seen[words[i]] = 0
        begin = ends[text]
        indptr[text + 1] = written
    return written
