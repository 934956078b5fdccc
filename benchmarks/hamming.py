"""Balls of radius 1 among a million random codes, beside the binary indexes of faiss.

    python -m benchmarks.hamming

One thread; CPU time a query. Each query is one bit away from a code, and all answers are compared.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import faiss
import numpy as np

from ssi_core.guests.codes.packed import BallIndex

CODES, QUERIES, SLOW = 10**6, 200, 50


def microseconds(call: Callable[[], Any], queries: int) -> tuple[float, Any]:
    began = time.process_time()
    value = call()
    return (time.process_time() - began) * 1e6 / queries, value


def measure(bits: int) -> str:
    random = np.random.default_rng(bits)
    octets = random.integers(0, 256, (CODES, 8), np.uint8)
    octets[:, bits // 8 :] = 0
    codes = octets.view(np.uint64)
    flips = np.uint64(1) << random.integers(0, bits, (QUERIES, 1)).astype(np.uint64)
    queries = codes[random.integers(0, CODES, QUERIES)] ^ flips
    raw = np.ascontiguousarray(octets[:, : bits // 8])
    asked = np.ascontiguousarray(queries.view(np.uint8)[:, : bits // 8])
    index = BallIndex(codes, bits)
    flat = faiss.IndexBinaryFlat(bits)
    hashed = faiss.IndexBinaryHash(bits, 20)
    hashed.nflip = 1
    for one in (flat, hashed):
        one.add(raw)
    index.search(queries[0])  # compiles
    index.scan(queries[0], 1)
    look_up, expected = microseconds(lambda: [index.search(q) for q in queries], QUERIES)
    scan, scanned = microseconds(lambda: [index.scan(q, 1) for q in queries[:SLOW]], SLOW)
    # faiss takes what is nearer than its radius.
    exact, answer = microseconds(lambda: flat.range_search(asked[:SLOW], 2), SLOW)
    bucket, other = microseconds(lambda: hashed.range_search(asked, 2), QUERIES)
    for position, rows in enumerate(expected):
        assert position >= SLOW or set(rows) == set(scanned[position])
        for start, _, numbers in (answer, other)[position >= SLOW :]:
            assert set(rows) == set(numbers[start[position] : start[position + 1]])
    return (
        f"{bits} bits, microseconds a query: look-up {look_up:.1f}, scan {scan:.0f}, "
        f"IndexBinaryFlat {exact:.0f}, IndexBinaryHash {bucket:.1f}"
    )


def main() -> None:
    faiss.omp_set_num_threads(1)
    for bits in (32, 64):
        print(measure(bits))


if __name__ == "__main__":
    main()
