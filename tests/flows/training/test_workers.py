import threading
import time

import pytest

from flows.training.workers import Workers
from ssi_core.pool import WorkerDied
from ssi_core.types import BadInput
from tests.flows import jobs


def test_workers_stay_and_keep_to_their_forms():
    with Workers(2, threads=3) as workers:
        here = workers.run("low rank", jobs.whoami)
        other = workers.run("dense", jobs.whoami)
        assert {workers.run("low rank", jobs.whoami) for _ in range(4)} == {here}
        assert workers.run("any", jobs.variable, "OMP_NUM_THREADS") == "3"
    assert jobs.whoami() not in (here, other)


def test_an_error_keeps_its_type_and_where_it_came_from():
    with Workers(1) as workers:
        with pytest.raises(BadInput, match=r"^line 3(\n|$)") as caught:
            workers.run("x", jobs.refuse, "line 3")
        assert "jobs.py" in caught.value.__notes__[0]
        with pytest.raises(RuntimeError, match="Sticky: a"):
            workers.run("x", jobs.unpicklable)


def test_a_worker_that_dies_is_replaced():
    with Workers(1) as workers:
        before = workers.run("x", jobs.whoami)
        with pytest.raises(WorkerDied, match="code 3"):
            workers.run("x", jobs.die)
        assert workers.run("x", jobs.whoami) != before


def test_leaving_interrupts_what_still_runs(tmp_path):
    mark, started, seen = tmp_path / "mark", tmp_path / "started", []

    def job(workers):
        try:
            workers.run("x", jobs.wait_or_mark, started, mark)
        except WorkerDied as error:
            seen.append(error)

    with Workers(1) as workers:
        thread = threading.Thread(target=job, args=(workers,))
        thread.start()
        while not started.exists():
            time.sleep(0.02)
    thread.join(10)

    assert mark.read_text() == "interrupted"
    assert len(seen) == 1


@pytest.mark.parametrize("wrong", [(0, 1), (1, 0)])
def test_sizes_are_checked(wrong):
    with pytest.raises(ValueError, match="at least 1"):
        Workers(*wrong)
