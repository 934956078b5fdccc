"""Runs that are killed at a chosen call, and what is left of them."""

import os
import signal
import subprocess
import sys

CODE = """
import importlib, os, sys
module, name = sys.argv[1].rsplit(".", 1)
owner = importlib.import_module(module)
real, calls = getattr(owner, name), 0

def counted(*args, **kwargs):
    global calls
    calls += 1
    if calls == int(sys.argv[2]):
        os.kill(os.getpid(), 9)
    return real(*args, **kwargs)

setattr(owner, name, counted)
{call}
"""


def run_killed(call: str, function: str, nth: int) -> None:
    """Run Python code in a process that dies just before the nth call of a module's function."""
    code = [sys.executable, "-c", CODE.format(call=call), function, str(nth)]
    # Small work is done long before a kernel is compiled.
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    killed = subprocess.run(code, check=False, capture_output=True, text=True, env=environment)
    assert killed.returncode == -signal.SIGKILL, killed.stderr


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
