"""What the store holds, and what of it is of today's code."""

import pytest

from ssi_core import integrity
from ssi_core.code import digest_of_modules
from ssi_core.guests.upkeep.listing import ancestors, list_store

MODULE = "ssi_core.guests.upkeep.listing"
TODAY = {"module": MODULE, "digest": digest_of_modules([MODULE])}


def artefact(home, path, parents=(), code=(), kind="task"):
    directory = home / path
    directory.mkdir(parents=True)
    (directory / "data").write_bytes(b"x" * 70)
    facts = {"kind": kind, "key": directory.name, "configuration": {"a": 1}}
    facts |= {"parents": {str(n): key for n, key in enumerate(parents)}, "code": dict(code)}
    integrity.seal_directory(directory, "artefact.json", facts)
    return directory


@pytest.mark.parametrize(
    ("code", "current"),
    [(TODAY, True), (TODAY | {"digest": "0"}, False), (TODAY | {"module": "ssi_core.gone"}, False),
     ({}, None)],
)  # fmt: skip
def test_an_artefact_is_of_the_code_of_today_or_of_none(tmp_path, code, current):
    made = artefact(tmp_path, "store/task/k", code=code)
    (found,) = list_store(tmp_path)
    assert (found.path, found.kind, found.key, found.size) == (made, "task", "k", 70)
    assert (found.configuration, found.parents, found.problem) == ({"a": 1}, {}, "")
    assert found.current is current


def test_all_that_is_finished_is_listed_by_kind_and_age_with_what_it_was_made_from(tmp_path):
    artefact(tmp_path, "store/task/t", parents=["c", "gone"])
    artefact(tmp_path, "store/collection/c", kind="collection")
    artefact(tmp_path, "frozen/set/s", parents=["t"], kind="set")
    artefact(tmp_path, "store/task/u", parents=["u"])
    for name in (".k.partial", ".k.work", ".k.old", ".k.lock"):
        (tmp_path / "store/task" / name).mkdir()
    (tmp_path / "store/task/file").touch()
    found = list_store(tmp_path)
    assert [one.key for one in found] == ["c", "s", "t", "u"]
    keys = [{path.name for path in ancestors([one], found)} for one in found]
    assert keys == [{"c"}, {"s", "t", "c"}, {"t", "c"}, {"u"}]


def test_a_directory_whose_manifest_cannot_be_read_is_listed_with_the_reason(tmp_path):
    damaged = artefact(tmp_path, "store/task/k", code=TODAY)
    (damaged / "artefact.json").write_bytes(b"{" * 5)
    (found,) = list_store(tmp_path)
    assert (found.kind, found.key, found.size, found.current) == ("task", "", 75, False)
    assert "artefact.json" in found.problem
