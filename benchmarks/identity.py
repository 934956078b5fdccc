"""The sweep with `+ I`, as the papers train it: against an independent probe, and PyTorch.

The probe of `benchmarks.probe` goes through the sweep's own loops. This one is written apart: plain
loops over rows of U and V, on triples that are drawn beforehand. U and V are float32, and float16.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from benchmarks.sweep import ALL_VIOLATE, BATCHES, TRIPLES, memory, ours, peers
from benchmarks.timing import Contestant, PeerMissing, Row, peer, row, speeds
from benchmarks.triples import WORDS, drawn, parameters, training_data
from ssi_core.kernels.sparse import halved
from ssi_core.kernels.training.structs import Data, Parameters
from ssi_core.kernels.vectors import widened

_DIMENSIONS = 100


@intrinsic  # type: ignore[untyped-decorator]
def rounded_as(_: Any, number: Any, like: Any) -> Any:
    """Return a float32 as a number of an embedding; a uint16 has the bits of a float16."""

    def codegen(context: Any, b: Any, signature: Any, values: Any) -> Any:
        half = b.fptrunc(values[0], ir.HalfType())
        return b.bitcast(half, ir.IntType(16)) if like == types.uint16 else values[0]

    return like(types.float32, like), codegen


@numba.njit(fastmath=True)  # type: ignore[untyped-decorator]
def gather_and_write(
    rows: Any, first: int, last: int, words: Any, sums: Any, factor: np.float32
) -> None:
    """Add up the rows of some words, four at a time; then read and write each of them."""
    width = len(sums)
    at = first
    while at + 4 <= last:
        a, b, c, d = rows[words[at]], rows[words[at + 1]], rows[words[at + 2]], rows[words[at + 3]]
        for j in range(width):
            sums[j] += widened(a[j]) + widened(b[j]) + widened(c[j]) + widened(d[j])
        at += 4
    while at < last:
        a = rows[words[at]]
        for j in range(width):
            sums[j] += widened(a[j])
        at += 1
    for at in range(first, last):
        a = rows[words[at]]
        for j in range(width):
            a[j] = rounded_as(widened(a[j]) + factor * sums[j], a[j])


@numba.njit(fastmath=True)  # type: ignore[untyped-decorator]
def independent_probe(
    U: Any, V: Any, indptr: Any, words: Any, triples: Any, sums: Any, factor: np.float32
) -> None:
    """Go over triples of texts: the query's words in U, those of both documents in V."""
    for i in range(len(triples)):
        sums[:] = 0
        for side in range(3):
            text = triples[i, side]
            rows = U if side == 0 else V
            gather_and_write(rows, indptr[text], indptr[text + 1], words, sums, factor)


def _probe(data: Data, p: Parameters) -> Contestant:
    triples = np.array(drawn(data, TRIPLES, seed=1), np.int64)
    rows, sums = data.queries, np.zeros(p.U.shape[1], np.float32)
    nothing = np.float32(0)

    def run() -> None:
        independent_probe(p.U, p.V, rows.indptr, rows.indices, triples, sums, nothing)

    return Contestant(run, len(triples))


def _peers(torch: Any, data: Data, p: Parameters) -> dict[str, Contestant]:
    """PyTorch with `+ I`, at the larger sizes of a batch in half precision too."""
    sizes = BATCHES | {512: 3}
    large = {size: steps for size, steps in sizes.items() if size >= 128}
    found = {}
    for numbers in ("float32", "bfloat16", "float16"):
        how = {"identity": True, "numbers": numbers}
        some = sizes if numbers == "float32" else large
        one = peers(torch, data, p, _DIMENSIONS, ALL_VIOLATE, prepared=True, sizes=some, **how)
        found |= {f"{numbers} {size}": contestant for size, contestant in one.items()}
    return found


def _measured(words: int, torch: Any) -> Iterator[Row]:
    data, wide = training_data(words), parameters(_DIMENSIONS, words)
    half = wide._replace(U=halved(wide.U), V=halved(wide.V))
    # The identity is alpha I with alpha = 1 and no rate of its own.
    contestants = {
        f"{name} {numbers}": contestant
        for numbers, p in (("float32", wide), ("float16", half))
        for name, contestant in {
            "ours": ours(data, p, _DIMENSIONS, ALL_VIOLATE, "alpha"),
            "probe": _probe(data, p),
            "own loops": memory(data, p),
        }.items()
    }
    theirs = {} if torch is None else _peers(torch, data, wide)
    found = speeds(contestants | theirs)
    what, notes = (
        f"+ I, {words:,} words",
        ("plain loops, triples drawn beforehand", "its own loops"),
    )
    for numbers in ("float32", "float16"):
        for probe, note in zip(("probe", "own loops"), notes, strict=True):
            yield row(
                f"{what}, {numbers} / {probe}",
                "triples/s",
                found[f"ours {numbers}"],
                found[f"{probe} {numbers}"],
                floor=0.7,
                goal=0.8,
                note=note,
            )
    both = found["ours float16"], found["ours float32"]
    yield row(f"{what}, float16 / float32", "triples/s", *both)
    for numbers in ("float32", "float16"):
        for known in ("float32", "") if theirs else ():
            yield _against(f"{what}, {numbers}", found, f"ours {numbers}", known, list(theirs))


def _against(what: str, found: Any, one: str, known: str, theirs: list[str]) -> Row:
    """Ours against the fastest of PyTorch, of all numbers or of those that are named."""
    medians = {name: median(found[name]) for name in theirs if name.startswith(known)}
    best = max(medians, key=medians.__getitem__)
    said = ", ".join(f"{name}: {speed:,.0f}" for name, speed in medians.items())
    return row(
        f"{what} / PyTorch {known or 'of any numbers'}",
        "triples/s",
        found[one],
        found[best],
        floor=5,
        goal=10,
        note=f"PyTorch + I by batch: {said} triples/s",
    )


def rows() -> Iterator[Row]:
    """Measure all in one run; PyTorch where it is installed, with `+ I` on its side, too."""
    try:
        torch = peer("torch")
    except PeerMissing as error:
        torch = None
        yield Row("+ I / PyTorch + I", "triples/s", floor=5, goal=10, note=str(error))
    for words in (WORDS, 200_000):
        yield from _measured(words, torch)
