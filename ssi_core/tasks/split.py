"""Sides of a split by keyed hash: a link, or a document, keeps its side whatever is added later.

65 % are for training, 5 % for validation, 30 % for testing. The hash is blake2b of a title, keyed
by the seed, and splitmix64 for the two ends of a link: equal on every machine and version.
"""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core.types import Int32

SPLITS = ("train", "valid", "test")
TRAIN, VALID, TEST = range(3)
NO_SIDE = -1
BOUNDS = (0.65, 0.70)
_AT_ONCE = 1 << 20

Splits = NDArray[np.int8]
UInt64 = NDArray[np.uint64]


def hash_titles(titles: pl.Series, seed: int, use: bytes, argument: str) -> UInt64:
    """Return uint64 (n,); each distinct title is hashed once."""
    if titles.null_count():
        raise ValueError(f"{argument}: {titles.null_count()} titles are null, expected strings")
    key = int(seed).to_bytes(16, "little", signed=True)
    distinct = titles.unique()
    digests = b"".join(
        hashlib.blake2b(title.encode(), digest_size=8, key=key, person=use).digest()
        for title in distinct
    )
    hashed = pl.DataFrame({"title": distinct, "hash": np.frombuffer(digests, "<u8")})
    joined = titles.to_frame("title").join(hashed, on="title", how="left", maintain_order="left")
    hashes: UInt64 = joined["hash"].to_numpy()
    return hashes


def mix(x: UInt64) -> UInt64:
    """Finish as splitmix64 does (Steele, Lea and Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _sides(hashes: UInt64) -> Splits:
    fractions = (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return np.digitize(fractions, BOUNDS).astype(np.int8)


def side_of_links(sources: pl.Series, targets: pl.Series, *, seed: int) -> Splits:
    """Return the side of each link: int8 (n,), 0 train, 1 valid, 2 test.

    Parameters
    ----------
    sources, targets : Series
        Titles (strings), row by row the two ends of a link; direction matters.
    seed : int
        Split seed.

    >>> side_of_links(pl.Series(["Car"] * 3), pl.Series(["Engine", "Road", "Sky"]), seed=0)
    array([1, 2, 0], dtype=int8)
    """
    if len(sources) != len(targets):
        raise ValueError(f"{len(sources)} sources and {len(targets)} targets, expected as many")
    ends = hash_titles(targets, seed, b"target", "targets")
    return _sides(mix(hash_titles(sources, seed, b"source", "sources") ^ mix(ends)))


def side_of_rows(
    titles: pl.Series, rows: Int32, *, seed: int, targets: pl.Series | None = None
) -> Splits:
    """Return `side_of_links` of links given by the rows of their ends, (n, 2); less is held.

    Parameters
    ----------
    targets : Series or None
        Titles of the second ends; None: those of the first ones.
    """
    sources = hash_titles(titles, seed, b"source", "titles")
    ends = mix(hash_titles(titles if targets is None else targets, seed, b"target", "titles"))
    sides = np.empty(len(rows), np.int8)
    for begin in range(0, len(rows), _AT_ONCE):
        source, target = rows[begin : begin + _AT_ONCE].T
        sides[begin : begin + _AT_ONCE] = _sides(mix(sources[source] ^ ends[target]))
    return sides


def side_of_documents(titles: pl.Series, *, seed: int) -> Splits:
    """Return the side of each document by its title: int8 (n,), 0 train, 1 valid, 2 test."""
    return _sides(hash_titles(titles, seed, b"document", "titles"))
