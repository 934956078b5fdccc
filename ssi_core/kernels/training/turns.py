"""Parts that take turns, each with arguments of its own, called from Python by their addresses.

What takes arguments of Python apart is compiled for their types, once for all parts: an entry of
its own is a quarter of a sweep's compilation, and each set of sweeps would be a compilation more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic
from numpy.typing import NDArray

from ssi_core.kernels import jit

Taker = Callable[[int], None]
"""Takes so many steps of all parts in turn."""


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
        for part, turn in pairs:
            part(turn, steps)


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
