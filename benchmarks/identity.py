"""The sweep with `+ I`, as the papers train it: against an independent probe, and PyTorch.

The probe of `benchmarks.probe` goes through the sweep's own loops. This one is written apart: plain
loops over rows of U and V, on triples that are drawn beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np

from benchmarks.sweep import ALL_VIOLATE, TRIPLES, against_torch, memory, ours, peers
from benchmarks.timing import Contestant, PeerMissing, Row, peer, row, speeds
from benchmarks.triples import drawn, parameters, training_data
from ssi_core.kernels.structs import Data, Parameters

_DIMENSIONS = 100


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
            sums[j] += a[j] + b[j] + c[j] + d[j]
        at += 4
    while at < last:
        a = rows[words[at]]
        for j in range(width):
            sums[j] += a[j]
        at += 1
    for at in range(first, last):
        a = rows[words[at]]
        for j in range(width):
            a[j] += factor * sums[j]


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


def rows() -> Iterator[Row]:
    """Measure both; PyTorch where it is installed, with `+ I` on its side, too."""
    data, p = training_data(), parameters(_DIMENSIONS)
    contestants = {
        # The identity is alpha I with alpha = 1 and no rate of its own.
        "ours": ours(data, p, _DIMENSIONS, ALL_VIOLATE, "alpha"),
        "probe": _probe(data, p),
        "own loops": memory(data, p),
    }
    missing = ""
    try:
        torch = peer("torch")
        contestants |= peers(torch, data, p, _DIMENSIONS, ALL_VIOLATE, prepared=True, identity=True)
    except PeerMissing as error:
        missing = str(error)
    name, found = f"sweep N={_DIMENSIONS} + I", speeds(contestants)
    yield row(
        f"{name} / gather + write probe",
        "triples/s",
        found["ours"],
        found["own loops"],
        floor=0.7,
        goal=0.8,
        note="the sweep's own loops, without the identity",
    )
    yield row(
        f"{name} / independent probe",
        "triples/s",
        found["ours"],
        found["probe"],
        floor=0.7,
        goal=0.8,
        note="plain loops, triples drawn beforehand",
    )
    if missing:
        yield Row(f"{name} / PyTorch + I", "triples/s", floor=5, goal=5, note=missing)
    else:
        yield against_torch(name, found, 5, 5, "with + I; ")
