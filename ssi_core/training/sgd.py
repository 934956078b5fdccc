"""Stochastic gradient descent on triples: one training's kernels, sampler states and threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.kernels import sweep as kernel
from ssi_core.kernels.sparse import Csr, aligned_empty, csr, padded
from ssi_core.kernels.structs import Data, Parameters, Work
from ssi_core.training.descend import SAMPLERS
from ssi_core.types import Int32, Pairs, Task


def barred(task: Task) -> sparse.csr_array:
    """Documents never drawn as d-: excluded ones and those linked in training; a sorted pattern.

    Test and validation links are not in it: to look at them would leak.
    """
    n, m = len(task.queries), len(task.documents)
    rows, columns = task.train.rows.T
    linked = sparse.csr_array((np.ones(len(rows), np.bool_), (rows, columns)), shape=(n, m))
    pattern = sparse.csr_array(linked + task.exclude.astype(np.bool_))
    pattern.sort_indices()
    return pattern


def training_data(task: Task, view: str, diagonal_view: str) -> Data:
    """Arrays of a task as the sweep reads them; matrices stay where they are mapped."""
    never = barred(task)
    seen: dict[tuple[str, str], Any] = {}

    def rows(side: str, name: str) -> Any:
        if side == "documents" and task.queries is task.documents:
            side = "queries"
        if (side, name) not in seen:
            seen[side, name] = csr(getattr(task, side).matrix(name))
        return seen[side, name]

    shown = () if task.shown is None else (task.shown.start, task.shown.documents)
    return Data(
        rows("queries", view),
        rows("documents", view),
        rows("queries", diagonal_view),
        rows("documents", diagonal_view),
        by_weight(task.train),
        never.indptr.astype(np.int64),
        never.indices.astype(np.int32),
        *shown,
    )


def by_weight(pairs: Pairs) -> Int32:
    """Rows of pairs, each as often as its weight says: a uniform draw is then one by weight.

    Systematic resampling: 16 places for a pair of the mean weight (fewer of many pairs), so that
    weights are kept to 1 / 16 of the mean. Pairs of equal weights come back as they are.
    """
    rows = np.ascontiguousarray(pairs.rows)
    if not len(pairs) or np.ptp(pairs.weight) == 0:
        return rows
    places = len(pairs) * max(1, min(16, _MOST_PLACES // len(pairs)))
    ends = np.cumsum(pairs.weight, dtype=np.float64)
    times = np.diff(np.floor(ends * (places / ends[-1]) + 0.5), prepend=0).astype(np.int64)
    return np.repeat(rows, times, axis=0)


_MOST_PLACES = 1 << 24


_PIECE = 1000
"""Triples that one of several threads takes at a time."""


class Sgd:
    """Sweeps over one task's triples that change ``parameters`` in place (a `descend.Trainee`).

    Parameters
    ----------
    sweep : of `kernels.sweep.sweep_of`, or one that is called alike
    parameters : `Parameters`, changed
    data : `Data`
    settings : of the sweep
    n_documents : d- is drawn from 0..n_documents-1
    words : width of the wider view
    seed : of the sampler; every thread has its own stream
    threads : 1 is exact; more share the parameters without a lock (Hogwild)
    judge : validation error of parameters
    observe : name -> measure of parameters that curves are to show
    """

    def __init__(
        self,
        sweep: Callable[..., Any],
        parameters: Parameters,
        data: Data,
        settings: Any,
        *,
        n_documents: int,
        words: int,
        seed: int,
        threads: int,
        judge: Callable[[Parameters], float],
        observe: Mapping[str, Callable[[Parameters], float]] | None = None,
    ) -> None:
        self.parameters = parameters
        self._sweep = sweep
        self._data, self._settings, self._n_documents = data, settings, n_documents
        self._judge, self._observe = judge, observe or {}
        # A row of 8 keeps the states of two threads on different cache lines.
        self._states = np.zeros((threads, 8), np.uint64)
        self._seed = seed
        self._states[:, 0] = np.random.SeedSequence(seed).generate_state(threads, np.uint64)
        self._work = [_work(parameters.U.shape[1], words) for _ in range(threads)]

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Live arrays: parameters and sampler states; what V shares with U is there once."""
        p = self.parameters
        arrays = {"U": p.U, "V": p.V, "diagonal": p.diagonal, SAMPLERS: self._states}
        if p.W is not None:
            arrays["W"] = p.W.data if isinstance(p.W, Csr) else p.W
        if p.squares is not None:
            arrays |= {"squares_U": p.squares.U, "squares_V": p.squares.V}
        shared = ("V", "squares_V") if p.V is p.U else ()
        return {name: array for name, array in arrays.items() if name not in shared}

    def reseed(self, triples: int) -> None:
        """Seed the samplers of all threads anew, with none of the states that they began with."""
        sequence = np.random.SeedSequence([self._seed, triples])
        self._states[:, 0] = sequence.generate_state(len(self._states), np.uint64)

    def sweep(self, triples: int) -> Mapping[str, float]:
        """Draw triples on all threads; mean hinge, share of violated ones, and skipped ones."""
        threads = len(self._work)
        # A thread that has to wait for its core takes fewer pieces.
        pieces = iter([triples] if threads == 1 else _pieces(triples))
        totals = np.zeros((threads, 8))  # as the states

        def one(i: int) -> None:
            for steps in pieces:
                self._sweep(
                    self.parameters,
                    self._data,
                    self._work[i],
                    self._n_documents,
                    self._states[i],
                    self._settings,
                    steps,
                    totals[i],
                )

        if threads == 1:
            one(0)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(one, range(threads)))
        total = totals.sum(axis=0)
        drawn = max(1.0, total[kernel.TRIPLES])
        return {
            "train/hinge": float(total[kernel.HINGE] / drawn),
            "train/violated": float(total[kernel.VIOLATED] / drawn),
            "train/skipped": float(total[kernel.SKIPPED]),
        }

    def error(self) -> float:
        """Validation error now; a training that diverges shows in it, not in warnings."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._judge(self.parameters)

    def observed(self) -> Mapping[str, float]:
        """Further measures now; nothing follows from them."""
        with np.errstate(over="ignore", invalid="ignore"):
            return {name: measure(self.parameters) for name, measure in self._observe.items()}


def _pieces(triples: int) -> list[int]:
    return [_PIECE] * (triples // _PIECE) + [triples % _PIECE]


def _work(width: int, words: int) -> Work:
    """Scratch in cache lines of its own: another thread's would take them away at every step."""

    def zeros(rows: int, columns: int) -> Any:
        made = aligned_empty(rows, padded(columns))
        made[:] = 0
        return made[:, :columns]

    return Work(
        zeros(1, width)[0],
        zeros(2, width),
        zeros(1, words)[0],
        zeros(1, 2)[0],
        zeros(1, 2)[0].view(np.int64),
        zeros(1, words)[0],
        Csr(np.zeros(2, np.int64), zeros(1, words)[0].view(np.int32), zeros(1, words)[0]),
    )
