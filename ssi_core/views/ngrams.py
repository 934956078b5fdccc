"""N-grams: runs of n words of a text, those in enough documents, counted in bounded memory.

The words are those of the tokenizer, so that a run goes over a full stop; a word out of the
vocabulary ends it. A run of n words can only be in as many documents as the two runs of n - 1 in
it, so the runs are found level by level, and only pairs of neighbours that are both kept are
counted (Agrawal and Srikant 1994). When a table of counts has reached its share of the memory, the
pairs in the upper half of its hashes are put off to another reading of the texts: the counts are
exact whatever the memory, and the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.arrays import ArraySpec, check_arrays, load_array
from ssi_core.kernels.text import ngrams as kernels
from ssi_core.types import Int32, Int64, TextMatrix

LEAST_DOCUMENTS = 5
MOST = 5_000_000
"""N-grams that are kept at most, those in the most documents."""
MEMORY = 1 << 30
"""Bytes of the table of counts."""

Keys = NDArray[np.uint64]
Blocks = Callable[[], Iterable[tuple[Int32, Int64]]]
"""Begins another reading of the texts: words in order (-1 for an unknown one), where texts end."""

_ENTRY = 16
_TOP = (1 << 64) - 1


@dataclass(frozen=True, eq=False)
class Ngrams:
    """Runs of n words, numbered; those in more documents come first.

    Attributes
    ----------
    levels : tuple of Keys
        For 2, 3, ... n words: uint64, the numbers of the two runs of one word less that a run is
        made of, in the upper and the lower half.
    """

    levels: tuple[Keys, ...]

    def __len__(self) -> int:
        return len(self.levels[-1])

    @property
    def n(self) -> int:
        """Words of a run."""
        return len(self.levels) + 1

    @cached_property
    def _tables(self) -> list[tuple[Keys, Int32]]:
        return [_table(keys) for keys in self.levels]

    def number(self, words: Int32, ends: Int64) -> Int32:
        """Return the number of the run that begins at each word, -1 where none does."""
        numbers = words.copy()
        with np.errstate(over="ignore"):
            for slots, of_slot in self._tables:
                kernels.number_pairs(numbers, ends, slots, of_slot)
        return numbers

    def count(self, words: Int32, ends: Int64) -> TextMatrix:
        """Count the runs in texts: CSR float32 (texts, len(self)), sorted indices."""
        numbers = self.number(words, ends)
        known = np.concatenate([[0], np.cumsum(numbers >= 0)])
        indptr = np.concatenate([[0], known[ends]]).astype(np.int32)
        columns = numbers[numbers >= 0]
        ones = np.ones(len(columns), np.float32)
        counts = sparse.csr_array((ones, columns, indptr), shape=(len(ends), len(self)))
        counts.sum_duplicates()
        return counts

    def find(self, words: Sequence[int]) -> int:
        """Return the number of the run of exactly these words, -1 if it is not kept."""
        if len(words) != self.n:
            return -1
        return int(self.number(np.array(words, np.int32), np.array([len(words)]))[0])

    def save(self, directory: Path) -> None:
        """Write ``pairs-2.npy``, ... up to n."""
        directory.mkdir(parents=True, exist_ok=True)
        for m, keys in enumerate(self.levels, 2):
            np.save(directory / f"pairs-{m}.npy", keys, allow_pickle=False)


def load_ngrams(directory: Path, n: int) -> Ngrams:
    """Load what `Ngrams.save` wrote."""
    names = [f"pairs-{m}" for m in range(2, n + 1)]
    keys = {name: load_array(directory / f"{name}.npy", mapped=False) for name in names}
    specs = {name: ArraySpec("uint64", (name,)) for name in names}
    check_arrays(specs, keys, directory, "Make its task or model again.")
    return Ngrams(tuple(keys.values()))


def count_ngrams(
    blocks: Blocks,
    n: int,
    *,
    words: Int64,
    documents: NDArray[np.bool_],
    least: int = LEAST_DOCUMENTS,
    most: int = MOST,
    memory: int = MEMORY,
) -> tuple[Ngrams, Int64, dict[str, int]]:
    """Find the runs of n words that are in at least ``least`` documents.

    Parameters
    ----------
    blocks : Blocks
        See `Blocks`.
    words : int64
        Documents of each word.
    documents : bool
        The texts that count.
    most : int
        Keep that many, those in the most documents.
    memory : int
        Bytes for the table of counts; less makes more readings of the texts.

    Returns
    -------
    ngrams, frequency, facts
        frequency : int64 (len(ngrams),), documents of each; at least ``least``
        facts : ``readings`` of the texts, n-grams ``left_out`` by ``most``
    """
    if n < 2:
        raise ValueError(f"n={n}; expected at least 2, words are counted elsewhere")
    rare = words < least
    levels: list[Keys] = []
    frequency = np.zeros(0, np.int64)
    facts = {"readings": 0, "left_out": 0}
    for _ in range(2, n + 1):
        tables = [_table(keys) for keys in levels]

        def neighbours(tables: list[tuple[Keys, Int32]] = tables) -> Iterable[tuple[Int32, Int64]]:
            for read, ends in blocks():
                numbers = np.where(rare[read] | (read < 0), np.int32(-1), read)
                for slots, of_slot in tables:
                    kernels.number_pairs(numbers, ends, slots, of_slot)
                yield numbers, ends

        with np.errstate(over="ignore"):
            keys, frequency, facts_of_level = _count_level(
                neighbours, documents, least, most, memory
            )
        levels.append(keys)
        facts = {name: facts[name] + facts_of_level[name] for name in facts}
    return Ngrams(tuple(levels)), frequency, facts


def _count_level(
    blocks: Blocks, documents: NDArray[np.bool_], least: int, most: int, memory: int
) -> tuple[Keys, Int64, dict[str, int]]:
    """Return the pairs in enough documents with their counts, most frequent first."""
    keys, frequency = np.zeros(0, np.uint64), np.zeros(0, np.int32)
    lowest, width, readings, left_out = 0, _TOP, 0, 0
    while lowest <= _TOP:
        # What did not fit once will not fit next time.
        table = _Counts(lowest, min(_TOP, lowest + width), memory)
        document = 0
        for numbers, ends in blocks():
            table.add(numbers, ends, documents[document : document + len(ends)], document)
            document += len(ends)
        kept = table.frequency >= least
        keys = np.concatenate([keys, table.keys[kept]])
        frequency = np.concatenate([frequency, table.frequency[kept]])
        order = np.lexsort((keys, -frequency))
        left_out += max(0, len(order) - most)
        keys, frequency = keys[order[:most]], frequency[order[:most]]
        width = table.highest - lowest
        lowest = table.highest + 1
        readings += 1
    return keys, frequency.astype(np.int64), {"readings": readings, "left_out": left_out}


class _Counts:
    """A table of counts that grows up to its memory and then narrows its range of hashes."""

    def __init__(self, lowest: int, highest: int, memory: int) -> None:
        self.lowest, self.highest = lowest, highest
        # The old table and the new one are both there while it grows or narrows.
        self._largest = max(1 << 4, 1 << (memory // (2 * _ENTRY)).bit_length() - 1)
        self._known = 0
        self._empty(min(self._largest, 1 << 16))

    def _empty(self, slots: int) -> None:
        self.keys = np.zeros(slots, np.uint64)
        self.frequency = np.zeros(slots, np.int32)
        self._latest = np.zeros(slots, np.int32)

    def add(self, numbers: Int32, ends: Int64, counted: NDArray[np.bool_], document: int) -> None:
        """Count the pairs of some texts, of which the first is ``document``."""
        state = np.array([0, 0, self._known], np.int64)
        while not kernels.count_pairs(
            numbers,
            ends,
            counted,
            document,
            self.keys,
            self.frequency,
            self._latest,
            np.uint64(self.lowest),
            np.uint64(self.highest),
            state,
        ):
            state[kernels.KNOWN] = self._make_room()
        self._known = int(state[kernels.KNOWN])

    def _make_room(self) -> int:
        old = self.keys, self.frequency, self._latest
        slots = len(self.keys)
        if slots < self._largest:
            slots *= 2
        else:
            self.highest = self.lowest + (self.highest - self.lowest) // 2
        self._empty(slots)
        tables = self.keys, self.frequency, self._latest
        return int(kernels.refill_counts(*old, np.uint64(self.highest), *tables))


def _table(keys: Keys) -> tuple[Keys, Int32]:
    slots = 1 << max(4, (3 * len(keys) // 2).bit_length())
    table = np.zeros(slots, np.uint64), np.full(slots, -1, np.int32)
    with np.errstate(over="ignore"):
        kernels.fill(keys, *table)
    return table
