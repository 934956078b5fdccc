import gc
import os
import signal

from ssi_core.pool import Pool


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
