"""Find compiled kernels again that another process has left.

numba's own cache looks for pickles of a closure, which differ in each process, and its index files
break when a process is killed or two write at once.
"""

from __future__ import annotations

import logging
import os
import pickle
import secrets
from itertools import count
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import sigutils
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.core.serialize import dumps

from ssi_core import compiled
from ssi_core.kernels.compiling import keys

_LOG = logging.getLogger(__name__)


def keep(kernel: Any) -> Any:
    """Let a kernel be looked for on disk before it is compiled, and be kept there afterwards."""
    if not numba.config.DISABLE_JIT:
        kernel._cache = Kept(kernel)
    return kernel


class Kept:
    """Cache of compiled code, as a dispatcher of numba uses it (the protocol of its ``_Cache``).

    Whatever goes wrong here, the kernel is compiled.

    Parameters
    ----------
    kernel : Dispatcher
        Of ``numba.njit``.
    """

    def __init__(self, kernel: Dispatcher) -> None:
        self._kernel = kernel
        self._enabled = True
        self._known: set[tuple[str, str]] = set()

    @property
    def cache_path(self) -> str:
        """Directory of all kernels."""
        return str(compiled.directory() or "")

    def enable(self) -> None:
        """Use the cache."""
        self._enabled = True

    def disable(self) -> None:
        """Neither read nor write."""
        self._enabled = False

    def flush(self) -> None:
        """Remove what this process has met of the kernel."""
        for build, key in self._known:
            compiled.remove(build, key)

    def load_overload(self, signature: Any, target: Any) -> CompileResult | None:
        """Return the code for a signature; None if it is not kept."""
        try:
            location = self._location(signature, target)
            payload = None if location is None else compiled.read(*location)
            if payload is None:
                return None
            symbols, parts = pickle.loads(payload)
            _provide(symbols, target)
            return CompileResult._rebuild(target, *parts)
        except Exception as error:
            _LOG.debug("%s is compiled anew: %r", self._kernel, error)
            return None

    def save_overload(self, signature: Any, result: CompileResult) -> None:
        """Keep the code for a signature, unless it holds addresses of this process."""
        if result.lifted or result.library.has_dynamic_globals:
            return
        try:
            location = self._location(signature, result.target_context)
            # Of an edit since the import the key would hold the new text, the code the old one.
            if location is not None and keys.source_digest() == keys.SOURCES:
                parts = result._reduce()
                compiled.write(*location, dumps((_symbols(result.library), parts)))
        except Exception as error:
            _LOG.debug("%s is not kept: %r", self._kernel, error)

    def _location(self, signature: Any, target: Any) -> tuple[str, str] | None:
        if not self._enabled:
            return None
        arguments, result = sigutils.normalize_signature(signature)
        key = keys.key(self._kernel, arguments, result)
        location = keys.build(target.codegen().magic_tuple()), key
        self._known.add(location)
        return location


def _symbols(library: Any) -> list[str]:
    """Return what machine code takes from the process: functions and values of Python and numba."""
    module = library._get_module_for_linking()
    taken = (one for one in (*module.functions, *module.global_variables) if one.is_declaration)
    return sorted({one.name for one in taken if not one.name.startswith("llvm.")})


def _provide(symbols: list[str], target: Any) -> None:
    """Load what of numba kept code needs; all of it, as for a compilation, takes half a second."""
    rtsys.initialize(target)
    if any(llvm.address_of_symbol(name) is None for name in symbols):
        target.refresh()


def _number_functions() -> None:
    """Begin numba's numbers of functions at one that no other process has.

    They are part of the symbols of machine code. Where two kernels have one symbol, such as two
    sweeps of one type, the one that came first is called for both.
    """
    FunctionIdentity._unique_ids = count(secrets.randbits(60))


if not numba.config.DISABLE_JIT:
    _number_functions()
    os.register_at_fork(after_in_child=_number_functions)
