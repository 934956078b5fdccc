"""DICE of the rare words against the frequent ones: time and memory, and scipy beside it.

Documents are generated, words by Zipf's law, 300 of them a document, ten words of the vocabulary
for each document. ``SSI_BENCH_DOCUMENTS`` sets their number: 200000 is 2 million words.
"""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import numpy as np
from scipy import sparse

from benchmarks.timing import Contestant, Row, cpu_seconds, row, speeds
from ssi_core import resources
from ssi_core.types import TextMatrix
from ssi_core.views.dice import Matches, dice, memory_of

FREQUENT, K = 30_000, 5
_SMALL, _ITEMS = 20_000, 2_000
_WIKIPEDIA = 6_500_000
"""Articles of the English Wikipedia."""


def documents(n: int, seed: int = 0) -> TextMatrix:
    """Generate counts of n documents: 300 words each, of 10 n by Zipf's law."""
    rng = np.random.default_rng(seed)
    shares = np.cumsum(1 / np.arange(1, 10 * n + 1))
    indices, lengths = [], []
    for _ in range(n):
        said = np.unique(np.searchsorted(shares, rng.random(300) * shares[-1], side="right"))
        indices.append(said.astype(np.int32))
        lengths.append(len(said))
    columns = np.concatenate(indices)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return sparse.csr_array((np.ones(len(columns), np.float32), columns, indptr), (n, 10 * n))


def pairs(counts: TextMatrix, frequent: int, last: int) -> int:
    """Pairs of a frequent word and one of ``frequent:last`` in a document: what is counted."""
    begin, end = (
        np.concatenate([[0], np.cumsum(counts.indices < most)])[counts.indptr]
        for most in (frequent, last)
    )
    return int((np.diff(begin) * (np.diff(end) - np.diff(begin))).sum())


def by_scipy(counts: TextMatrix, frequent: int, last: int, k: int, block: int) -> Matches:
    """Sparse products of blocks of words, made dense; the k largest of each row."""
    ones = sparse.csr_array((np.ones_like(counts.data), counts.indices, counts.indptr))
    by_word = ones.T.tocsr()[frequent:last]
    of_words = np.bincount(counts.indices, minlength=counts.shape[1]).astype(np.float32)
    common = ones[:, :frequent]
    items = by_word.shape[0]
    bins, values = np.empty((items, k), np.int32), np.empty((items, k), np.float32)
    for first in range(0, items, block):
        rows = slice(first, first + block)
        table = (by_word[rows] @ common).toarray()
        table *= 2
        table /= of_words[frequent:last][rows, None] + of_words[:frequent]
        best = np.argpartition(-table, k, axis=1)[:, :k]
        found = np.take_along_axis(table, best, axis=1)
        order = np.argsort(-found, axis=1, kind="stable")
        bins[rows] = np.take_along_axis(best, order, axis=1)
        values[rows] = np.take_along_axis(found, order, axis=1)
    return Matches(bins, values)


def peak(run: Callable[[], Matches]) -> int:
    """Bytes that a call holds at its peak beside its result."""
    tracemalloc.start()
    try:
        result = run()
        return tracemalloc.get_traced_memory()[1] - sum(array.nbytes for array in result)
    finally:
        tracemalloc.stop()


def rows() -> Iterator[Row]:
    counts = documents(_SMALL)
    last = FREQUENT + _ITEMS

    def ours() -> Matches:
        return dice(counts, FREQUENT, K, first=FREQUENT, last=last, threads=1)

    def theirs(block: int) -> Matches:
        return by_scipy(counts, FREQUENT, last, K, block)

    np.testing.assert_allclose(ours().values, theirs(500).values, rtol=1e-6)
    work = pairs(counts, FREQUENT, last) / 1e6
    blocks = {f"blocks of {block}": block for block in (50, 500)}
    found = speeds(
        {
            "ours": Contestant(ours, work),
            **{name: Contestant(partial(theirs, block), work) for name, block in blocks.items()},
        },
        3,
    )
    fastest = max(blocks, key=lambda name: median(found[name]))
    size = f"{_ITEMS:,} words x {FREQUENT:,}"
    yield row(
        f"DICE, {size} / scipy, {fastest}", "M/s", found["ours"], found[fastest], floor=3, goal=3
    )
    held = peak(partial(theirs, blocks[fastest])), peak(ours)
    yield Row(
        f"DICE, {size}: memory of scipy / ours",
        "MB",
        held[1] / 1e6,
        held[0] / 1e6,
        held[0] / held[1],
        goal=100,
    )
    yield alone(int(os.environ.get("SSI_BENCH_DOCUMENTS", "20000")))


def alone(n: int) -> Row:
    """Match the words of n documents, and say what a whole Wikipedia would take."""
    counts = documents(n)
    frequent = min(FREQUENT, n)
    items = counts.shape[1] - frequent
    entries = int(np.count_nonzero(counts.indices >= frequent))
    stated = memory_of(items, K, n, frequent, entries=entries)
    resources.require("DICE", memory=stated)
    start = cpu_seconds()
    found = dice(counts, frequent, K, first=frequent, threads=1)
    seconds = cpu_seconds() - start
    held = peak(lambda: dice(counts, frequent, K, first=frequent, threads=1))
    result = sum(array.nbytes for array in found)
    each = seconds / n
    return Row(
        f"DICE, {items:,} words x {frequent:,}, {n:,} documents",
        "M/s",
        pairs(counts, frequent, counts.shape[1]) / 1e6 / seconds,
        note=(
            f"{seconds:.1f} CPU s, {1e3 * each:.3f} ms a document; peak {held / 1e6:.0f} MB beside "
            f"the result of {result / 1e6:.0f} MB (stated before: {stated / 1e6:.0f} MB together); "
            f"{_WIKIPEDIA:,} such documents: {_WIKIPEDIA * each / 60:.0f} minutes of one core"
        ),
    )
