"""Sides of a split by keyed hash: a link keeps its side for ever, whatever is added later."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import polars as pl
from numpy.typing import NDArray

TRAIN, VALID, TEST = 0, 1, 2
SIDES = ("train", "valid", "test")

# Shares of all: 70 for training, of which 5 are validation; 30 for the test.
_ENDS = np.array([0.65, 0.70])

Sides = NDArray[np.int8]


def side_of_links(sources: pl.Series, targets: pl.Series, *, seed: int) -> Sides:
    """Side of each link from the titles of its ends and the seed alone, int8 (n,).

    The links from a to b and from b to a fall independently of each other.
    """
    if len(sources) != len(targets):
        raise ValueError(
            f"targets: expected as many as sources, {len(sources)}, got {len(targets)}"
        )
    return _side(_mix(_hashes(sources, seed) * _ODD + _hashes(targets, seed)))


def side_of_documents(titles: pl.Series, *, seed: int) -> Sides:
    """Side of each document from its title and the seed alone, int8 (n,)."""
    return _side(_mix(_hashes(titles, seed)))


_ODD = np.uint64(0x9E3779B97F4A7C15)


def _hashes(titles: pl.Series, seed: int) -> NDArray[np.uint64]:
    """Keyed 64-bit hash of each title; equal titles are hashed once."""
    key = f"ssi split {seed}".encode()
    codes = titles.rank("dense").to_numpy().astype(np.int64) - 1
    distinct = titles.unique().sort().to_list()
    hashed = b"".join(blake2b(t.encode(), digest_size=8, key=key).digest() for t in distinct)
    result: NDArray[np.uint64] = np.frombuffer(hashed, "<u8").astype(np.uint64)[codes]
    return result


def _mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Finish of splitmix64 (Steele, Lea and Flood 2014): every bit depends on every other."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _side(hashes: NDArray[np.uint64]) -> Sides:
    return np.searchsorted(_ENDS, hashes / 2.0**64, side="right").astype(np.int8)
