"""Memory and disk of rows: said before they start, refused if too large.

Estimates are upper bounds, about twice what is taken.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from flows import environment
from ssi_core import resources
from ssi_core.experiment import Row
from ssi_core.experiment.training import cost_of
from ssi_core.resources import FEWER, Cost

_WORKER = 450_000_000
"""Bytes of a worker before its first row: the interpreter, MLflow, compiled kernels."""
_HERE = 150_000_000
"""Bytes of MLflow and compiled kernels beside a row of this process; 130 million were measured."""


def require_rows(rows: Sequence[tuple[Row, Path]], *, workers: int, threads: int) -> None:
    """State, or refuse, rows of which ``workers`` run at a time in processes of their own.

    Parameters
    ----------
    rows : sequence of tuple
        (row, directory of its task), the same row once for each seed.
    workers : int
        Processes; 0: the one row runs in this process.
    threads : int
        Of a row.

    Raises
    ------
    Refused
        Together they do not fit.
    """
    if not rows:
        return
    known: dict[tuple[str, Path], Cost] = {}
    for row, task in rows:
        if (row.label, task) not in known:
            # A row that does not fit its task fails by itself, when its turn comes.
            with contextlib.suppress(ValueError, KeyError):
                known[row.label, task] = cost_of(row, task, threads)
    nothing = Cost(0, 0)
    costs = sorted((known.get((row.label, task), nothing) for row, task in rows), reverse=True)
    memory = sum(cost.memory for cost in costs[: max(1, workers)])
    memory += workers * _WORKER or _HERE
    what = f"training of {len(rows)} rows" if workers else f"training of {rows[0][0].label}"
    side = f", {workers} at a time" if workers > 1 else ""
    fewer = " Or run fewer rows side by side: --threads 1." if workers > 1 else ""
    resources.require(
        what + side,
        memory=memory,
        directory=environment.root(),
        disk=sum(cost.disk for cost in costs),
        remedy=FEWER + fewer,
    )
