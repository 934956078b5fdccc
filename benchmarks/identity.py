"""The steps with `+ I`, as the papers train it: against the memory, and PyTorch.

The step of triples and the step in blocks, every pair violating, U and V in float32 and float16.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any

from benchmarks.blocks import sgd
from benchmarks.probe import against, memory
from benchmarks.sweep import ALL_VIOLATE, BATCHES, TRIPLES, ours, peers
from benchmarks.timing import Contestant, PeerMissing, Row, peer, row, speeds
from benchmarks.triples import WORDS, parameters, training_data
from ssi_core.kernels.sparse import halved
from ssi_core.kernels.training.structs import Data, Parameters
from ssi_core.training.sgd import in_runs

_DIMENSIONS, _VOCABULARIES, _ROUNDS = (50, 100, 200), (WORDS, 200_000), 5
_STEPS = {"triples": "", "blocks": "in blocks, "}


def _steps(data: Data, p: Parameters, dimensions: int) -> dict[str, Contestant]:
    """Both steps; the identity is alpha I with alpha = 1 and no rate of its own."""
    block = sgd(in_runs(data), p, "alpha", ALL_VIOLATE, block=True)
    return {
        "triples": ours(data, p, dimensions, ALL_VIOLATE, "alpha"),
        "blocks": Contestant(partial(block.sweep, TRIPLES), TRIPLES),
    }


def _peers(torch: Any, data: Data, p: Parameters, dimensions: int) -> dict[str, Contestant]:
    """PyTorch with `+ I`, at the larger sizes of a batch in half precision too."""
    sizes = BATCHES | {512: 3}
    large = {size: steps for size, steps in sizes.items() if size >= 128}
    found = {}
    for numbers in ("float32", "bfloat16", "float16"):
        how = {"identity": True, "numbers": numbers}
        some = sizes if numbers == "float32" else large
        one = peers(torch, data, p, dimensions, ALL_VIOLATE, prepared=True, sizes=some, **how)
        found |= {f"{numbers} {size}": contestant for size, contestant in one.items()}
    return found


def _measured(words: int, dimensions: int, torch: Any) -> Iterator[Row]:
    data, wide = training_data(words), parameters(dimensions, words)
    half = wide._replace(U=halved(wide.U), V=halved(wide.V))
    contestants = {} if torch is None else _peers(torch, data, wide, dimensions)
    theirs, missing = list(contestants), ""
    for numbers, p in (("float32", wide), ("float16", half)):
        mine = _steps(data, p, dimensions)
        try:
            mine["probe"] = memory(data, p, TRIPLES)
        except PeerMissing as error:
            missing = str(error)
        contestants |= {f"{name} {numbers}": one for name, one in mine.items()}
    found = speeds(contestants, _ROUNDS)
    for numbers in ("float32", "float16"):
        for step, called in _STEPS.items():
            what = f"+ I, {called}{words:,} words, N={dimensions}, {numbers}"
            speed = found[f"{step} {numbers}"]
            yield against(what, speed, found.get(f"probe {numbers}"), missing)
            if theirs:
                yield _against(what, speed, {name: found[name] for name in theirs})


def _against(what: str, speed: list[float], theirs: dict[str, list[float]]) -> Row:
    """Ours against the fastest of PyTorch."""
    medians = {name: median(speeds) for name, speeds in theirs.items()}
    best = max(medians, key=medians.__getitem__)
    return row(
        f"{what} / PyTorch",
        "triples/s",
        speed,
        theirs[best],
        floor=5,
        goal=12,
        note=f"{best}; " + ", ".join(f"{name}: {one:,.0f}" for name, one in medians.items()),
    )


def rows() -> Iterator[Row]:
    """Measure all in one run; PyTorch where it is installed, with `+ I` on its side, too."""
    try:
        torch = peer("torch")
    except PeerMissing as error:
        torch = None
        yield Row("+ I / PyTorch", "triples/s", floor=5, goal=12, note=str(error))
    for words in _VOCABULARIES:
        for dimensions in _DIMENSIONS:
            yield from _measured(words, dimensions, torch)
