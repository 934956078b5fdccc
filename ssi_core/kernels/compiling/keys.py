"""Name all that the machine code of a kernel follows from.

A *build* is what all kernels of a process share: the sources of this package, versions, processor
and options. A *key* is of one kernel and one signature: the code of the function, its constants,
and the same of each function that it closes over or finds among its globals.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite
import numba
import numpy as np
from numba import types
from numba.core.dispatcher import Dispatcher


class NoKey(Exception):
    """A kernel depends on a value that has no text: it is compiled in every process."""


def source_digest() -> str:
    """Return a digest of the files of all kernels, as they are now."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parents[1].rglob("*.py")):
        digest.update(f"{file.name}\n".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


SOURCES = source_digest()
"""The files as they were imported; a later edit is not what this process compiles."""


def versions() -> tuple[str, ...]:
    """Return the versions of Python and of the libraries that compile kernels."""
    return platform.python_version(), numba.__version__, llvmlite.__version__, np.__version__


# What only says where, how many or how to show; any other option counts, also one not yet known.
_NO_MATTER = ("CUDA_", "CACHE_", "THREADING_", "NUMBA_", "COLOR_", "SHOW_", "GDB_", "DEBUG_CACHE")


def build(processor: tuple[str, ...]) -> str:
    """Return the name of a build.

    Parameters
    ----------
    processor : tuple of str
        Triple, name and features that code is made for: numba's ``codegen().magic_tuple()``.
    """
    options = {
        name: repr(getattr(numba.config, name))
        for name in sorted(dir(numba.config))
        if name.isupper() and not name.startswith(_NO_MATTER)
    }
    return _digest(SOURCES, versions(), tuple(processor), options)


def key(kernel: Dispatcher, arguments: tuple[Any, ...], result: Any) -> str:
    """Return the name of a kernel's code for types of arguments and, if it was given, of a result.

    Raises
    ------
    NoKey
        It depends on something whose value cannot be told.
    """
    kinds = tuple(_type(kind) for kind in (*arguments, *([] if result is None else [result])))
    return _digest(_value(kernel, {}), kinds, result is None)


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _type(kind: types.Type) -> object:
    """Return the text of a type; named tuples are told by their classes."""
    text = str(kind)
    if " at 0x" in text:
        raise NoKey(f"a type that is known by its address: {type(kind)}")
    named = getattr(kind, "instance_class", None)
    parts = kind.types if isinstance(kind, types.BaseTuple) else ()
    return (
        text,
        None if named is None else (named.__module__, named.__qualname__, named._fields),
        tuple(_type(part) for part in parts),
    )


_PLAIN = (bool, int, float, complex, str, bytes, np.generic, np.dtype, type(None), type(Ellipsis))
_KNOWN = frozenset({"builtins", "math", "numpy", "numba"})
_KERNELS = "ssi_core.kernels."
"""Package whose sources are part of a build."""


def _value(value: Any, seen: dict[int, int]) -> object:
    """Return the text of a value that code refers to; ``seen`` numbers the functions above it."""
    if isinstance(value, _PLAIN):
        return type(value).__name__, repr(value)
    if type(value) in (tuple, list):
        return type(value).__name__, [_value(item, seen) for item in value]
    if type(value) in (set, frozenset):
        return "set", sorted(repr(_value(item, seen)) for item in value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return str(value.dtype), value.shape, hashlib.sha256(value.tobytes()).hexdigest()
    if isinstance(value, CodeType):
        return _code(value, seen)
    if isinstance(value, Dispatcher):
        options = sorted((name, _value(one, seen)) for name, one in value.targetoptions.items())
        return "kernel", options, _function(value.py_func, seen)
    if isinstance(value, FunctionType):
        return _function(value, seen)
    return _name(value)


def _name(value: Any) -> object:
    """Return the name of a module, class or function of a package whose version or text counts."""
    is_module = isinstance(value, ModuleType)
    module = value.__name__ if is_module else getattr(value, "__module__", None)
    name = "module" if is_module else getattr(value, "__qualname__", None)
    known = f"{module}".split(".")[0] in _KNOWN or f"{module}.".startswith(_KERNELS)
    if name is None or not known:
        raise NoKey(f"a value of {type(value)}")
    return module, name


def _function(function: FunctionType, seen: dict[int, int]) -> object:
    if id(function) in seen:
        return "function", seen[id(function)]
    seen[id(function)] = len(seen)
    return (
        function.__module__,
        function.__qualname__,
        _code(function.__code__, seen),
        _value(function.__defaults__, seen),
        sorted((name, _value(one, seen)) for name, one in (function.__kwdefaults__ or {}).items()),
        [_value(cell.cell_contents, seen) for cell in function.__closure__ or ()],
        [
            (name, _value(function.__globals__[name], seen))
            for name in sorted(set(_names(function.__code__)))
            if name in function.__globals__
        ],
    )


def _code(code: CodeType, seen: dict[int, int]) -> object:
    return (
        code.co_code,
        _value(code.co_consts, seen),
        (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
    )


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that a function, and those within it, may find among its globals."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
