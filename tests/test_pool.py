import os
import signal

import pytest

from ssi_core.pool import Pool, spread
from ssi_core.types import BadInput, Refused


def add(item, told):
    return item + told, os.getpid()


def fail(item, told):
    if item == told:
        raise BadInput(f"item {item}")
    return item


def die(item, told):
    os._exit(1)


def signalled():
    for one in (signal.SIGINT, signal.SIGTERM):
        os.kill(os.getpid(), one)
    return os.getpid()


def test_results_come_in_order_and_items_are_taken_as_they_are_needed():
    taken = []
    results = spread(add, (taken.append(i) or i for i in range(30)), 100, 2)
    first = next(results)
    assert len(taken) <= 5
    values, workers = zip(first, *results, strict=True)
    assert list(values) == list(range(100, 130))
    assert os.getpid() not in workers


@pytest.mark.parametrize(("items", "processes"), [([5], 4), ([5, 6], 1), ([], 2)])
def test_little_work_is_done_here(items, processes):
    assert list(spread(add, items, 1, processes)) == [(i + 1, os.getpid()) for i in items]


def test_errors_of_a_worker():
    with pytest.raises(BadInput, match="item 3"):
        list(spread(fail, range(10), 3, 2))
    with pytest.raises(Refused, match="want of memory"):
        list(spread(die, range(10), 0, 2))


def test_a_worker_leaves_the_signals_of_its_group_to_the_parent():
    with Pool(1) as pool:
        assert pool.run("", signalled) == pool.run("", os.getpid) != os.getpid()
