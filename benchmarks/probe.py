"""What memory allows: the reads and writes of a step on embeddings in C, and nothing else.

``probe.c`` is written apart from the project's kernels, and compiled by ``cc -O3 -march=native``;
its triples are drawn beforehand. Beyond it, a step has draws, scores, margins and directions.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.timing import Contestant, PeerMissing, Row, row
from benchmarks.triples import drawn
from ssi_core.kernels.sparse import Csr, aligned_empty
from ssi_core.kernels.training.structs import Data, Parameters

_SOURCE = Path(__file__).with_name("probe.c")
_NUMBERS = {"float32": ["-DNUMBER=float"], "uint16": ["-DNUMBER=_Float16", "-DHALVES"]}
_built = TemporaryDirectory(prefix="probe")


@cache
def _compiled(numbers: str, width: int) -> Any:
    """Return the function of a kind of numbers; those of an embedding in float16 are uint16."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise PeerMissing("cc, a compiler of C, is not installed")
    library = Path(_built.name, f"{numbers}-{width}.so")
    how = ["-O3", "-march=native", "-shared", "-fPIC", f"-DWIDTH={width}"]
    subprocess.run([compiler, *how, *_NUMBERS[numbers], _SOURCE, "-o", library], check=True)
    function = ctypes.CDLL(str(library)).probe
    function.restype = None
    return function


def probe(U: Any, V: Any, rows: Csr, triples: Any, factor: float = 0.0) -> Callable[[], Any]:
    """Return what goes over triples: the query's rows of U, and those of both documents of V.

    Each call returns the sum of all rows of the last triple. What is added to a row is ``factor``
    times the sum of those before it and of its text.

    Parameters
    ----------
    U, V : float32 or uint16 (words, width)
        embeddings, C-ordered, their rows aligned; uint16 has the bits of float16
    rows : words of the texts
    triples : int64 (n, 3), rows of texts
    """
    function = _compiled(U.dtype.name, U.shape[1])
    start, sums = np.ascontiguousarray(rows.indptr, np.int64), aligned_empty(1, U.shape[1])
    arrays = U, V, start, rows.indices, triples, sums
    count, times = ctypes.c_int64(len(triples)), ctypes.c_float(factor)

    def run() -> Any:
        function(*(ctypes.c_void_p(array.ctypes.data) for array in arrays), count, times)
        return sums[0]

    return run


def memory(data: Data, p: Parameters, triples: int) -> Contestant:
    """Return the probe on triples that the sweep would draw."""
    some = np.array(drawn(data, triples, seed=1), np.int64)
    return Contestant(probe(p.U, p.V, data.queries, some), triples)


def against(what: str, ours: list[float], bound: list[float] | None, note: str = "") -> Row:
    """Ours against the probe; where it is missing, the note says why."""
    name, unit, limits = f"{what} / probe", "triples/s", {"floor": 0.7, "goal": 0.8}
    if bound is None:
        return Row(name, unit, note=note, **limits)
    return row(name, unit, ours, bound, note=note, **limits)


def bytes_of_a_triple(p: Parameters, rows: Csr) -> float:
    """Mean bytes that a violating triple moves: three texts' rows, read twice and written."""
    words = len(rows.indices) / (len(rows.indptr) - 1)
    return float(3 * 3 * words * p.U.strides[0])
