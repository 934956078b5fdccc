"""Stochastic gradient descent on triples: one training's kernels, sampler states and threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.kernels.sparse import Csr, aligned_empty, csr, padded, read_only
from ssi_core.kernels.training import sweep as kernel
from ssi_core.kernels.training.changes import mark_words
from ssi_core.kernels.training.pooled import Pool, empty_pool, frequent_words
from ssi_core.kernels.training.structs import (
    HINGE,
    SKIPPED,
    TRIPLES,
    VIOLATED,
    Data,
    Parameters,
    Settings,
    Stepped,
    Turn,
    Work,
)
from ssi_core.kernels.training.sweep import Taker
from ssi_core.training.descend import SAMPLERS
from ssi_core.training.private import PrivateRows, worth_while
from ssi_core.types import Float64, Int32, Int64, Pairs, Task, Texts


def excluded(task: Task) -> sparse.csr_array:
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
    never = excluded(task)
    seen: dict[tuple[int, str], Any] = {}

    def rows(texts: Texts, name: str) -> Any:
        if (id(texts), name) not in seen:
            seen[id(texts), name] = csr(texts.matrix(name))
        return seen[id(texts), name]

    shown = task.train.shown
    times = np.bincount(shown.query, np.diff(shown.start), len(task.queries))
    return Data.of(
        rows(task.queries, view),
        rows(task.documents, view),
        rows(task.queries, diagonal_view),
        rows(task.documents, diagonal_view),
        by_weight(task.train),
        never.indptr.astype(np.int64),
        never.indices.astype(np.int32),
        np.concatenate([[0], np.cumsum(times)]).astype(np.int64),
        shown.documents,
    )


def by_weight(pairs: Pairs) -> Int32:
    """Rows of pairs, each as often as its weight says: a uniform draw is then one by weight.

    Systematic resampling: 16 places for a pair of the mean weight (fewer of many pairs), so that
    weights are kept to 1 / 16 of the mean. Pairs of equal weights come back as they are.
    """
    rows = np.ascontiguousarray(pairs.rows)
    if not len(pairs) or np.ptp(pairs.weight) == 0:
        return rows
    return np.repeat(rows, _times(pairs.weight), axis=0)


def in_runs(data: Data) -> Data:
    """Return the data with the pairs of a query side by side, in runs of at most `_RUN`.

    What is drawn uniformly is a run, so that each pair is as likely as before. Which pairs of a
    query make a run is random, once for all.
    """
    order = np.random.default_rng(0).permutation(len(data.pairs))
    pairs = data.pairs[order[np.argsort(data.pairs[order, 0], kind="stable")]]
    first = np.searchsorted(pairs[:, 0], pairs[:, 0])  # pair of the query
    runs = np.flatnonzero((np.arange(len(pairs)) - first) % _RUN == 0)
    return data._replace(pairs=read_only(pairs), runs=read_only(np.append(runs, len(pairs))))


def by_in_degree(task: Task, power: float) -> Int32:
    """Rows of documents, each as often as ``(1 + n)^power`` says, of n training pairs to it.

    A uniform draw of them is then one by that weight, as of `by_weight`.
    """
    return np.repeat(np.arange(len(task.documents), dtype=np.int32), _times(_weights(task, power)))


def held_out_hits(task: Task, power: float) -> float:
    """Return how often a d- is in truth a pair of the query that validation holds out, 0..1.

    It is the expectation over training pairs, of d- drawn by ``(1 + n)^power``.
    """
    weights = _weights(task, power)
    weights = weights / weights.sum()
    size = len(task.queries)
    held_out = np.bincount(task.valid.rows[:, 0], weights[task.valid.rows[:, 1]], size)
    left = 1 - excluded(task).astype(np.float64) @ weights
    queries = np.bincount(task.train.rows[:, 0], minlength=size)
    return float(queries @ (held_out / np.maximum(left, 1e-12)) / max(1, queries.sum()))


def _weights(task: Task, power: float) -> Float64:
    pairs = np.bincount(task.train.rows[:, 1], minlength=len(task.documents))
    return np.asarray((1.0 + pairs) ** power, np.float64)


def _times(weights: NDArray[np.floating[Any]]) -> Int64:
    """Return how often each is repeated: 16 times one of the mean weight, fewer times of many."""
    slots = len(weights) * max(1, min(16, _MOST_PLACES // len(weights)))
    ends = np.cumsum(weights, dtype=np.float64)
    times: Int64 = np.diff(np.floor(ends * (slots / ends[-1]) + 0.5), prepend=0).astype(np.int64)
    return times


def memory_by_weight(pairs: Pairs) -> int:
    """Return the most bytes of pairs that are repeated by their weights."""
    return 150 * len(pairs) if len(pairs) and np.ptp(pairs.weight) > 0 else 0


def sorted_pairs_bytes(pairs: Pairs) -> int:
    """Return the most bytes of `in_runs`."""
    return 40 * len(pairs) + 4 * memory_by_weight(pairs)


_MOST_PLACES = 1 << 24


_RUN = 8
"""Pairs of a query that follow each other in a block."""

_LARGE = 64 << 20
"""Bytes of a map from which it is worth while to know which of its rows changed."""

_PIECE = 1000
"""Triples that one of several threads takes at a time; a block ends with them, too."""


@dataclass(frozen=True)
class Group:
    """Objectives that share a triple.

    Attributes
    ----------
    kernels : Group
        Form, diagonal, how d- is drawn, whether there is a second objective.
    parameters : Parameters
        Changed in place; groups may share arrays.
    data, settings : Data, Settings
        Of the sweep.
    n_documents : int
        d- is drawn from 0..n_documents-1.
    seed : int
        Of the sampler; every thread has its own stream.
    """

    kernels: kernel.Group
    parameters: Parameters
    data: Data
    settings: Settings
    n_documents: int
    seed: int

    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Live arrays of the parameters."""
        p = self.parameters
        arrays = {"U": p.U, "V": p.V, "diagonal": p.diagonal, "second": p.second}
        arrays["W"] = p.W.data if isinstance(p.W, Csr) else p.W
        if p.squares is not None:
            arrays |= {"squares_U": p.squares.U, "squares_V": p.squares.V}
        return {name: array for name, array in arrays.items() if array is not None}

    def maps(self, marks: Stepped) -> Iterator[tuple[Any, Any, Csr | None]]:
        """Yield arrays, the marks of their texts, and the words of these that are their rows.

        Words are None where a text has a row of its own.
        """
        p, per_document = self.parameters, self.kernels.form == "per_document"
        documents = None if per_document else self.data.documents
        yield p.U, marks.queries, self.data.queries
        yield p.V, marks.documents, documents
        if p.squares is not None:
            yield p.squares.U, marks.queries, self.data.queries
            yield p.squares.V, marks.documents, documents
        if p.second is not None:
            yield p.second, marks.documents, self.data.documents


