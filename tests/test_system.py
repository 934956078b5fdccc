"""Locks and limits, and what takes their place where the operating system has none."""

import logging
import subprocess
import sys

import pytest

from ssi_core import system

WITHOUT = """
import os, psutil, sys  # psutil needs neither on such a system
sys.modules["fcntl"] = sys.modules["resource"] = None
del os.getuid, os.sched_getaffinity
os.process_cpu_count = os.cpu_count  # of Python 3.13, as it is on such a system
opened = os.open
def refusing(path, *rest, **more):
    if os.path.isdir(path):
        raise PermissionError(path)
    return opened(path, *rest, **more)
os.open = refusing
import ssi_core as ssi
docs = ssi.read_sample(documents=60)
fitted = ssi.fit(docs, budget=1000)
print(fitted.save("model").search("automobile", k=1).hits[0].title)
"""


@pytest.mark.trains
def test_where_there_are_no_locks_and_limits_the_library_ranks_and_says_so(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "Car\n"), done.stderr
    assert done.stderr.count("this system has no locks that ssi knows") == 1


def test_where_there_are_no_limits_nothing_is_limited(monkeypatch, caplog):
    monkeypatch.setattr(system, "POSIX", False)
    assert system.limit("RLIMIT_AS") is None
    assert system.most_memory() is None
    system.lower("RLIMIT_CORE", 0)
    system._say_that_nothing_is_locked.cache_clear()
    with caplog.at_level(logging.WARNING):
        system.lock(-1)
    assert "let one process at a time write" in caplog.text


def test_a_limit_is_lowered_and_never_raised():
    program = (
        "import resource as r; from ssi_core import system as s; s.lower('RLIMIT_CPU', 100); "
        "r.setrlimit(r.RLIMIT_CPU, (50, 60)); s.lower('RLIMIT_CPU', 70); "
        "print(s.limit('RLIMIT_CPU'))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "60\n", done.stderr
