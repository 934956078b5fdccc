"""Between the stages of a fit, memory goes back to the system."""

import gc
import weakref
from pathlib import Path

import pytest

from ssi_core.face.fit import _Clock
from ssi_core.garbage import collect_now


class Node:
    """An object that refers to itself."""

    def __init__(self):
        self.itself = self


def test_what_a_stage_leaves_is_collected():
    clock = _Clock()
    gc.disable()
    try:
        with clock.stage("read"):
            left = weakref.ref(Node())
        assert left() is None
    finally:
        gc.enable()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc")
def test_memory_that_is_free_is_given_back():
    def pages():
        return int(Path("/proc/self/statm").read_text().split()[1])

    blocks = [b"a" * 100_000 for _ in range(1_000)]
    kept = blocks[::100]  # else the allocator gives back the end of its own accord
    kept.append(b"b" * 100_000)
    del blocks
    before = pages()
    collect_now()
    assert before - pages() > 10_000
    assert len(kept) == 11