class Sgd:
    """Sweeps over triples, in turn of each group of objectives (a `descend.Trainee`).

    Parameters
    ----------
    groups : mapping
        Name -> group; the first, "", is judged. Other names begin those of arrays and measures.
    words : int
        Width of the widest view.
    threads : int
        1 is exact; more share the parameters without a lock (Hogwild), but for the most frequent
        words of ``U'V`` (`private.PrivateRows`).
    judge : callable
        Validation error of parameters.
    observe : mapping or None
        Name -> measure of parameters that curves are to show.
    """

    def __init__(
        self,
        groups: Mapping[str, Group],
        *,
        words: int,
        threads: int,
        judge: Callable[[Parameters], float],
        observe: Mapping[str, Callable[[Parameters], float]] | None = None,
    ) -> None:
        self.groups = {f"{name}_" if name else "": group for name, group in groups.items()}
        self.parameters = self.groups[""].parameters
        self._judge, self._observe = judge, observe or {}
        # A row of 8 keeps the states of two threads on different cache lines.
        self._states = np.zeros((threads, len(groups), 8), np.uint64)
        self._seed()
        self._totals = np.zeros_like(self._states, np.float64)
        self._stepped = [
            Stepped.none_of(group.data, group.n_documents) for group in groups.values()
        ]
        self._work = [_work(self.parameters.U.shape[1], words) for _ in range(threads)]
        first = self.groups[""].kernels
        if first.block and first.form == "low_rank":
            pools = _pools(self.groups[""], words, threads)
            self._work = [w._replace(pool=p) for w, p in zip(self._work, pools, strict=True)]

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Live arrays: parameters and sampler states; what is shared is there once."""
        arrays: dict[str, NDArray[Any]] = {SAMPLERS: self._states}
        for prefix, group in self.groups.items():
            for name, array in group.arrays().items():
                if not any(array is other for other in arrays.values()):
                    arrays[f"{prefix}{name}"] = array
        return arrays

    def changed(self, least: int | None = None) -> Mapping[str, NDArray[np.bool_]]:
        """Return the rows that steps since the last call were taken with.

        Parameters
        ----------
        least : int or None
            Bytes of the smallest maps that are looked at; None: of large ones.
        """
        least = _LARGE if least is None else least
        names = {id(a): name for name, a in self.arrays.items() if a.nbytes >= least}
        marks: dict[str, NDArray[np.bool_]] = {}
        for group, stepped in zip(self.groups.values(), self._stepped, strict=True):
            for array, texts, rows in group.maps(stepped):
                if (name := names.get(id(array))) is not None:
                    one = marks.setdefault(name, np.zeros(len(array), np.bool_))
                    if rows is None:
                        one |= texts
                    else:
                        mark_words(texts, rows.indptr, rows.indices, one)
            stepped.queries[:] = stepped.documents[:] = False
        return marks

    def reseed(self, triples: int) -> None:
        """Seed the samplers of all threads anew, with none of the states that they began with."""
        self._seed(triples)

    def slow(self) -> None:
        """Go on with a third of the rates."""
        third = np.float32(1 / 3)
        for name, group in self.groups.items():
            now = group.settings
            rate, diagonal_rate = third * now.rate, third * now.diagonal_rate
            settings = now._replace(rate=rate, diagonal_rate=diagonal_rate)
            self.groups[name] = replace(group, settings=settings)
        vars(self).pop("_takers", None)  # they hold the rates that they began with

    def _seed(self, *further: int) -> None:
        for number, group in enumerate(self.groups.values()):
            sequence = np.random.SeedSequence([group.seed, *further] if further else group.seed)
            self._states[:, number, 0] = sequence.generate_state(len(self._states), np.uint64)

    def sweep(self, triples: int) -> Mapping[str, float]:
        """Draw so many triples of each group on all threads; see `_measures`."""
        threads = len(self._work)
        in_pieces = threads > 1 or self.groups[""].kernels.block
        # A thread that has to wait for its core takes fewer pieces.
        pieces = iter(_pieces(triples) if in_pieces else [triples])
        self._totals[:] = 0

        def one(take: Taker) -> None:
            for steps in pieces:
                take(steps)

        if threads == 1:
            one(self._takers[0])
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(one, self._takers))
        return dict(self._measures(self._totals.sum(axis=0)))

    @cached_property
    def _takers(self) -> list[Taker]:
        """The sweep of each thread; its kernels are compiled when the first begins."""
        groups, threads = list(self.groups.values()), len(self._work)
        first = groups[0]
        alone = len(groups) == 1 and threads > 1
        if alone and worth_while(first.kernels, first.data, threads, _PIECE):
            rows = PrivateRows(first.parameters, threads)
            kernels = first.kernels._replace(form="low_rank_private")
            mine = [replace(first, kernels=kernels, parameters=one) for one in rows.parameters]
            return [rows.exchanging(n, self._taker(n, [group])) for n, group in enumerate(mine)]
        return [self._taker(thread, groups) for thread in range(threads)]

    def _taker(self, thread: int, groups: Sequence[Group]) -> Taker:
        turns = [
            Turn(
                group.parameters,
                group.data,
                self._work[thread],
                group.n_documents,
                self._states[thread, number],
                group.settings,
                self._totals[thread, number],
                self._stepped[number],
            )
            for number, group in enumerate(groups)
        ]
        return kernel.sweep_of(*(group.kernels for group in groups))(turns)

    def _measures(self, totals: NDArray[np.float64]) -> Iterator[tuple[str, float]]:
        """Yield the rate, the mean hinge and the share of violated ones of each group; skipped."""
        yield "train/skipped", float(totals[:, SKIPPED].sum())
        for (prefix, group), total in zip(self.groups.items(), totals, strict=True):
            drawn = max(1.0, total[TRIPLES])
            yield f"train/{prefix}rate", float(group.settings.rate)
            yield f"train/{prefix}hinge", float(total[HINGE] / drawn)
            yield f"train/{prefix}violated", float(total[VIOLATED] / drawn)

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


def _pools(group: Group, words: int, threads: int) -> list[Pool]:
    """Return a pool for each thread; all keep products of pairs together, where these are fixed."""
    fixed = group.kernels.diagonal == "alpha"
    rows = group.data.diagonal_documents
    longest, frequent = int(np.diff(rows.indptr).max(initial=0)), frequent_words(rows)
    kept = np.full(len(group.data.pairs) if fixed else 0, np.nan, np.float32)
    negatives, width = int(group.settings.negatives), group.parameters.V.shape[1]
    return [empty_pool(negatives, width, words, longest, frequent, kept) for _ in range(threads)]


def _work(width: int, words: int) -> Work:
    """Return scratch in cache lines of its own: another thread's would take them away."""

    def zeros(rows: int, columns: int) -> Any:
        array = aligned_empty(rows, padded(columns))
        array[:] = 0
        return array[:, :columns]

    return Work(
        zeros(1, width)[0],
        zeros(2, width),
        zeros(1, words)[0],
        zeros(1, 2)[0],
        zeros(1, 2)[0].view(np.int64),
        zeros(1, words)[0],
        Csr(np.zeros(2, np.int64), zeros(1, words)[0].view(np.int32), zeros(1, words)[0]),
        zeros(1, width)[0],
    )
