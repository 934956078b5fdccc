"""Parts on this machine, and what they write."""

import os
from functools import partial

import pytest

from ssi_core.parts import LOCAL, Stage, address_of, file_once, once, run_parts
from ssi_core.types import BadInput, Refused
from tests.parts import jobs


def results(make, items, place, processes):
    stage = Stage("numbers", make, place)
    with run_parts(stage, items, processes=processes) as ended:
        return {done.part: done.result() for done in ended}


def test_parts_are_taken_as_they_are_needed_and_made_by_other_processes(tmp_path):
    taken = []
    stage = Stage("numbers", partial(jobs.add, told=100), tmp_path)
    with run_parts(stage, (taken.append(i) or i for i in range(30)), processes=2) as ended:
        first = next(ended)
        assert len(taken) <= 3
        found = {one.part: one.result() for one in (first, *ended)}
    assert {part: value for part, (value, _) in found.items()} == {i: 100 + i for i in range(30)}
    assert os.getpid() not in {process for _, process in found.values()}


@pytest.mark.parametrize(("items", "processes"), [([5], 4), ([5, 6], 1), ([], 2)])
def test_little_work_is_done_here_and_in_order(items, processes, tmp_path):
    found = results(partial(jobs.add, told=1), items, tmp_path, processes)
    assert list(found.items()) == [(i, (i + 1, os.getpid())) for i in items]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_part_that_fails_fails_alone(processes, tmp_path):
    stage = Stage("numbers", partial(jobs.fail, told=3), tmp_path)
    with run_parts(stage, range(6), processes=processes) as ended:
        done = list(ended)
    wrong = [one for one in done if isinstance(one.outcome, Exception)]
    assert [one.part for one in wrong] == [3]
    assert {one.result() for one in done if one not in wrong} == {0, 1, 2, 4, 5}
    with pytest.raises(BadInput, match="item 3"):
        wrong[0].result()


def test_a_process_that_dies_is_said(tmp_path):
    with pytest.raises(Refused, match="want of memory"):
        results(jobs.die, range(10), tmp_path, 2)


def test_where():
    assert address_of(LOCAL) is None
    assert address_of("dask:tcp://10.0.0.5:8786") == "tcp://10.0.0.5:8786"
    assert address_of("dask:tls://[::1]:8786") == "tls://[::1]:8786"
    wrong = (
        "dask", "dask:", "tcp://a:1", "dask:http://a:1", "dask:tcp://a", "dask:tcp://a:0",
        "dask:tcp://a:70000", "dask:tcp://a:1/x", "dask:tcp://u:p@a:1", "dask:tcp://a:1\n", "",
    )  # fmt: skip
    for where in wrong:
        with pytest.raises(BadInput, match="expected local, dask:tcp://HOST:PORT"):
            address_of(where)


def test_a_part_that_is_written_twice_at_once_is_whole_all_the_same(tmp_path):
    directory = tmp_path / "part"
    with once(directory, "m.json") as (one, _):
        (one / "a").write_text("the same")
        with once(directory, "m.json") as (other, _):
            (other / "a").write_text("the same")
    assert (directory / "a").read_text() == "the same"
    with file_once(tmp_path / "file") as one, file_once(tmp_path / "file") as other:
        one.write_text("the same")
        other.write_text("the same")
    with pytest.raises(KeyError), once(tmp_path / "broken", "m.json"):
        raise KeyError
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "part"]


def test_a_part_that_is_whole_is_found(tmp_path):
    make = partial(jobs.powers, place=tmp_path)
    first = results(make, jobs.PARTS, tmp_path, 1)
    assert results(make, jobs.PARTS, tmp_path, 1) == first
    assert set(jobs.executions(tmp_path).values()) == {1}
