import gc
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ssi_core.pool import Pool, WorkerDied


def signalled():
    for one in (signal.SIGINT, signal.SIGTERM):
        os.kill(os.getpid(), one)
    return os.getpid()


def test_a_worker_leaves_the_signals_of_its_group_to_the_parent():
    with Pool(1) as pool:
        assert pool.run("", signalled) == pool.run("", os.getpid) != os.getpid()


def test_a_worker_seldom_looks_for_garbage():
    with Pool(1) as pool:
        assert pool.run("", gc.get_threshold)[0] == 100_000


def going_on(begun):
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    begun.touch()
    time.sleep(20)


def test_a_job_that_does_not_end_is_killed_with_the_pool(tmp_path):
    with ThreadPoolExecutor(1) as threads:
        with Pool(1) as pool:
            worker = pool.run("", os.getpid)
            waiting = threads.submit(pool.run, "", going_on, tmp_path / "begun")
            while not (tmp_path / "begun").exists():
                time.sleep(0.01)
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)
    assert isinstance(waiting.exception(), WorkerDied)
