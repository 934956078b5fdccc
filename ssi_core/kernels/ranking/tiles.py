"""Inner products of a few documents with many queries, summed up in vector registers.

BLAS packs both matrices anew for each call, which costs more than the products where rows are
short. Here a tile of documents times `LANES` queries stays in registers from the first dimension to
the last: a document is read once, in place, and a score has the same bits wherever it stands.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numba
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from ssi_core.kernels.vectors import widened

LANES = 32
"""Queries of a tile."""

_HALF, _FLOAT, _LONG, _INT = ir.HalfType(), ir.FloatType(), ir.IntType(64), ir.IntType(32)
_LINE = 16
_VECTOR = ir.VectorType(_FLOAT, _LINE)
_FLOATS, _BYTES = _FLOAT.as_pointer(), ir.IntType(8).as_pointer()
_MAY_FUSE = ("contract",)


def _wide() -> bool:
    """Tell whether the processor that kernels are compiled for has 32 vectors of 16 floats."""
    given = numba.config.CPU_FEATURES
    if given is None:
        return bool(binding.get_host_cpu_features().get("avx512f", False))
    return "+avx512f" in given


ROWS = 12 if _wide() else 3
"""Documents of a tile: 24 of the 32 vectors of AVX-512, 12 of the 16 of AVX2."""


def tile(documents: Any, first: int, last: int, queries: Any, scores: Any) -> None:
    """Write the inner products of `ROWS` documents with all queries.

    Parameters
    ----------
    documents : float32 or uint16 (n, dimensions)
        uint16 has the bits of float16.
    first, last : int
        Documents ``first:first + ROWS``; the document before ``last`` stands in for those behind.
    queries : float32 (dimensions, LANES)
        Query vectors, one in each column.
    scores : float32 (ROWS or more, LANES)
        Written.
    """
    for i in range(ROWS):
        row = documents[min(first + i, last - 1)]
        scores[i] = 0
        for r in range(len(row)):
            scores[i] += widened(row[r]) * queries[r]


def add_to_lanes(scores: Any, value: Any, weights: Any) -> None:
    """Add ``value weights`` to `LANES` scores: a word of a document, for all queries.

    The product is rounded before it is added, as for one query alone.
    """
    scores += value * weights


def any_above(scores: Any, bars: Any) -> bool:
    """Tell whether one of `LANES` scores is above its bar."""
    return bool((scores > bars).any())


@overload(tile, jit_options={"_nrt": False})
def _compiled(documents: Any, first: int, last: int, queries: Any, scores: Any) -> Any:
    def compiled(documents: Any, first: int, last: int, queries: Any, scores: Any) -> None:
        _tile(documents, first, last, queries, scores)

    return compiled


@overload(add_to_lanes, jit_options={"_nrt": False})
def _added(scores: Any, value: Any, weights: Any) -> Any:
    def added(scores: Any, value: Any, weights: Any) -> None:
        _add_to_lanes(scores, value, weights)

    return added


@overload(any_above, jit_options={"_nrt": False})
def _compared(scores: Any, bars: Any) -> Any:
    def compared(scores: Any, bars: Any) -> Any:
        return _any_above(scores, bars)

    return compared


def _refuse_others(*kinds: Any) -> None:
    if {(kind.dtype, kind.layout) for kind in kinds} != {(types.float32, "C")}:
        raise TypeError(f"{kinds}; expected C-ordered arrays of float32")


@intrinsic
def _tile(context: Any, documents: Any, first: Any, last: Any, queries: Any, scores: Any) -> Any:
    _refuse_others(queries, scores)
    stored = _HALF if documents.dtype == types.uint16 else _FLOAT
    if stored is _FLOAT or documents.layout != "C":
        _refuse_others(documents)

    def codegen(context: Any, b: Any, signature: Any, values: Any) -> Any:
        arrays = [context.make_array(signature.args[i])(context, b, values[i]) for i in (0, 3, 4)]
        width = cgutils.unpack_tuple(b, arrays[0].shape)[1]
        end, rows = b.sub(values[2], _LONG(1)), b.bitcast(arrays[0].data, stored.as_pointer())
        given = [rows, width, values[1], end, arrays[1].data, arrays[2].data]
        b.call(_function(b.module, stored), given)
        return context.get_dummy_value()

    return types.void(documents, types.int64, types.int64, queries, scores), codegen


@intrinsic
def _add_to_lanes(context: Any, scores: Any, value: Any, weights: Any) -> Any:
    _refuse_others(scores, weights)

    def codegen(context: Any, b: Any, signature: Any, values: Any) -> Any:
        scores, weights = (
            context.make_array(signature.args[i])(context, b, values[i]).data for i in (0, 2)
        )
        pointers, factor = _pointers(b, scores), _everywhere(b, values[1])
        for pointer, weight in zip(pointers, _lines(b, weights), strict=True):
            total = b.fadd(b.load(pointer, align=4), b.fmul(factor, weight))
            b.store(total, pointer, align=4)
        return context.get_dummy_value()

    return types.void(scores, types.float32, weights), codegen


@intrinsic
def _any_above(context: Any, scores: Any, bars: Any) -> Any:
    _refuse_others(scores, bars)

    def codegen(context: Any, b: Any, signature: Any, values: Any) -> Any:
        kinds = zip(signature.args, values, strict=True)
        scores, bars = (_lines(b, context.make_array(t)(context, b, v).data) for t, v in kinds)
        pairs = zip(scores, bars, strict=True)
        above = [b.bitcast(b.fcmp_ordered(">", *pair), ir.IntType(_LINE)) for pair in pairs]
        return b.icmp_unsigned("!=", reduce(b.or_, above), ir.IntType(_LINE)(0))

    return types.boolean(scores, bars), codegen


def _function(module: ir.Module, stored: Any) -> Any:
    """Return the function, which is called and not inlined: see `vectors`."""
    name = f"ssi.tile.{stored}"
    if name in module.globals:
        return module.globals[name]
    kinds = [stored.as_pointer(), _LONG, _LONG, _LONG, _FLOATS, _FLOATS]
    kind = ir.FunctionType(ir.VoidType(), kinds)
    function = ir.Function(module, kind, name)
    function.linkage = "linkonce_odr"
    function.attributes.add("noinline")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    documents, width, first, end, queries, scores = function.args
    rows, sums = [], []
    for i in range(ROWS):
        nearest = b.add(first, _LONG(i))
        nearest = b.select(b.icmp_signed("<", nearest, end), nearest, end)
        rows.append(b.gep(documents, [b.mul(nearest, width)]))
        sums.append([cgutils.alloca_once(b, _VECTOR) for _ in range(0, LANES, _LINE)])
        for total in sums[-1]:
            b.store(ir.Constant(_VECTOR, [0.0] * _LINE), total)
    coming = b.gep(documents, [b.mul(b.add(first, _LONG(ROWS)), width)])
    with cgutils.for_range(b, width) as loop:
        _ask(b, b.gep(coming, [b.mul(loop.index, _LONG(ROWS))]))
        query = _lines(b, b.gep(queries, [b.mul(loop.index, _LONG(LANES))]))
        for row, totals in zip(rows, sums, strict=True):
            value = b.load(b.gep(row, [loop.index]))
            number = _everywhere(b, b.fpext(value, _FLOAT) if stored is _HALF else value)
            for total, line in zip(totals, query, strict=True):
                product = b.fmul(number, line, flags=_MAY_FUSE)
                b.store(b.fadd(b.load(total), product, flags=_MAY_FUSE), total)
    for i, totals in enumerate(sums):
        pointers = _pointers(b, b.gep(scores, [_LONG(i * LANES)]))
        for total, pointer in zip(totals, pointers, strict=True):
            b.store(b.load(total), pointer, align=4)
    b.ret_void()
    return function


def _ask(builder: ir.IRBuilder, pointer: Any) -> None:
    """Ask for a cache line that will be read soon; there need not be one."""
    pointer = builder.bitcast(pointer, _BYTES)
    kind = ir.FunctionType(ir.VoidType(), [pointer.type, _INT, _INT, _INT])
    prefetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(prefetch, [pointer, _INT(0), _INT(3), _INT(1)])


def _pointers(builder: ir.IRBuilder, start: Any) -> list[Any]:
    """Return pointers to the vectors of `LANES` numbers."""
    starts = [builder.gep(start, [_LONG(lane)]) for lane in range(0, LANES, _LINE)]
    return [builder.bitcast(pointer, _VECTOR.as_pointer()) for pointer in starts]


def _lines(builder: ir.IRBuilder, start: Any) -> list[Any]:
    """Return the vectors of `LANES` numbers."""
    return [builder.load(pointer, align=4) for pointer in _pointers(builder, start)]


def _everywhere(builder: ir.IRBuilder, value: Any) -> Any:
    nowhere = ir.Constant(_VECTOR, ir.Undefined)
    once = builder.insert_element(nowhere, value, _INT(0))
    lanes = ir.Constant(ir.VectorType(_INT, _LINE), [0] * _LINE)
    return builder.shuffle_vector(once, nowhere, lanes)
