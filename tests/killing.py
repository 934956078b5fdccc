"""Processes whose writes are counted: at a chosen one they are killed, or their disk is full.

``faults.c`` is preloaded into a process and all that it starts. It counts the calls that write
below a directory (`open` for writing, `write`, `fsync`, `rename`, `unlink`, ...), and acts at a
chosen one.
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import hashlib
import importlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("faults.c")
COUNT, PROCESS, GROUP, FULL = range(4)
"""What happens at the chosen call: nothing, one process dies, its group dies, the disk is full."""
READY = ("ssi_core.datasets.wikipedia.mediawiki", "ssi_core.tasks.task")
"""Modules of the code that is run; to load them takes longer than what is killed."""


@cache
def library() -> Path:
    """Compile the library that is preloaded, unless that is done; skip where it cannot be."""
    if sys.platform != "linux" or shutil.which("cc") is None:
        pytest.skip("needs Linux and a C compiler (cc)")
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    made = Path(os.environ["XDG_CACHE_HOME"]) / f"faults-{digest}.so"
    if not made.exists():
        made.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=made.parent, suffix=".so", delete=False) as new:
            command = ["cc", "-O1", "-shared", "-fPIC", "-o", new.name, SOURCE, "-ldl", "-lpthread"]
            subprocess.run(command, check=True)
        Path(new.name).rename(made)
    return made


class Faults:
    """Calls of processes that write below a directory, and what happens at one of them.

    Parameters
    ----------
    below : Path
        Only files below it count.
    at : int
        Number of the call, from 1.
    kind : int
        `COUNT`, `PROCESS`, `GROUP` or `FULL`.
    name : str
        Only calls like this pattern count, of the call and its path: ``"rename *.json"``.
    """

    def __init__(self, below: Path, at: int = 0, kind: int = COUNT, name: str = "*") -> None:
        self._file = tempfile.NamedTemporaryFile(prefix="faults-")  # noqa: SIM115
        self._file.write(struct.pack("3Q", 0, at, kind))
        self._file.flush()
        self._log = Path(f"{self._file.name}.log")
        self.variables = {
            "LD_PRELOAD": str(library()),
            "FAULTS_FILE": self._file.name,
            "FAULTS_BELOW": str(below.resolve()),
            "FAULTS_NAME": name,
        }

    def log(self) -> list[str]:
        """Return the calls so far, each with its number and its path."""
        return self._log.read_text().splitlines() if self._log.exists() else []

    def __enter__(self) -> Faults:
        return self

    def __exit__(self, *error: object) -> None:
        self._log.unlink(missing_ok=True)
        self._file.close()


@dataclass(frozen=True)
class Ended:
    """How a process has ended: its exit code, minus the signal that killed it; what it printed."""

    code: int
    printed: str


def run_code(code: str, faults: Faults, *, ready: Sequence[str] = READY, **variables: str) -> Ended:
    """Run Python code in a process of its own group, a copy of one that has loaded modules."""
    ours = ("SSI_", "PREFECT_", "MLFLOW_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    with tempfile.NamedTemporaryFile() as printed:
        server = _server(tuple(ready))
        print(
            json.dumps([code, environment | faults.variables | variables, printed.name]),
            file=server.stdin, flush=True,
        )  # fmt: skip
        ended = int(server.stdout.readline())
        return Ended(ended, Path(printed.name).read_text(errors="replace"))


def run_killed(code: str, below: Path, name: str, nth: int) -> None:
    """Run Python code in a process that dies at the nth call like a pattern; see `Faults`."""
    with Faults(below, nth, PROCESS, name) as faults:
        ended = run_code(code, faults)
    assert ended.code == -signal.SIGKILL, ended.printed


@cache
def _server(ready: tuple[str, ...]) -> subprocess.Popen[str]:
    """Start a process that loads modules, then runs each line it receives in a copy."""
    # Small work is done long before a kernel is compiled.
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "LD_PRELOAD": str(library())}
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.killing", *ready],
        cwd=SOURCE.parents[1], env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    atexit.register(server.communicate)
    return server


def _serve() -> None:
    for module in sys.argv[1:]:
        importlib.import_module(module)
    gc.freeze()
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            _run(*json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run(code: str, environment: dict[str, str], printed: str) -> None:
    os.setsid()
    os.environ.clear()
    os.environ.update(environment)
    with Path(printed).open("w") as out, Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
        for descriptor in (1, 2):
            os.dup2(out.fileno(), descriptor)
    ctypes.CDLL(None).faults_begin()
    ended: object = 1
    try:
        exec(code, {"__name__": "__main__"})
        ended = 0
    except SystemExit as error:
        ended = error.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended if isinstance(ended, int) else 1)


def contents(directory):
    """Relative path -> bytes of every file below a directory."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def beside(path):
    """Hidden names beside an artefact: what unfinished runs left."""
    return sorted(p.name for p in path.parent.iterdir() if p.name.startswith(f".{path.name}."))


if __name__ == "__main__":
    _serve()
