"""The training sweep: draw triples, test the margin, step. One text serves every model.

Objectives of one `Group` share a triple and step together from the old values; groups take turns.
The sweep of a group closes over the kernels of its form and diagonal, which numba compiles into
one loop. It is called from Python by its address: what takes arguments of Python apart is compiled
for their types, once for all sweeps, for an entry of its own is a quarter of a sweep's compilation,
and each set of sweeps would be a compilation more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic
from numpy.typing import NDArray

from ssi_core.kernels import jit, part
from ssi_core.kernels.sparse import contains, dot, gather, scatter
from ssi_core.kernels.training.block import sweep_in_blocks
from ssi_core.kernels.training.forms import DIAGONALS, FORMS, free_direction, free_vectors_step
from ssi_core.kernels.training.pair_runs import sweep_in_runs
from ssi_core.kernels.training.random import below
from ssi_core.kernels.training.structs import (
    HINGE,
    SKIPPED,
    TRIPLES,
    VIOLATED,
    Data,
    Parameters,
    Settings,
    Turn,
    Work,
)
from ssi_core.kernels.training.warp import rank_weight

_DRAWS = 1000  # a query that is linked to nearly every document is given up after so many
SHARES = 1 << 20
"""Draws of which `draw_hard` takes ``data.share`` from a list."""
Taker = Callable[[int], None]
"""Takes so many steps of all parts in turn."""


@jit
def draw_negative(data: Data, n_documents: int, q: int, state: NDArray[np.uint64]) -> int:
    """Draw a uniform document that is not excluded for query ``q``; -1 when none is found."""
    for _ in range(_DRAWS):
        d = below(state, n_documents)
        if not contains(data.barred_indptr, data.barred_indices, q, d):
            return d
    return -1


@jit
def draw_weighted(data: Data, n_documents: int, q: int, state: NDArray[np.uint64]) -> Any:
    """Draw from ``data.candidates`` a document that is not barred for ``q``; -1: none found."""
    for _ in range(_DRAWS):
        d: Any = np.int64(data.candidates[below(state, data.candidates.shape[0])])
        if not contains(data.barred_indptr, data.barred_indices, q, d):
            return d
    return np.int64(-1)


@jit
def draw_shown(data: Data, n_documents: int, q: int, state: NDArray[np.uint64]) -> Any:
    """Draw from what was shown to query ``q`` (`types.Pairs`); any document where nothing was."""
    first, last = data.shown_indptr[q], data.shown_indptr[q + 1]
    if first == last:
        return draw_negative(data, n_documents, q, state)
    return np.int64(data.shown[first + below(state, last - first)])


@jit
def draw_hard(data: Data, n_documents: int, q: int, state: NDArray[np.uint64]) -> Any:
    """Draw a share of the time from what query ``q`` lists; else, and where nothing is, any."""
    first, last = data.shown_indptr[q], data.shown_indptr[q + 1]
    if first == last or below(state, SHARES) >= data.share[0]:
        return draw_negative(data, n_documents, q, state)
    return np.int64(data.shown[first + below(state, last - first)])


class Group(NamedTuple):
    """Objectives that share a triple: the first, and whether there is a second.

    Attributes
    ----------
    form, diagonal : str
        Keys of `FORMS` and `DIAGONALS`, of the first objective.
    draw : `draw_negative`, `draw_weighted`, `draw_shown` or `draw_hard`
        Kernel that draws negatives.
    second : bool
        Of a group of the form "per_document": both objectives have the map of queries U and the
        diagonal; the documents of the second have the map ``parameters.second``.
    block : bool
        Of a group of the form "low_rank" whose draw is one for all queries: pairs share the
        documents d- of their block (`block`). Of a group of a form of `pair_runs`, with any draw:
        the rows of a query are met once for a run of its pairs.
    """

    form: str
    diagonal: str
    draw: Callable[..., Any] = draw_negative
    second: bool = False
    block: bool = False


def sweep_of(*groups: Group) -> Callable[[Sequence[Turn]], Taker]:
    """Return ``begin(turns)``, which returns ``take(steps)``: groups take turns, each with its own.

    A turn draws a training pair uniformly and up to ``settings.negatives`` documents d-, until one
    violates ``f(q, d+) > f(q, d-) + margin``, tested with the whole f. A step is taken with the
    values before it; what groups share, such as an array of their parameters, each finds as the
    one before has left it.
    """
    return partial(begin, tuple(kernel_of(group) for group in groups))


@cache
def kernel_of(group: Group) -> Callable[..., None]:
    """Return the sweep of one group, ``sweep(turn, steps)``; it has no entry from Python."""
    if group.block and group.form != "low_rank":
        return sweep_in_runs(group.form, group.diagonal, group.draw)
    if group.block:
        return sweep_in_blocks(group.diagonal, weighted=group.draw is draw_weighted)
    form_query, form_document, form_step = FORMS[group.form]
    diagonal_query, diagonal_document, diagonal_step, diagonal_clear = DIAGONALS[group.diagonal]
    draw, second = group.draw, group.second
    step_of_both: Any = _both(diagonal_step) if second else None

    @part
    def sweep(turn: Turn, steps: int) -> None:
        parameters, data, work, n_documents, state, settings, totals, stepped = turn
        # Numbers, for numba compiles what it calls once for each literal.
        zero: Any = np.int64(0)
        one: Any = np.int64(1)
        for _ in range(steps):
            pair = below(state, data.pairs.shape[0])
            # int64 like n, so that nothing is compiled twice
            q: Any = np.int64(data.pairs[pair, 0])
            p: Any = np.int64(data.pairs[pair, 1])
            n: Any = np.int64(-1)
            form_query(parameters, data, work, q)
            diagonal_query(parameters, data, work, q)
            same = diagonal_document(parameters, data, work, p, zero)
            positive = form_document(parameters, data, work, p, zero) + same
            hinge = other = np.float32(0)
            tried = 0
            for trial in range(settings.negatives):
                drawn = draw(data, n_documents, q, state)
                if drawn < 0:
                    break
                n, tried = drawn, trial + 1
                score = form_document(parameters, data, work, n, one)
                other = diagonal_document(parameters, data, work, n, one)
                hinge = settings.margin - positive + score + other
                if trial == 0:
                    totals[HINGE] += max(0.0, hinge)
                if hinge > 0:
                    totals[VIOLATED] += 1
                    break
            if n < 0:
                totals[SKIPPED] += 1
            elif second or hinge > 0:
                stepped.queries[q] = stepped.documents[p] = stepped.documents[n] = True
                rate, diagonal_rate = settings.rate, settings.diagonal_rate
                if settings.warp:
                    weight = rank_weight(n_documents, tried)
                    rate, diagonal_rate = weight * rate, weight * diagonal_rate
                if second:
                    rates, behind = (rate, diagonal_rate), settings.margin - same + other
                    step_of_both(parameters, data, work, settings, q, p, n, hinge, behind, rates)
                else:
                    form_step(parameters, data, work, q, p, n, rate)
                    diagonal_step(parameters, data, work, q, p, n, diagonal_rate)
            diagonal_clear(data, work, q)
        totals[TRIPLES] += steps

    return sweep


def _both(diagonal_step: Callable[..., None]) -> Callable[..., None]:
    """Return the step of two objectives on a triple, each with a hinge, that share U.

    ::

        max(0, m - f(q, d+) + f(q, d-)),   f(q, d) = (U q)' v_d       + sum_i diag_i q_i d_i
        max(0, m - g(q, d+) + g(q, d-)),   g(q, d) = (U q)' second d  + sum_i diag_i q_i d_i

    The second has a weight. d- is the first of up to ``negatives`` that violates f, or the last.
    """

    @part
    def step(
        parameters: Parameters,
        data: Data,
        work: Work,
        settings: Settings,
        q: int,
        p: int,
        n: int,
        hinge: np.float32,
        behind: np.float32,
        rates: tuple[np.float32, np.float32],
    ) -> None:
        rate, diagonal_rate = rates
        if settings.second > 0:
            for slot in range(2):
                gather(parameters.second, data.documents, n if slot else p, work.documents[slot])
                score = dot(work.query, work.documents[slot])
                behind += score if slot else -score
        else:
            behind = np.float32(0)
        if hinge > 0:
            free_direction(parameters, work, p, n)
            free_vectors_step(parameters, work, p, n, rate)
            diagonal_step(parameters, data, work, q, p, n, diagonal_rate)
        else:
            work.direction[:] = 0
        if behind > 0:
            _add_difference(work, settings.second)
            scale = rate * settings.second
            for slot in range(2):
                signed = -scale if slot else scale
                scatter(parameters.second, data.documents, n if slot else p, signed, work.query)
            diagonal_step(parameters, data, work, q, p, n, diagonal_rate * settings.second)
        if hinge > 0 or behind > 0:
            scatter(parameters.U, data.queries, q, rate, work.direction)

    return step


@part
def _add_difference(work: Work, weight: np.float32) -> None:
    """Add ``weight second (d+ - d-)`` to the direction of U."""
    for r in range(work.direction.shape[0]):
        work.direction[r] += weight * (work.documents[0, r] - work.documents[1, r])


def begin(parts: Sequence[Callable[..., None]], turns: Sequence[Any]) -> Taker:
    """Return ``take(steps)``: so often each part takes a step with its turn, one after the other.

    Parameters
    ----------
    parts : sequence of kernels
        ``part(turn, steps)``, compiled by `kernels.part`.
    turns : sequence
        Arguments of the parts, the same for all steps.
    """
    pairs = list(zip(parts, turns, strict=True))

    def shares(steps: int) -> tuple[int, int]:
        # One alone need not be called for each step.
        return (1, steps) if len(pairs) == 1 else (steps, 1)

    if numba.config.DISABLE_JIT:
        return lambda steps: _as_python(pairs, *shares(steps))
    addresses = np.array([_address(part, turn) for part, turn in pairs], np.int64)
    arguments = tuple(turns)

    def take(steps: int) -> None:
        _take(addresses, arguments, *shares(steps))

    return take


def _as_python(pairs: Sequence[tuple[Callable[..., None], Any]], times: int, steps: int) -> None:
    for _ in range(times):
        for sweep, turn in pairs:
            sweep(turn, steps)


def _address(part: Any, turn: Any) -> int:
    """Return where the machine code of a part is, for a turn of this type."""
    kinds = (numba.typeof(turn), types.int64)
    dispatcher: Dispatcher = part
    dispatcher.compile(kinds)
    compiled = dispatcher.overloads[kinds]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))


@jit
def _take(addresses: NDArray[np.int64], turns: Any, times: int, steps: int) -> None:
    for _ in range(times):
        _call_each(addresses, turns, steps)


@intrinsic
def _call_each(_: Any, addresses: Any, turns: Any, steps: Any) -> Any:
    """Call the part at each address with its turn and the number of steps."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind_of_addresses, kinds_of_turns, kind_of_steps = signature.args
        pointers = context.make_array(kind_of_addresses)(context, builder, arguments[0]).data
        for number, kind in enumerate(kinds_of_turns):
            kinds = (kind, kind_of_steps)
            function = context.call_conv.get_function_type(types.none, kinds)
            address = builder.load(builder.gep(pointers, [ir.IntType(64)(number)]))
            status, _ = context.call_conv.call_function(
                builder,
                builder.inttoptr(address, function.as_pointer()),
                types.none,
                kinds,
                [builder.extract_value(arguments[1], number), arguments[2]],
            )
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.none(addresses, turns, steps), generate
