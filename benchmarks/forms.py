"""Each form of W: its sweep beside that of the low-rank form, and scores by hash kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.timing import Contestant, Row, row, speeds
from benchmarks.triples import DOCUMENTS, WORDS, parameters, training_data, work
from ssi_core.kernels import jit, jit_fast
from ssi_core.kernels.forms import Data, Parameters, Work
from ssi_core.kernels.pair_forms import hashed_document, pairs_query
from ssi_core.kernels.random import below
from ssi_core.kernels.sparse import Csr, aligned_empty, dot, padded
from ssi_core.kernels.sweep import Settings, draw_negative, sweep_of

_TRIPLES, _SCORES, _DIMENSIONS = 300, 2000, 100
_ALL_VIOLATE = Settings(np.float32(1e6), np.float32(1e-5), np.float32(0), np.int64(1))


def scratch(dimensions: int) -> Work:
    """Scratch of one thread, that of pairs too."""
    return work(dimensions)._replace(held=np.zeros(1, np.int64), words=np.zeros(WORDS, np.float32))


def sparse_weights(entries: int) -> Csr:
    """W of so many weights a row, anywhere."""
    rng = np.random.default_rng(2)
    columns = np.sort(rng.integers(0, WORDS, (WORDS, entries)), axis=1).astype(np.int32)
    values = rng.normal(size=WORDS * entries).astype(np.float32)
    return Csr(np.arange(WORDS + 1, dtype=np.int64) * entries, columns.ravel(), values)


def sweep(form: str, p: Parameters, data: Data) -> Contestant:
    """The sweep of a form, every triple violating."""
    run_sweep, held = sweep_of(form, "none"), scratch(_DIMENSIONS)
    state, totals = np.array([1], np.uint64), np.zeros(4)

    def run() -> None:
        run_sweep(p, data, held, DOCUMENTS, state, _ALL_VIOLATE, _TRIPLES, totals)

    return Contestant(run, _TRIPLES)


def of_pairs(W: Any) -> Parameters:
    nothing = aligned_empty(0, padded(1))
    return Parameters(nothing, nothing, np.ones(1, np.float32), W)


@jit_fast
def _read(W: Any, data: Data, q: int, d: int) -> np.float32:
    total = np.float32(0)
    for i in range(data.queries.indptr[q], data.queries.indptr[q + 1]):
        weights = W[data.queries.indices[i]]
        for t in range(data.documents.indptr[d], data.documents.indptr[d + 1]):
            total += weights[data.documents.indices[t]]
    return total


@jit
def _write(W: Any, data: Data, q: int, d: int, x: np.float32) -> None:
    for i in range(data.queries.indptr[q], data.queries.indptr[q + 1]):
        weights = W[data.queries.indices[i]]
        for t in range(data.documents.indptr[d], data.documents.indptr[d + 1]):
            weights[data.documents.indices[t]] += x


@jit
def probe(W: Any, data: Data, n_documents: int, state: Any, steps: int) -> np.float32:
    """Go over the triples of the sweep: the weights of their pairs are read, then rewritten."""
    total = np.float32(0)
    for _ in range(steps):
        pair = below(state, data.pairs.shape[0])
        q, p = data.pairs[pair, 0], data.pairs[pair, 1]
        n = draw_negative(data, n_documents, q, state)
        total += _read(W, data, q, p) + _read(W, data, q, n)
        _write(W, data, q, p, np.float32(1e-9))
        _write(W, data, q, n, np.float32(-1e-9))
    return total


@jit
def hashed_scores(p: Parameters, data: Data, held: Work, state: Any, steps: int) -> np.float32:
    """Score pairs as the paper reckons it: |q| |d| look-ups each."""
    total = np.float32(0)
    for _ in range(steps):
        pairs_query(p, data, held, below(state, DOCUMENTS))
        total += hashed_document(p, data, held, below(state, DOCUMENTS), 0)
    return total


@jit
def cached_scores(queries: Any, documents: Any, state: Any, steps: int) -> np.float32:
    """Score pairs whose embeddings are cached: N products each."""
    total = np.float32(0)
    for _ in range(steps):
        total += dot(queries[below(state, DOCUMENTS)], documents[below(state, DOCUMENTS)])
    return total


def rows() -> Iterator[Row]:
    data, low_rank = training_data(), parameters(_DIMENSIONS)
    dense = np.full((WORDS, WORDS), 1e-3, np.float32)  # pages that are there
    forms = {
        "low rank": sweep("low_rank", low_rank, data),
        "dense": sweep("dense", of_pairs(dense), data),
        "zero diagonal": sweep("hollow", of_pairs(dense), data),
        "sparse p=1000": sweep("sparse", of_pairs(sparse_weights(1000)), data),
        "sparse p=100": sweep("sparse", of_pairs(sparse_weights(100)), data),
        "sparse p=10": sweep("sparse", of_pairs(sparse_weights(10)), data),
        "hashed 1M": sweep("hashed", of_pairs(np.zeros(1_000_000, np.float32)), data),
        "hashed 10M": sweep("hashed", of_pairs(np.zeros(10_000_000, np.float32)), data),
    }
    state = np.array([1], np.uint64)
    memory = Contestant(lambda: probe(dense, data, DOCUMENTS, state, _TRIPLES), _TRIPLES)
    found = speeds(forms | {"memory": memory}, rounds=5)
    yield row("dense / its reads and writes", "triples/s", found["dense"], found["memory"])
    for name in list(forms)[1:]:
        yield row(f"{name} / low rank N=100", "triples/s", found[name], found["low rank"])
    yield scores(data, of_pairs(np.zeros(1_000_000, np.float32)))


def scores(data: Data, p: Parameters) -> Row:
    """A cached low-rank model beside hash kernels; the paper says about 100 times."""
    state, held = np.array([1], np.uint64), scratch(_DIMENSIONS)
    rng = np.random.default_rng(3)
    queries, documents = rng.normal(size=(2, DOCUMENTS, _DIMENSIONS)).astype(np.float32)
    many = 50 * _SCORES
    contestants = {
        "cached": Contestant(lambda: cached_scores(queries, documents, state, many), many),
        "hashed": Contestant(lambda: hashed_scores(p, data, held, state, _SCORES), _SCORES),
    }
    found = speeds(contestants, rounds=5)
    return row("cached low rank / hash kernels", "scores/s", found["cached"], found["hashed"])
