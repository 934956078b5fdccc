"""Reference tables of the pages: complete, described, and with defaults that TOML reads back."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields

import pytest

from ssi_core.models import MODELS
from ssi_core.types import BadInput
from tests.docs import reference
from tests.docs.markers import markers
from tests.docs.pages import ROOT, pages


def test_every_model_and_table_is_on_a_page():
    there = {
        marker.said
        for page in pages()
        for marker in markers((ROOT / page).read_text(encoding="utf-8"))
        if marker.kind == "reference"
    }
    assert there == {"commands", "task", *reference.CLASSES}


@pytest.mark.parametrize("name", MODELS)
def test_a_default_is_written_as_toml_has_it(name):
    for field in fields(MODELS[name]):
        shown = reference._shown(field.default).strip("`")
        if shown and "..." not in shown:
            value = tomllib.loads(f"value = {shown}")["value"]
            assert value == (list(field.default) if isinstance(value, list) else field.default)


def test_a_key_without_a_description_is_seen(monkeypatch):
    @dataclass
    class Model:
        """Do nothing.

        Parameters
        ----------
        known : int
            A number.
        """

        known: int = 1
        unknown: int = 2

    monkeypatch.setattr(reference, "CLASSES", {"model": Model})
    with pytest.raises(BadInput, match=r"Model\.unknown is not described"):
        reference.reference("model")


def test_a_key_that_differs_from_the_base_is_listed_again():
    keys = [row[0] for row in reference._keys("multi_task")]
    assert keys == ["`diagonal`", "`beside`"]
    with pytest.raises(BadInput, match=r"no reference 'bilinaer'.* Did you mean 'bilinear'"):
        reference.reference("bilinaer")
