"""Runs that are killed at a chosen call, and what is left of them."""

import importlib
import multiprocessing
import os
import signal
import tempfile
from functools import cache
from multiprocessing import forkserver
from pathlib import Path

READY = "ssi_core.corpus.mediawiki", "ssi_core.tasks.task"
"""Modules of the code that is run; to load them takes longer than what is killed."""


def run_killed(call: str, function: str, nth: int) -> None:
    """Run Python code in a process that dies just before the nth call of a module's function."""
    with tempfile.NamedTemporaryFile() as printed:
        process = _processes().Process(
            target=_run, args=(call, function, nth, dict(os.environ), printed.name)
        )
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL, Path(printed.name).read_text()


@cache
def _processes():
    """Processes that are copies of one that has loaded the modules and done nothing else."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*READY])
    # Small work is done long before a kernel is compiled.
    before = os.environ.get("NUMBA_DISABLE_JIT")
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["NUMBA_DISABLE_JIT"]
        else:
            os.environ["NUMBA_DISABLE_JIT"] = before
    return context


def _run(call: str, function: str, nth: int, environment: dict[str, str], printed: str) -> None:
    os.environ.update(environment)
    with Path(printed).open("w") as out:
        for descriptor in (1, 2):
            os.dup2(out.fileno(), descriptor)
    module, name = function.rsplit(".", 1)
    owner = importlib.import_module(module)
    real, calls = getattr(owner, name), 0

    def counted(*args, **kwargs):
        nonlocal calls
        calls += 1
        if calls == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)

    setattr(owner, name, counted)
    exec(call, {})


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
