"""Between the stages of a fit, memory goes back to the system."""

import ctypes
import gc
import subprocess
import sys
import weakref
from pathlib import Path

import pytest

from ssi_core import garbage, system
from ssi_core.face.fit import _Clock
from ssi_core.garbage import Garbage

MUCH = 2_000
"""Blocks of a stage after which garbage is looked for: 200 MB."""


class Node:
    """An object that refers to itself."""

    def __init__(self):
        self.itself = self


@pytest.fixture
def left(monkeypatch):
    """Say whether garbage is left behind by a stage in which the process grows by some bytes."""

    def after(growth):
        held = iter((1 << 30, (1 << 30) + growth if growth is not None else None))
        monkeypatch.setattr(system, "memory", lambda: next(held))
        clock = _Clock()
        gc.disable()
        try:
            with clock.stage("read"):
                node = weakref.ref(Node())
            return node() is not None
        finally:
            gc.enable()

    return after


def test_what_a_large_stage_leaves_is_collected(left):
    assert not left(garbage._MUCH + 1)


def test_a_small_stage_is_not_worth_a_look_through_all_objects(left):
    assert left(garbage._MUCH)


def test_it_is_collected_where_memory_is_not_counted(left):
    assert not left(None)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")
def test_memory_that_is_free_is_given_back():
    blocks = [b"a" * 100_000 for _ in range(MUCH)]
    kept = blocks[::100]  # else the allocator gives back the end of its own accord
    kept.append(b"b" * 100_000)
    del blocks
    before = system.memory()
    Garbage().collect()  # of a stage that took nothing more
    assert before - system.memory() > MUCH // 2 * 100_000
    assert len(kept) == MUCH // 100 + 1


HEAPS = """
import ctypes, threading
from ssi_core.garbage import economise

economise()
libc, kept = ctypes.CDLL(None), []
threads = [threading.Thread(target=lambda: kept.append(bytes(100_000))) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="not glibc")
def test_all_threads_of_a_process_of_our_own_share_one_heap():
    done = subprocess.run([sys.executable, "-c", HEAPS], capture_output=True, text=True, check=True)
    assert done.stdout.count("<heap nr=") == 1


def test_memory_is_unknown_without_proc(monkeypatch):
    def missing(*_, **__):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_bytes", missing)
    assert system.memory() is None
