"""The low-rank sweep with several d- a pair, against one: triples a CPU second, with ``+ I``.

Every triple violating, and as most trainings are: margin 1 after triples that leave a few per cent
violating, where a step is rare. More triples are not more learnt: quality at equal time is told of
in README.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.sweep import ALL_VIOLATE, TRIPLES
from benchmarks.timing import Contestant, Row, row, speeds
from benchmarks.triples import DOCUMENTS, parameters, training_data, work
from ssi_core.kernels.training.structs import Data, Parameters, Settings, Stepped, Turn
from ssi_core.kernels.training.sweep import Group, sweep_of

_N, _COUNTS, _LEARNT = 100, (1, 2, 5, 10), 60_000
_FEW_VIOLATE = Settings(np.float32(1), np.float32(0.1), np.float32(0), np.int64(1))


def contestant(data: Data, p: Parameters, settings: Settings, count: int) -> Contestant:
    """Return the sweep with so many d- a pair."""
    turn = Turn(
        p,
        data,
        work(_N)._replace(
            direction=np.zeros(p.U.shape[1], np.float32), violating=np.zeros(count, np.int64)
        ),
        DOCUMENTS,
        np.array([1], np.uint64),
        settings._replace(negatives=np.int64(count)),
        np.zeros(4),
        Stepped.none_of(data, DOCUMENTS),
    )
    take = sweep_of(Group("low_rank", "alpha", several=count > 1))([turn])
    return Contestant(lambda: take(TRIPLES), TRIPLES)


def rows() -> Iterator[Row]:
    data = training_data()
    for what, settings in (("all violate", ALL_VIOLATE), ("margin 1", _FEW_VIOLATE)):
        p = parameters(_N)
        if settings is _FEW_VIOLATE:
            learn = contestant(data, p, settings, 1).run
            for _ in range(_LEARNT // TRIPLES):
                learn()
        found = speeds({f"{k}": contestant(data, p, settings, k) for k in _COUNTS})
        for k in _COUNTS[1:]:
            yield row(f"{k} negatives a pair / 1, {what}", "triples/s", found[f"{k}"], found["1"])
