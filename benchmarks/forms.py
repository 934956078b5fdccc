"""Each form of W: its sweep beside that of the low-rank form, and scores by hash kernels.

The share of the memory bandwidth is that of the weights which a step reads twice and writes once,
with their indices where W is sparse, beside a copy of 100 MB. What is above 1 comes from caches.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np

from benchmarks.pairs_of_words import Peer
from benchmarks.timing import Contestant, PeerMissing, Row, peer, row, speeds
from benchmarks.triples import DOCUMENTS, WORDS, drawn, parameters, training_data, work
from ssi_core.kernels import jit
from ssi_core.kernels.sparse import Csr, aligned_empty, dot, padded
from ssi_core.kernels.training.pair_forms import PRIME, hashed_document, pairs_query
from ssi_core.kernels.training.random import below
from ssi_core.kernels.training.structs import Data, Parameters, Settings, Stepped, Turn, Work
from ssi_core.kernels.training.sweep import Group, sweep_of

_TRIPLES, _PEER_TRIPLES, _SCORES, _DIMENSIONS = 300, 50, 2000, 100
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


def sweep(form: str, p: Parameters, data: Data, seed: int = 1) -> Contestant:
    """The sweep of a form, every triple violating."""
    state = np.array([seed], np.uint64)
    stepped = Stepped.none_of(data, DOCUMENTS)
    totals = np.zeros(4)
    turn = Turn(p, data, scratch(_DIMENSIONS), DOCUMENTS, state, _ALL_VIOLATE, totals, stepped)
    take = sweep_of(Group(form, "none"))([turn])
    return Contestant(lambda: take(_TRIPLES), _TRIPLES)


def of_pairs(W: Any) -> Parameters:
    nothing = aligned_empty(0, padded(1))
    return Parameters(nothing, nothing, np.ones(1, np.float32), W)


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


def step_bytes(data: Data) -> dict[str, float]:
    """Bytes of weights that a step on a triple of mean length moves, for each form."""
    words = float(np.diff(data.queries.indptr).mean())
    pairs = 12 * 2 * words**2
    sparse = {f"sparse p={p}": 28 * words * p for p in (1000, 100, 10)}
    other = {"dense": pairs, "zero diagonal": pairs, "hashed 1M": pairs, "hashed 10M": pairs}
    return {"low rank": 12 * 3 * words * _DIMENSIONS} | other | sparse


def peers(data: Data, dense: Any) -> dict[str, Contestant]:
    """The same models in PyTorch, where they exist."""
    try:
        torch = peer("torch")
    except PeerMissing:
        return {}
    torch.set_num_threads(1)
    triples = drawn(data, _PEER_TRIPLES, 1)
    models = {
        "dense": (dense.reshape(-1), WORDS),
        "hashed 1M": (np.zeros(1_000_000, np.float32), PRIME),
        "hashed 10M": (np.zeros(10_000_000, np.float32), PRIME),
    }
    return {
        f"{name} / PyTorch": Contestant(Peer(torch, W, step, data, triples).run, _PEER_TRIPLES)
        for name, (W, step) in models.items()
    }


def rows() -> Iterator[Row]:
    data, low_rank = training_data(), parameters(_DIMENSIONS)
    dense = np.full((WORDS, WORDS), 1e-3, np.float32)  # pages that are there
    forms = {
        "low rank": sweep("low_rank", low_rank, data),
        "dense": sweep("dense", of_pairs(dense), data),
        # other triples: those of the dense form have their weights in the caches
        "zero diagonal": sweep("zero_diagonal", of_pairs(dense), data, seed=2),
        "sparse p=1000": sweep("sparse", of_pairs(sparse_weights(1000)), data),
        "sparse p=100": sweep("sparse", of_pairs(sparse_weights(100)), data),
        "sparse p=10": sweep("sparse", of_pairs(sparse_weights(10)), data),
        "hashed 1M": sweep("hashed", of_pairs(np.zeros(1_000_000, np.float32)), data),
        "hashed 10M": sweep("hashed", of_pairs(np.zeros(10_000_000, np.float32)), data),
    }
    source, target = np.ones((2, 25_000_000), np.float32)
    copy = Contestant(lambda: np.copyto(target, source), 2 * source.nbytes)
    others = peers(data, dense)
    found = speeds(forms | others | {"copy": copy}, rounds=5)
    bandwidth = median(found["copy"])
    moved = step_bytes(data)
    for name in forms:
        share = median(found[name]) * moved[name] / bandwidth
        note = f"{share:.2f} of the {bandwidth / 1e9:.1f} GB/s of a copy"
        yield row(
            f"{name} / low rank N=100", "triples/s", found[name], found["low rank"], note=note
        )
    for name in others:
        yield row(name, "triples/s", found[name.removesuffix(" / PyTorch")], found[name])
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
