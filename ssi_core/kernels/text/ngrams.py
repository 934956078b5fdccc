"""N-grams as pairs of neighbours: a run of n words is two runs of n - 1 that overlap.

A text is a sequence of numbers, at first those of its words. Where the numbers ``a, b`` stand side
by side, the pair ``(a, b)`` is a key; once the keys have numbers, each place gets the number of the
pair that begins there, or -1, and the same again gives runs of one word more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit
from ssi_core.kernels.text.words import mix

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Keys = NDArray[np.uint64]
Mask = NDArray[np.bool_]

# Entries of `state`: the text and place to go on from, keys in the table.
TEXT, PLACE, KNOWN = range(3)

_HALF = np.uint64(32)


@jit
def in_order(
    ids: Ints,
    ends: Longs,
    word_of: Ints,
    more_ends: Longs,
    more: Ints,
    words: Ints,
    text_ends: Longs,
) -> int:
    """Write the words of texts one after the other; returns how many.

    Parameters
    ----------
    ids, ends, word_of, more_ends, more : Ints, Longs, Ints, Longs, Ints
        As `ssi_core.kernels.text.words.bags` has them.
    words, text_ends : Ints, Longs
        Written: the words, and where each text's end.
    """
    written, begin = 0, 0
    for text in range(len(ends)):
        for t in range(begin, ends[text]):
            word = word_of[ids[t]]
            if word >= 0:
                words[written] = word
                written += 1
            else:
                for j in range(more_ends[-1 - word], more_ends[-word]):
                    words[written] = more[j]
                    written += 1
        begin = ends[text]
        text_ends[text] = written
    return written


@jit
def _key(first: int, second: int) -> np.uint64:
    return (np.uint64(first) << _HALF) | np.uint64(second)


@jit
def count_pairs(
    numbers: Ints,
    ends: Longs,
    counted: Mask,
    document: int,
    keys: Keys,
    frequency: Ints,
    latest: Ints,
    lowest: np.uint64,
    highest: np.uint64,
    state: Longs,
) -> bool:
    """Count the texts that have each pair, for pairs whose hash is in ``lowest..highest``.

    Parameters
    ----------
    numbers, ends : Ints, Longs
        Texts, one after the other, and where each ends; -1 is in no pair.
    counted : bool array
        The texts that count.
    document : int
        Number of the first text.
    keys, frequency, latest : Keys, Ints, Ints
        Hash table (a power of two): pair, texts that have it (0: no entry), the last of them.
    state : Longs
        See the constants of this module; changed in place.

    Returns
    -------
    False if the table is two thirds full: enlarge it or narrow the range, and call again.
    """
    mask = np.uint64(len(keys) - 1)
    for text in range(state[TEXT], len(ends)):
        begin = ends[text - 1] if text > 0 else 0
        begin = max(begin, state[PLACE])
        if counted[text]:
            for t in range(begin, ends[text] - 1):
                if numbers[t] < 0 or numbers[t + 1] < 0:
                    continue
                key = _key(numbers[t], numbers[t + 1])
                hashed = mix(key)
                if hashed < lowest or hashed > highest:
                    continue
                slot = hashed & mask
                while frequency[slot] != 0 and keys[slot] != key:
                    slot = (slot + np.uint64(1)) & mask
                if frequency[slot] == 0:
                    if 3 * state[KNOWN] >= 2 * len(keys):
                        state[TEXT], state[PLACE] = text, t
                        return False
                    keys[slot] = key
                    latest[slot] = -1
                    state[KNOWN] += 1
                if latest[slot] != document + text:
                    latest[slot] = document + text
                    frequency[slot] += 1
    return True


@jit
def refill_counts(
    old_keys: Keys,
    old_frequency: Ints,
    old_latest: Ints,
    highest: np.uint64,
    keys: Keys,
    frequency: Ints,
    latest: Ints,
) -> int:
    """Put the entries with a hash of at most ``highest`` into an empty table; returns how many."""
    mask = np.uint64(len(keys) - 1)
    known = 0
    for i in range(len(old_keys)):
        if old_frequency[i] != 0:
            hashed = mix(old_keys[i])
            if hashed <= highest:
                slot = hashed & mask
                while frequency[slot] != 0:
                    slot = (slot + np.uint64(1)) & mask
                keys[slot] = old_keys[i]
                frequency[slot], latest[slot] = old_frequency[i], old_latest[i]
                known += 1
    return known


@jit
def fill(keys: Keys, slots: Keys, numbers: Ints) -> None:
    """Put key i with the number i into a hash table whose ``numbers`` are all -1."""
    mask = np.uint64(len(slots) - 1)
    for i in range(len(keys)):
        slot = mix(keys[i]) & mask
        while numbers[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot], numbers[slot] = keys[i], i


@jit
def number_pairs(numbers: Ints, ends: Longs, slots: Keys, of_slot: Ints) -> None:
    """Replace the number at each place by that of the pair that begins there, or -1, in place."""
    mask = np.uint64(len(slots) - 1)
    begin: Any = 0
    for text in range(len(ends)):
        end = ends[text]
        for t in range(begin, end):
            number: Any = -1
            if t + 1 < end and numbers[t] >= 0 and numbers[t + 1] >= 0:
                key = _key(numbers[t], numbers[t + 1])
                slot = mix(key) & mask
                while of_slot[slot] >= 0:
                    if slots[slot] == key:
                        number = of_slot[slot]
                        break
                    slot = (slot + np.uint64(1)) & mask
            numbers[t] = number
        begin = end
