"""The step in blocks against that of triples, with WARP: pairs a CPU second.

U and V are those of a short training, and stay: some pairs find a d- that violates at once, others
after many. Texts have about 100 or 800 words. What trainings reach is measured by `block_step`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.timing import Contestant, Row, row, speeds
from benchmarks.triples import DOCUMENTS, WORDS, parameters, training_data
from ssi_core.kernels.training.structs import Data, Parameters, Settings
from ssi_core.kernels.training.sweep import Group as Kernels
from ssi_core.training.sgd import Group, Sgd, in_runs

_TEXTS = {"100 words": 150, "800 words": 1700}
"""Texts -> tokens of each."""
_TRIES, _LEARNT, _PAIRS = 50, 60_000, 2000
_LEARN = Settings(np.float32(0.1), np.float32(0.002), np.float32(0), np.int64(_TRIES), warp=True)
_STAY = _LEARN._replace(rate=np.float32(1e-7), diagonal_rate=np.float32(1e-7))


def sgd(data: Data, p: Parameters, diagonal: str, settings: Settings, *, block: bool) -> Sgd:
    """Return a training of ``U'V`` with a diagonal."""
    kernels = Kernels("low_rank", diagonal, block=block)
    group = Group(kernels, p, data, settings, DOCUMENTS, seed=0)
    return Sgd({"": group}, words=len(p.U), threads=1, judge=lambda parameters: 0.0)


def rows() -> Iterator[Row]:
    for name, tokens in _TEXTS.items():
        data = in_runs(training_data(tokens=tokens))
        for n in (50, 100):
            p = parameters(n)
            sgd(data, p, "alpha", _LEARN, block=True).sweep(_LEARNT)
            for diagonal, called in (("alpha", "+ I"), ("weights", "+ D")):
                size = WORDS if diagonal == "weights" else 1
                mine: Any = p._replace(diagonal=np.ones(size, np.float32))
                both = {
                    step: sgd(data, mine, diagonal, _STAY, block=step == "block")
                    for step in ("block", "triple")
                }
                found = speeds(
                    {
                        step: Contestant(lambda one=one: one.sweep(_PAIRS), _PAIRS)
                        for step, one in both.items()
                    }
                )
                violated = both["triple"].sweep(_PAIRS)["train/violated"]
                yield row(
                    f"block / triple, {name}, N={n} {called}",
                    "pairs/s",
                    found["block"],
                    found["triple"],
                    note=f"{violated:.0%} of the pairs find a d- that violates, of {_TRIES}",
                )
