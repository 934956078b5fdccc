"""The settings of a flow have those of all its sources, each with what it means in them."""

from pathlib import Path
from typing import ClassVar

import pytest
from pydantic import Field, ValidationError

from flows import sources
from ssi_core.corpus.source import Source
from ssi_core.types import BadInput


class Lines(Source):
    """Read lines.

    One is a document.
    """

    flow: ClassVar[str] = "made"
    path: Path = Field(description="A file")
    least: int = Field(default=1, ge=1, description="Fewest words")
    language: str = Field(default="en", description="Its language")


class Pages(Source):
    """Read pages, one a file."""

    flow: ClassVar[str] = "made"
    path: Path = Field(description="A folder")
    least: int = Field(default=1, ge=1, description="Fewest words")
    language: str = Field(default="de", description="Its language")
    deep: bool = Field(default=False, description="Folders within it, too")


class Elsewhere(Source):
    """Read what is of another flow."""

    flow: ClassVar[str] = "another"


@pytest.fixture
def settings(monkeypatch):
    known = {"lines": Lines, "elsewhere": Elsewhere, "pages": Pages}
    monkeypatch.setattr(sources, "SOURCES", known)
    monkeypatch.setattr(sources, "source_named", known.__getitem__)
    return sources.settings_of("made", "pages")


def test_a_setting_says_what_it_means_in_each_source(settings):
    said = {name: field.description for name, field in settings.model_fields.items()}
    place = {name: said.pop(name) for name in ("out", "force")}
    assert all(place.values())
    assert said == {
        "source": "lines: Read lines; pages: Read pages, one a file",
        "path": "lines: A file; pages: A folder",
        "least": "Fewest words",
        "language": "Its language",
        "deep": "pages: Folders within it, too",
    }


def test_a_default_is_that_of_all_sources_or_none(settings):
    assert settings().model_dump() == {
        "source": "pages",
        "path": None,
        "least": 1,
        "language": None,
        "deep": False,
        "out": None,
        "force": False,
    }
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        settings(least=0)
    with pytest.raises(ValidationError, match="'pages' or 'lines'"):
        settings(source="elsewhere")


def test_a_source_gets_what_was_given_and_no_setting_of_another(settings):
    chosen = settings(path="a", least=2, deep=True).chosen()
    assert chosen == Pages(path=Path("a"), least=2, deep=True)
    with pytest.raises(BadInput, match="source 'lines': no setting 'deep'"):
        settings(source="lines", path="a", deep=True).chosen()
    with pytest.raises(BadInput, match=r"source 'lines': .*path"):
        settings(source="lines").chosen()
