"""Artefact directories: whole or absent, one writer at a time."""

import errno
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ssi_core import store
from ssi_core.types import BadInput, Refused


def write(path, key="k1", text="whole"):
    with store.create(path, kind="toy", key=key, configuration={"a": 1}, parents={}) as building:
        (building.path / "text").write_text(text)
        building.counts["lines"] = 1
        building.skipped["empty"] = 0


def hidden(path):
    return [p.name for p in path.parent.iterdir() if p.name.startswith(".")]


def test_a_whole_artefact_is_read_back_and_leaves_nothing_beside_it(tmp_path):
    write(tmp_path / "toy")
    found = store.read(tmp_path / "toy", "toy")
    assert (found.kind, found.key, found.counts, found.skipped) == (
        "toy", "k1", {"lines": 1}, {"empty": 0},
    )  # fmt: skip
    assert hidden(tmp_path / "toy") == []


def test_same_key_is_up_to_date_another_is_refused_unless_forced(tmp_path):
    path = tmp_path / "toy"
    assert store.up_to_date(path, "toy", "k1") is None
    write(path)
    assert store.up_to_date(path, "toy", "k1").key == "k1"
    with pytest.raises(Refused, match="Remove it"):
        store.up_to_date(path, "toy", "k2")
    assert store.up_to_date(path, "toy", "k2", force=True) is None
    write(path, "k2", "new")
    assert (path / "text").read_text() == "new"


def test_a_directory_that_is_no_artefact_is_left_alone_even_by_force(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(Refused, match="left alone"):
        store.up_to_date(tmp_path / "mine", "toy", "k1", force=True)
    with pytest.raises(BadInput, match="holds no artefact"):
        store.read(tmp_path / "mine")


def test_a_failure_keeps_the_old_artefact_and_no_half_one(tmp_path):
    path = tmp_path / "toy"
    write(path)
    with pytest.raises(TypeError):
        write(path, "k2", text=b"not text")
    assert (path / "text").read_text() == "whole"
    assert hidden(path) == []


def test_what_failed_is_said_though_its_directory_is_gone(tmp_path):
    def fail():
        how = {"kind": "toy", "key": "k", "configuration": {}, "parents": {}}
        with store.create(tmp_path / "toy", **how) as building:
            shutil.rmtree(building.path)
            raise KeyError

    with pytest.raises(KeyError):
        fail()


def test_a_kill_leaves_no_lock_and_the_next_call_clears_the_rest(tmp_path):
    path = tmp_path / "toy"
    code = (
        "import os, pathlib, sys\n"
        "from ssi_core import store\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "with store.create(path, kind='toy', key='k', configuration={}, parents={}) as b:\n"
        "    (b.path / 'half').write_text('half')\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert killed.returncode == -9
    assert not path.exists()
    write(path)
    assert sorted(p.name for p in path.iterdir()) == ["artefact.json", "text"]
    assert hidden(path) == []


def test_a_second_writer_is_refused_and_told_of_the_first(tmp_path):
    path = tmp_path / "toy"
    with (
        store.create(path, kind="toy", key="k1", configuration={}, parents={}),
        pytest.raises(Refused, match=f"process {os.getpid()}"),
    ):
        write(path)


def test_damage_and_other_kinds_are_named(tmp_path):
    path = tmp_path / "toy"
    write(path)
    with pytest.raises(BadInput, match="holds a toy, and no task"):
        store.read(path, "task")
    (path / "artefact.json").write_text("{")
    with pytest.raises(BadInput, match="not JSON"):
        store.read(path)


def test_keys_depend_on_everything():
    keys = {
        store.key_of("a", {"x": 1}, {"p": "q"}, "c"),
        store.key_of("b", {"x": 1}, {"p": "q"}, "c"),
        store.key_of("a", {"x": 2}, {"p": "q"}, "c"),
        store.key_of("a", {"x": 1}, {"p": "r"}, "c"),
        store.key_of("a", {"x": 1}, {"p": "q"}, "d"),
    }
    assert len(keys) == 5


def test_what_was_whole_comes_back_when_its_replacement_was_killed_halfway(tmp_path):
    path = tmp_path / "toy"
    write(path)
    path.rename(tmp_path / ".toy.old")
    with pytest.raises(TypeError):
        write(path, "k2", text=b"not text")
    assert (path / "text").read_text() == "whole"
    assert hidden(path) == []


def test_leftovers_beside_a_whole_artefact_go_unless_another_writes(tmp_path):
    path = tmp_path / "toy"
    write(path)
    (tmp_path / ".toy.work").mkdir()
    (tmp_path / ".toy.old").mkdir()
    with store.locked(path):
        store.up_to_date(path, "toy", "k1")
        assert hidden(path) != []
    store.up_to_date(path, "toy", "k1")
    assert hidden(path) == []


def test_parts_outlive_a_failure_but_not_a_wrong_input_or_another_key(tmp_path):
    def fail(key, error):
        found = []

        def broken():
            with store.create(
                tmp_path / "toy", kind="toy", key=key, configuration={}, parents={}
            ) as building:
                work = building.work("parts")
                found.extend(sorted(p.name for p in work.iterdir()))
                (work / "part").write_text("whole")
                raise error

        with pytest.raises(type(error)):
            broken()
        return found

    assert fail("k1", OSError()) == []
    assert fail("k1", BadInput("wrong")) == ["part"]
    assert fail("k1", KeyboardInterrupt()) == []
    assert fail("k2", OSError()) == []
    (tmp_path / ".toy.work" / "key").write_text("{")
    assert fail("k2", OSError()) == []


def test_an_artefact_in_another_place_is_the_same(tmp_path):
    with store.create(
        tmp_path / "toy", kind="toy", key="k", configuration={"a": 1}, parents={"b": "c"}
    ) as building:
        (building.path / "inner").mkdir()
        (building.path / "inner" / "file").write_text("whole")
        building.counts["rows"] = 3
        building.skipped["row_bad"] = 1
    first = store.read(tmp_path / "toy")
    again = store.again(first, tmp_path / "other")
    assert again == replace(first, path=tmp_path / "other")
    files = [where / "inner" / "file" for where in (first.path, again.path)]
    assert files[0].samefile(files[1])
    shutil.rmtree(first.path)
    assert files[1].read_text() == "whole"


def test_a_file_is_copied_where_there_are_no_hard_links(tmp_path, monkeypatch):
    def none(*names):
        raise OSError(errno.EXDEV, "another file system")

    monkeypatch.setattr(Path, "hardlink_to", none)
    (tmp_path / "one").write_text("whole")
    store.link(tmp_path / "one", tmp_path / "two")
    assert (tmp_path / "two").read_text() == "whole"
    assert not (tmp_path / "one").samefile(tmp_path / "two")
