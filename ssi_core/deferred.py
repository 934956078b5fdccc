"""Modules that other libraries import and that hardly anybody uses: they load at their first use.

scipy takes every name of numpy over, and so loads its compiler of Fortran and its tools for tests,
which take a third of the time that `scipy.sparse` takes to load.
"""

from __future__ import annotations

import importlib
import sys
from importlib.util import LazyLoader, find_spec, module_from_spec

_HARDLY_USED = ("numpy.f2py", "numpy.testing")


def defer() -> None:
    """Put modules in place that load when an attribute of theirs is first asked for."""
    for name in _HARDLY_USED:
        spec = None if name in sys.modules else find_spec(name)
        if spec is None or spec.loader is None:
            continue
        loader = LazyLoader(spec.loader)
        spec.loader = loader
        module = sys.modules[name] = module_from_spec(spec)
        loader.exec_module(module)
        package, _, attribute = name.rpartition(".")
        setattr(importlib.import_module(package), attribute, module)
