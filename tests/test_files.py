"""A directory takes the place of another when it is whole."""

from pathlib import Path

import pytest

from ssi_core.files import replacing
from ssi_core.types import Refused


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
    place = tmp_path / "thing"
    written(place, "first")
    rename = Path.rename

    def failing(path, target):
        if path.name == "new":
            raise ValueError("no")
        return rename(path, target)

    if at == "renaming":
        monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(ValueError, match="no"):
        written(place, "second", fails=at == "writing")
    assert (place / "thing.json").read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["thing"]
