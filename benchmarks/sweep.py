"""The low-rank sweep: against the memory, against PyTorch, and two threads against one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.embedding_bag import Peer
from benchmarks.probe import against, bytes_of_a_triple, memory
from benchmarks.timing import Contestant, PeerMissing, Row, cpu_seconds, peer, row, speeds
from benchmarks.triples import DOCUMENTS, WORDS, parameters, training_data, work
from ssi_core.kernels.training.structs import Data, Parameters, Settings, Stepped, Turn
from ssi_core.kernels.training.sweep import Group as Kernels
from ssi_core.kernels.training.sweep import sweep_of
from ssi_core.training.sgd import Group, Sgd

TRIPLES = 6000
BATCHES = {1: 96, 16: 40, 128: 10, 256: 5}  # size -> steps in a round
ALL_VIOLATE = Settings(np.float32(1e6), np.float32(1e-5), np.float32(0), np.int64(1))
_TRAINING = Settings(np.float32(1), np.float32(0.1), np.float32(0), np.int64(1))
_LEARNT = 200_000  # triples before a training run is measured
_SECONDS = 20  # of training that PyTorch is given
_HELD_OUT = 2000  # pairs of the rank loss


def ours(
    data: Data, p: Parameters, dimensions: int, settings: Settings, diagonal: str = "none"
) -> Contestant:
    state = np.array([1], np.uint64)
    stepped = Stepped.none_of(data, DOCUMENTS)
    totals = np.zeros(4)
    scratch = work(dimensions, len(p.U))
    turn = Turn(p, data, scratch, DOCUMENTS, state, settings, totals, stepped)
    take = sweep_of(Kernels("low_rank", diagonal))([turn])
    return Contestant(lambda: take(TRIPLES), TRIPLES)


def copy(p: Parameters) -> Contestant:
    """Bytes read and written when U is copied from end to end."""
    to = np.empty_like(p.V)
    return Contestant(lambda: np.copyto(to, p.U), 2 * p.U.nbytes)


def peers(
    torch: Any,
    data: Data,
    p: Parameters,
    dimensions: int,
    settings: Settings,
    *,
    prepared: bool,
    identity: bool = False,
    numbers: str = "float32",
    sizes: Mapping[int, int] = BATCHES,
) -> dict[str, Contestant]:
    """PyTorch at each size of a batch; see `Peer` for what is prepared, and for ``identity``."""
    torch.set_num_threads(1)
    found = {}
    for batch, batches in sizes.items():
        one = Peer(
            torch,
            data,
            p,
            dimensions,
            batch=batch,
            batches=batches,
            prepared=prepared,
            identity=identity,
            numbers=numbers,
            margin=float(settings.margin),
            rate=float(settings.rate),
        )
        found[f"{batch}"] = Contestant(one.run, one.triples)
    return found


def against_torch(
    name: str, found: dict[str, list[float]], floor: float, goal: float, note: str = ""
) -> Row:
    """Ours against the best size of a batch; the others are in the note."""
    medians = {batch: median(found[batch]) for batch in map(str, BATCHES)}
    best = max(medians, key=medians.__getitem__)
    said = ", ".join(f"{batch}: {speed:,.0f}" for batch, speed in medians.items())
    return row(
        f"{name} / PyTorch",
        "triples/s",
        found["ours"],
        found[best],
        floor=floor,
        goal=goal,
        note=f"{note}PyTorch by batch: {said} triples/s",
    )


def training_run(torch: Any, data: Data) -> Row:
    """Go on from where most triples have been learnt, with margin 1 and the same rate."""
    p = parameters(100)
    sgd = trainee(data, p, _TRAINING, threads=1)
    sgd.sweep(_LEARNT)
    contestants = {"ours": ours(data, p, 100, _TRAINING)}
    found = speeds(contestants | peers(torch, data, p, 100, _TRAINING, prepared=False))
    violated = sgd.sweep(TRIPLES)["train/violated"]
    note = f"{violated:.0%} of the triples violate; "
    return against_torch("training run N=100", found, 10, 10, note)


def trainee(data: Data, p: Parameters, settings: Settings, threads: int) -> Sgd:
    group = Group(Kernels("low_rank", "none"), p, data, settings, DOCUMENTS, seed=0)
    return Sgd({"": group}, words=WORDS, threads=threads, judge=lambda parameters: 0.0)


def rank_loss(data: Data, U: Any, V: Any, pairs: Any) -> float:
    """Mean share of documents that score at least as the linked one: U and V may be padded."""
    shape = (DOCUMENTS, WORDS)
    rows = sparse.csr_array((data.queries.data, data.queries.indices, data.queries.indptr), shape)
    scores = (rows[pairs[:, 0]] @ U) @ (rows @ V).T
    linked = scores[np.arange(len(pairs)), pairs[:, 1]]
    return float(np.mean(scores >= linked[:, None]))


def seconds_to(target: float, run: Any, loss: Any, limit: float) -> tuple[float, float]:
    """CPU seconds of ``run`` until the loss is at the target, or the limit; and the loss then."""
    spent, reached = 0.0, loss()
    while reached > target and spent < limit:
        start = cpu_seconds()
        run()
        spent += cpu_seconds() - start
        reached = loss()
    return spent, reached


def time_to_rank_loss(torch: Any, data: Data) -> Row:
    """Train on all pairs but some, which are ranked. The same start, rate and margin.

    PyTorch trains for so many seconds with each of the batches that are its fastest; the lowest
    loss is the target. Validation is not counted.
    """
    pairs = np.random.default_rng(3).permutation(data.pairs)
    held, data = pairs[:_HELD_OUT], data._replace(pairs=np.ascontiguousarray(pairs[_HELD_OUT:]))
    found = {}
    for batch in BATCHES:
        if batch >= 128:
            one = Peer(
                torch,
                data,
                parameters(100),
                100,
                batch=batch,
                batches=8192 // batch,
                prepared=False,
                margin=float(_TRAINING.margin),
                rate=float(_TRAINING.rate),
            )
            spent = 0.0
            while spent < _SECONDS:
                start = cpu_seconds()
                one.run()
                spent += cpu_seconds() - start
            found[rank_loss(data, *one.embeddings(), held)] = (batch, spent)
    target = min(found)
    batch, theirs = found[target]
    p = parameters(100)
    sgd = trainee(data, p, _TRAINING, threads=1)
    sgd.sweep(1)
    spent, reached = seconds_to(
        target, lambda: sgd.sweep(8192), lambda: rank_loss(data, p.U, p.V, held), _SECONDS
    )
    return Row(
        "time to PyTorch's rank loss, N=100",
        "s",
        spent,
        theirs,
        theirs / spent if reached <= target else None,
        goal=10,
        note=f"rank loss {target:.4f} with batch {batch}, ours {reached:.4f}",
    )


def two_threads(data: Data) -> Row:
    """By the wall clock, which needs two idle cores."""
    triples, p = 20_000, parameters(100)
    one, two = (trainee(data, p, ALL_VIOLATE, threads=n) for n in (1, 2))
    contestants = {
        "one": Contestant(lambda: one.sweep(triples), triples),
        "two": Contestant(lambda: two.sweep(triples), triples),
    }
    found = speeds(contestants, rounds=11, clock=time.perf_counter)
    return row(
        "sweep N=100, two threads / one",
        "triples/s",
        found["two"],
        found["one"],
        floor=1.5,
        goal=1.6,
        note="wall clock",
    )


def rows() -> Iterator[Row]:
    data = training_data()
    try:
        torch = peer("torch")
    except PeerMissing as missing:
        torch = None
        yield Row("sweep / PyTorch", "triples/s", floor=5, goal=5, note=str(missing))
    for n in (50, 100, 200):
        p = parameters(n)
        contestants = {"ours": ours(data, p, n, ALL_VIOLATE), "copy": copy(p)}
        try:
            contestants["probe"] = memory(data, p, TRIPLES)
            note = ""
        except PeerMissing as missing:
            note = str(missing)
        if torch:
            contestants |= peers(torch, data, p, n, ALL_VIOLATE, prepared=True)
        found = speeds(contestants)
        if not note:
            moved = bytes_of_a_triple(p, data.queries) * median(found["probe"]) / 1e9
            copied = median(found["copy"]) / 1e9
            note = f"{moved:.0f} GB/s in the probe's triples, {copied:.0f} GB/s in a copy of U"
        yield against(f"sweep N={n}", found["ours"], found.get("probe"), note)
        if torch:
            yield against_torch(f"sweep N={n}", found, 5, 5)
    if torch:
        yield training_run(torch, data)
    yield two_threads(data)
    if torch:
        yield time_to_rank_loss(torch, data)
