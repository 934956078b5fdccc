"""A directory takes the place of another when it is whole."""

import json
from pathlib import Path

import polars as pl
import pytest

from ssi_core import files
from ssi_core.files import replacing
from ssi_core.types import BadInput, Refused
from tests.killing import beside, run_killed


def written(place, text, fails=False):
    with replacing(place, "thing.json", "thing") as new:
        new.mkdir()
        if fails:
            raise ValueError("no")
        (new / "thing.json").write_text(text)


def test_a_new_one_takes_the_place_of_the_one_before(tmp_path):
    written(tmp_path / "a" / "thing", "first")
    written(tmp_path / "a" / "thing", "second")
    assert (tmp_path / "a" / "thing" / "thing.json").read_text() == "second"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["thing"]


def test_something_else_is_left_alone(tmp_path):
    (tmp_path / "letter").write_text("dear")
    with pytest.raises(Refused, match="holds no thing"):
        written(tmp_path, "first")
    assert [path.name for path in tmp_path.iterdir()] == ["letter"]


@pytest.mark.parametrize("at", ["writing", "renaming"])
def test_what_fails_leaves_the_one_before(tmp_path, monkeypatch, at):
    directory = tmp_path / "thing"
    written(directory, "first")
    rename = Path.rename

    def failing(path, target):
        if path.name == "new":
            raise ValueError("no")
        return rename(path, target)

    if at == "renaming":
        monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(ValueError, match="no"):
        written(directory, "second", fails=at == "writing")
    assert (directory / "thing.json").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["thing"]


def test_columns_of_text_are_read_of_all_parts_in_order(tmp_path):
    for number, name in enumerate("ab"):
        frame = pl.DataFrame({"id": [name], "n": [number], "text": ["words"]})
        frame.write_parquet(tmp_path / f"part-{number}.parquet")
    parts = files.parts_in(tmp_path)
    assert files.read_strings(parts, "text", "id").rows() == [("words", "a"), ("words", "b")]
    with pytest.raises(BadInput, match=r"part-0.parquet: .*the column 'n' holds no text"):
        files.read_strings(parts, "id", "n")


KILLED = """
import json
from pathlib import Path
from ssi_core import files
with files.replacing(Path({out!r}), "manifest", "thing") as new:
    new.mkdir()
    (new / "manifest").write_text("new")
"""


@pytest.mark.parametrize(
    "name", ["mkdir */new", "write */manifest", "rename */old", "rename */out", "unlinkat *old*"]
)
def test_what_a_killed_process_left_beside_a_directory_goes_with_the_next(name, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "manifest").write_text("before")
    run_killed(KILLED.format(out=str(out)), tmp_path, name, 1)
    assert beside(out)
    # Another process that works there is left alone.
    with files.replacing(out, "manifest", "thing") as other:
        other.mkdir()
        (other / "manifest").write_text("other")
        with files.replacing(out, "manifest", "thing") as new:
            assert (out / "manifest").read_text() in ("before", "new")
            new.mkdir()
            (new / "manifest").write_text("again")
        assert len(beside(out)) == 1
    assert beside(out) == []
    assert (out / "manifest").read_text() == "other"


def test_a_record_of_a_result_is_one_line_and_equal_results_have_equal_bytes(tmp_path):
    result = {
        "rows": [{"row": "b", "map": {"mean": 0.1}}, {"row": "a"}],
        "name": "é",
        "facts": {"z": {"n": 1}, "a": {"n": 2}},
        "printed": {},
    }
    files.write_result(tmp_path / "one.json", result)
    files.write_result(tmp_path / "two.json", result, sort=True)
    files.write_result(tmp_path / "three.json", dict(reversed(result.items())), sort=True)

    assert (tmp_path / "one.json").read_text().splitlines() == [
        "{",
        ' "rows": [',
        '  {"row": "b", "map": {"mean": 0.1}},',
        '  {"row": "a"}',
        " ],",
        ' "name": "é",',
        ' "facts": {',
        '  "z": {"n": 1},',
        '  "a": {"n": 2}',
        " },",
        ' "printed": {}',
        "}",
    ]
    assert json.loads((tmp_path / "two.json").read_text()) == result
    assert (tmp_path / "two.json").read_bytes() == (tmp_path / "three.json").read_bytes()
