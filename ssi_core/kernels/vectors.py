"""Rows of embeddings in vector registers: the two loops in which a training spends its time.

numba would keep a sum of rows in memory, and wait for each row. Here LLVM is given the loops as
they shall run: a vector for each cache line of a row, so that the sum stays in registers from the
first row to the last, and the rows that come soon are asked for ahead. A row longer than the
registers is worked off in parts.

Callers see to it that embeddings are C-ordered, and their width a multiple of `LINE`. They are
float32, float64, or float16 as uint16, which numba has no type for: those are read and written as
float16 (rounded to nearest), and computed with as float32.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from functools import cache
from typing import Any

import numba
import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

LINE = 16
"""Floats of a cache line."""
_LINE_BYTES = 4 * LINE

_MOST = 7  # lines in registers: 14 of the 16 vectors of AVX2, 28 of the 32 of NEON
_MOST_DOUBLE = 3
_AHEAD = 8  # rows; 4 to 24 are about as fast
_AHEAD_HALF = 12

_HALF = ir.HalfType()
_FLOAT, _INT, _LONG, _BYTE = ir.FloatType(), ir.IntType(32), ir.IntType(64), ir.IntType(8)
_DOUBLE = ir.DoubleType()
_BYTES = {_HALF: 2, _FLOAT: 4, _DOUBLE: 8}
_MAY_FUSE = ("contract", "reassoc", "nsz")

_FLOATS, _INTS = _FLOAT.as_pointer(), _INT.as_pointer()
_ARGUMENTS = {
    "embedding": _BYTE.as_pointer(),
    "width": _LONG,
    "indices": _INTS,
    "weights": _FLOATS,
    "count": _LONG,
    "vector": _BYTE.as_pointer(),
    "scale": _FLOAT,
}
_OWN = {"own": _BYTE.as_pointer(), "owned": _LONG}
"""Further arguments of loops whose first rows lie in an embedding of their own."""


class _Part:
    """The first ``lines`` lines of each row, and of a vector: a function to be written.

    It is called, not inlined: its loop is there once, and numba need not count references to the
    arrays across it.
    """

    def __init__(self, module: ir.Module, name: str, lines: int, stored: Any, own: bool) -> None:
        self.function, self.builder = _function(module, name, own)
        self.lines, self.stored, self.number, self.own = lines, stored, _number(stored), own
        self.values = dict(zip(_arguments(own), self.function.args, strict=True))

    def vector(self) -> list[Any]:
        """Pointers to the lines of the vector."""
        start = self.builder.bitcast(self.values["vector"], self.number.as_pointer())
        return self._pointers(start, self.number)

    def row(self, t: Any) -> list[Any]:
        """Pointers to the lines of row ``indices[t]``."""
        b, values = self.builder, self.values
        i = b.sext(b.load(b.gep(values["indices"], [t])), _LONG)
        start = values["embedding"]
        if self.own:
            start = b.select(b.icmp_signed("<", i, values["owned"]), values["own"], start)
        start = b.bitcast(start, self.stored.as_pointer())
        return self._pointers(b.gep(start, [b.mul(i, values["width"])]), self.stored)

    def _pointers(self, start: Any, number: Any) -> list[Any]:
        b = self.builder
        starts = [b.gep(start, [_LONG(k * LINE)]) for k in range(self.lines)]
        return [b.bitcast(pointer, _vector(number).as_pointer()) for pointer in starts]

    def each_row(self, body: Callable[[Any, list[Any]], None], *, written: bool) -> None:
        """Loop over the rows: ``body(weight everywhere in a vector, lines of the row)``.

        A row that will be ``written`` is asked for alone: no other thread's cache keeps it.
        """
        b, count = self.builder, self.values["count"]
        last = b.sub(count, _LONG(1))
        with cgutils.for_range(b, count) as loop:
            half, double = self.stored is _HALF, self.stored is _DOUBLE
            coming = b.add(loop.index, _LONG(_AHEAD_HALF if half else _AHEAD))
            coming = b.select(b.icmp_signed("<", coming, count), coming, last)
            ahead = self.row(coming)
            # Two vectors of float16 fill a cache line, which need not begin with a row.
            for line in [*ahead[:-1:2], ahead[-1]] if half else ahead:
                _prefetch(b, line, written)
                if double:
                    start = b.bitcast(line, _DOUBLE.as_pointer())
                    _prefetch(b, b.gep(start, [_LONG(LINE // 2)]), written)
            weight = b.load(b.gep(self.values["weights"], [loop.index]))
            weight = b.fpext(weight, _DOUBLE) if double else weight
            body(_everywhere(b, weight), self.row(loop.index))


def _arguments(own: bool) -> dict[str, Any]:
    return _ARGUMENTS | (_OWN if own else {})


def _function(module: ir.Module, name: str, own: bool) -> tuple[Any, ir.IRBuilder]:
    kinds = _arguments(own).values()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [*kinds]), name)
    function.linkage = "linkonce_odr"  # other kernels may bring the same
    function.attributes.add("noinline")
    return function, ir.IRBuilder(function.append_basic_block("entry"))


def _number(stored: Any) -> Any:
    """Return the type that is computed with."""
    return _DOUBLE if stored is _DOUBLE else _FLOAT


def _vector(number: Any) -> Any:
    return ir.VectorType(number, LINE)


def _load(builder: ir.IRBuilder, pointer: Any) -> Any:
    value = builder.load(pointer)
    stored = value.type.element
    value.align = _BYTES[stored]
    return builder.fpext(value, _vector(_FLOAT)) if stored is _HALF else value


def _store(builder: ir.IRBuilder, value: Any, pointer: Any) -> None:
    stored = pointer.type.pointee.element
    value = builder.fptrunc(value, _vector(_HALF)) if stored is _HALF else value
    builder.store(value, pointer).align = _BYTES[stored]


def _everywhere(builder: ir.IRBuilder, value: Any) -> Any:
    nowhere = ir.Constant(_vector(value.type), ir.Undefined)
    once = builder.insert_element(nowhere, value, _INT(0))
    lanes = ir.Constant(ir.VectorType(_INT, LINE), [0] * LINE)
    return builder.shuffle_vector(once, nowhere, lanes)


def _multiply_add(builder: ir.IRBuilder, a: Any, x: Any, y: Any) -> Any:
    return builder.fadd(a, builder.fmul(x, y, flags=_MAY_FUSE), flags=_MAY_FUSE)


def _prefetch(builder: ir.IRBuilder, pointer: Any, written: bool) -> None:
    pointer = builder.bitcast(pointer, _BYTE.as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [pointer.type, _INT, _INT, _INT])
    intrinsic = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(intrinsic, [pointer, _INT(int(written)), _INT(3), _INT(1)])


def _sum(part: _Part) -> None:
    b = part.builder
    vector = _vector(part.number)
    sums = [cgutils.alloca_once(b, vector) for _ in range(part.lines)]
    for total in sums:
        b.store(ir.Constant(vector, [0.0] * LINE), total)

    def add(weight: Any, row: list[Any]) -> None:
        for total, line in zip(sums, row, strict=True):
            b.store(_multiply_add(b, b.load(total), weight, _load(b, line)), total)

    part.each_row(add, written=False)
    for total, line in zip(sums, part.vector(), strict=True):
        _store(b, b.load(total), line)


def _add(part: _Part) -> None:
    b = part.builder
    scale = part.values["scale"]
    scale = _everywhere(b, b.fpext(scale, _DOUBLE) if part.number is _DOUBLE else scale)
    steps = [b.fmul(scale, _load(b, line)) for line in part.vector()]

    def add(weight: Any, row: list[Any]) -> None:
        for step, line in zip(steps, row, strict=True):
            _store(b, _multiply_add(b, _load(b, line), weight, step), line)

    part.each_row(add, written=True)


def _kernel(module: ir.Module, text: Callable[[_Part], None], stored: Any, own: bool) -> Any:
    """Return the function that works off the parts of a row, one after the other."""
    name = f"ssi.rows.{text.__name__}.{stored}{'.own' * own}"
    most = _MOST_DOUBLE if stored is _DOUBLE else _MOST
    if name in module.globals:
        return module.globals[name]
    function, b = _function(module, name, own)
    embedding, width, indices, weights, count, vector, scale, *own_rows = function.args
    lines = b.udiv(width, _LONG(LINE))
    parts = b.udiv(b.add(lines, _LONG(most - 1)), _LONG(most))
    with cgutils.for_range(b, parts) as loop:
        first = b.udiv(b.mul(lines, loop.index), parts)
        end = b.udiv(b.mul(lines, b.add(loop.index, _LONG(1))), parts)
        start = b.mul(first, _LONG(LINE))
        target = b.gep(vector, [b.mul(start, _LONG(_BYTES[_number(stored)]))])
        rest = [width, indices, weights, count, target, scale]
        done = b.append_basic_block()
        choice = b.switch(b.sub(end, first), done)
        for n in range(1, most + 1):
            part = _Part(module, f"{name}.{n}", n, stored, own)
            text(part)
            part.builder.ret_void()
            block = b.append_basic_block()
            choice.add_case(_LONG(n), block)
            b.position_at_end(block)
            offset = [b.mul(start, _LONG(_BYTES[stored]))]
            further = [b.gep(own_rows[0], offset), own_rows[1]] if own else []
            b.call(part.function, [b.gep(embedding, offset), *rest, *further])
            b.branch(done)
        b.position_at_end(done)
    b.ret_void()
    return function


_STORED = {types.uint16: _HALF, types.float32: _FLOAT, types.float64: _DOUBLE}


def _intrinsic(text: Callable[[_Part], None], *, own: bool = False) -> Any:
    def typed(embedding: Any, *arrays: Any) -> Any:
        stored = _STORED.get(embedding.dtype, _FLOAT)
        number = types.float64 if stored is _DOUBLE else types.float32
        held = types.uint16 if stored is _HALF else number
        wanted = (held, types.int32, types.float32, number, held)
        kinds = (embedding, *arrays)
        if any(
            kind.dtype != one or kind.layout != "C"
            for kind, one in zip(kinds, wanted, strict=False)
        ):
            raise TypeError(f"{kinds}; expected C-ordered arrays of {wanted[: len(kinds)]}")
        embedding, indices, weights, vector, *owned = kinds
        numbers = (types.int64, types.int64)
        signature = types.void(embedding, indices, weights, *numbers, vector, types.float32, *owned)

        def codegen(context: Any, b: Any, signature: Any, values: Any) -> Any:
            def array(i: int) -> Any:
                return context.make_array(signature.args[i])(context, b, values[i])

            def raw(i: int) -> Any:
                return b.bitcast(array(i).data, _BYTE.as_pointer())

            first, last, scale = values[3], values[4], values[6]
            width = cgutils.unpack_tuple(b, array(0).shape)[1]
            starts = [b.gep(array(i).data, [first]) for i in (1, 2)]
            given = [raw(0), width, *starts, b.sub(last, first), raw(5), scale]
            if own:
                given += [raw(7), cgutils.unpack_tuple(b, array(7).shape)[0]]
            b.call(_kernel(b.module, text, stored, own), given)
            return context.get_dummy_value()

        return signature, codegen

    if own:

        @intrinsic
        def rows_or_own(
            context: Any,
            embedding: Any,
            indices: Any,
            weights: Any,
            first: Any,
            last: Any,
            vector: Any,
            scale: Any,
            own: Any,
        ) -> Any:
            return typed(embedding, indices, weights, vector, own)

        return rows_or_own

    @intrinsic
    def rows(
        context: Any,
        embedding: Any,
        indices: Any,
        weights: Any,
        first: Any,
        last: Any,
        vector: Any,
        scale: Any,
    ) -> Any:
        return typed(embedding, indices, weights, vector)

    return rows


sum_rows = _intrinsic(_sum)
"""``vector = sum_t weights[t] embedding[indices[t]]``, t from first to last; scale is not used."""

add_to_rows = _intrinsic(_add)
"""``embedding[indices[t]] += scale weights[t] vector``, t from first to last."""

sum_own_rows, add_to_own_rows = _intrinsic(_sum, own=True), _intrinsic(_add, own=True)
"""The same, but the first rows are those of ``own``, a further argument."""


def converts_float16() -> bool:
    """Tell whether the processor that kernels are compiled for converts float16."""
    if numba.config.DISABLE_JIT or platform.machine() not in ("x86_64", "AMD64"):
        return True
    given = numba.config.CPU_FEATURES
    return _host_converts_float16() if given is None else "+f16c" in given


@cache
def _host_converts_float16() -> bool:
    return bool(binding.get_host_cpu_features().get("f16c", False))


@intrinsic
def _widened(_: Any, number: Any) -> Any:
    def codegen(context: Any, b: Any, signature: Any, values: Any) -> Any:
        return b.fpext(b.bitcast(values[0], _HALF), _FLOAT)

    return types.float32(number), codegen


def widened(number: Any) -> Any:
    """Return a number of an embedding as float32; a uint16 has the bits of a float16."""
    if isinstance(number, np.uint16):
        return np.float32(number.view(np.float16))
    return number


@overload(widened, jit_options={"_nrt": False})
def _of_either(number: Any) -> Any:
    def wide(number: Any) -> Any:
        return _widened(number)

    def same(number: Any) -> Any:
        return number

    return wide if number == types.uint16 else same


def _asking(written: bool) -> Any:
    @intrinsic
    def ask(context: Any, rows: Any, row: Any) -> Any:
        size = rows.dtype.bitwidth // 8

        def codegen(context: Any, b: Any, signature: Any, values: Any) -> Any:
            array = context.make_array(signature.args[0])(context, b, values[0])
            length = b.mul(cgutils.unpack_tuple(b, array.shape)[1], _LONG(size))
            start = b.bitcast(array.data, _BYTE.as_pointer())
            start = b.gep(start, [b.mul(values[1], length)])
            lines = b.udiv(b.add(length, _LONG(_LINE_BYTES - 1)), _LONG(_LINE_BYTES))
            with cgutils.for_range(b, lines) as loop:
                _prefetch(b, b.gep(start, [b.mul(loop.index, _LONG(_LINE_BYTES))]), written)
            return context.get_dummy_value()

        return types.void(rows, types.int64), codegen

    return ask


_ask_to_read, _ask_to_write = _asking(False), _asking(True)


def ask_to_read(rows: Any, row: int) -> None:
    """Ask for a row of a C-ordered matrix that will be read soon; without the JIT nothing."""


def ask_to_write(rows: Any, row: int) -> None:
    """Ask for a row of a C-ordered matrix that will be written soon, see `_Part.each_row`."""


@overload(ask_to_read, jit_options={"_nrt": False})
def _reading(rows: Any, row: int) -> Any:
    def compiled(rows: Any, row: int) -> None:
        _ask_to_read(rows, row)

    return compiled


@overload(ask_to_write, jit_options={"_nrt": False})
def _writing(rows: Any, row: int) -> Any:
    def compiled(rows: Any, row: int) -> None:
        _ask_to_write(rows, row)

    return compiled
