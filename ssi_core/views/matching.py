"""Matches of words by DICE, found once for all views, here or on the workers of a cluster.

A part is a block of columns: a worker maps the counts, which lie where it sees them, and writes the
matches of the block.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ssi_core import integrity
from ssi_core.arrays import load_array, load_csr
from ssi_core.parts import Stage, address_of, once, run_parts
from ssi_core.views.dice import Matches, dice
from ssi_core.views.hashing import Hashing

BLOCK = 50_000
"""Columns of a part. The blocks are the same wherever they are worked on."""
_SEALED, _FITTING = "sealed.json", "fitting.npy"


@dataclass(frozen=True)
class Block:
    """Columns of which the matches are found.

    Attributes
    ----------
    words : Path
        Counts of the words, see `arrays.load_csr`.
    items : Path or None
        Counts of n-grams; None: the items are the words.
    fitting : Path
        The documents that count, a bool array.
    frequent, k : int
        See `dice.dice`.
    first, last : int
        The columns.
    path : Path
        Directory of the matches.
    """

    words: Path
    items: Path | None
    fitting: Path
    frequent: int
    k: int
    first: int
    last: int
    path: Path


def match_block(block: Block) -> None:
    """Write the matches of a block, unless they are whole."""
    if (block.path / _SEALED).is_file():
        return
    matches = dice(
        load_csr(block.words),
        block.frequent,
        block.k,
        items=None if block.items is None else load_csr(block.items),
        first=block.first,
        last=block.last,
        documents=load_array(block.fitting, mapped=False),
        threads=1,
    )
    with once(block.path, _SEALED) as (out, _):
        for name, array in matches._asdict().items():
            np.save(out / f"{name}.npy", array, allow_pickle=False)


class Matching:
    """Matches of the columns of counts with frequent words, each kind found once.

    Parameters
    ----------
    counts : mapping
        1 -> directory of the counts of words, n -> that of n-grams.
    fitting : bool array
        The documents that count.
    path : Path
        Directory of the blocks of a cluster, which outlives a kill.
    where : str
        See `ssi_core.parts`.
    """

    def __init__(
        self, counts: Mapping[int, Path], fitting: NDArray[np.bool_], path: Path, where: str
    ) -> None:
        self._counts, self._fitting = counts, fitting
        self._directory, self._where = path, where
        self._known: dict[tuple[int, int, int], Matches] = {}

    def of(self, n: int, hashing: Hashing) -> Matches:
        """Return the matches of n-grams, or of the words beyond the frequent ones (n = 1)."""
        key = n, hashing.words, hashing.k
        if key not in self._known:
            spread = address_of(self._where) is not None
            self._known[key] = self._on_cluster(*key) if spread else self._here(*key)
        return self._known[key]

    def _here(self, n: int, frequent: int, k: int) -> Matches:
        items = None if n == 1 else load_csr(self._counts[n])
        first, words = frequent if n == 1 else 0, load_csr(self._counts[1])
        return dice(words, frequent, k, items=items, first=first, documents=self._fitting)

    def _on_cluster(self, n: int, frequent: int, k: int) -> Matches:
        np.save(self._directory / _FITTING, self._fitting)
        columns, start = load_csr(self._counts[n]).shape[1], frequent if n == 1 else 0
        blocks = [
            Block(
                self._counts[1].absolute(),
                None if n == 1 else self._counts[n].absolute(),
                (self._directory / _FITTING).absolute(),
                frequent,
                k,
                first,
                min(first + BLOCK, columns),
                (self._directory / f"{n}-{frequent}-{k}-{first}").absolute(),
            )
            for first in range(start, columns, BLOCK)
        ]
        stage: Stage[Block, None] = Stage(
            "matches of words", match_block, self._directory, [self._counts[1] / "indptr.npy"]
        )
        with run_parts(stage, blocks, self._where) as ended:
            for done in ended:
                done.result()
        return _joined(blocks)


def _joined(blocks: list[Block]) -> Matches:
    parts = []
    for block in blocks:
        integrity.open_sealed(block.path, _SEALED, "matches", f"Remove {block.path}.")
        parts.append([load_array(block.path / f"{name}.npy") for name in Matches._fields])
    return Matches(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
