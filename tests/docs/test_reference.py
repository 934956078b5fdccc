"""Reference tables of the pages: complete, described, and with defaults that TOML reads back."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

import pytest
from jsonschema import Draft202012Validator

from ssi_core.models import MODELS
from ssi_core.types import BadInput
from tests.docs import reference, schema
from tests.docs.markers import markers
from tests.docs.pages import ROOT, pages

VALIDATOR = Draft202012Validator(schema.table_schema())


def test_every_model_and_table_is_on_a_page():
    there = {
        marker.said
        for page in pages()
        for marker in markers((ROOT / page).read_text(encoding="utf-8"))
        if marker.kind == "reference"
    }
    assert there == {"commands", "shared", *schema.CLASSES}


@pytest.mark.parametrize("name", MODELS)
def test_a_default_is_written_as_toml_has_it(name):
    for default in (one["default"] for one in schema.keys(name).values() if "default" in one):
        shown = reference._shown(default).strip("`")
        if shown and "..." not in shown:
            assert tomllib.loads(f"value = {shown}")["value"] == default


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

    monkeypatch.setattr(schema, "CLASSES", {"model": Model})
    with pytest.raises(BadInput, match=r"Model\.unknown is not described"):
        schema.keys("model")


def test_a_key_that_differs_from_the_base_is_listed_again():
    keys = [row[0] for row in reference._keys("multi_task")]
    assert keys == ["`diagonal`", "`auxiliary`", "`length`", "`storage`", "`adagrad`"]
    assert reference._keys("tfidf") == [("`view`", "text", '`"raw"`', "[shared](#shared-keys)")]
    with pytest.raises(BadInput, match=r"no reference 'bilinaer'.* Did you mean 'bilinear'"):
        reference.reference("bilinaer")


def test_the_schema_in_the_pages_is_that_of_the_code():
    assert (ROOT / schema.FILE).read_text(encoding="utf-8") == schema.written()


@pytest.mark.parametrize(
    "path", sorted((ROOT / "flows/tables").glob("*.toml")), ids=lambda p: p.stem
)
def test_the_schema_takes_every_shipped_table(path):
    values = tomllib.loads(path.read_text(encoding="utf-8"))
    assert [error.message for error in VALIDATOR.iter_errors(values)] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tilte = 'A'", "'tilte' was unexpected"),
        ("seeds = 0", "0 is less than the minimum of 1"),
        ("[[rows]]\nlabel = 'A'\nrate = 1", "'rate' was unexpected"),
        ("[[rows]]\nlabel = 'A'\npaper.map_sd = 1.0", "'map_sd' was unexpected"),
        ("[[rows]]\nmodel = 'tfdif'", "'tfdif' is not one of"),
        ("[[rows]]\n[[rows.parts]]\ndimension = 3", "'dimension' was unexpected"),
        ("[defaults.tfidf]\nrates = [0.1]", "'rates' was unexpected"),
        ("[tasks.links]\nsplit = 'random'", "'random' is not"),
    ],
)
def test_the_schema_refuses_what_no_table_has(text, message):
    (error,) = VALIDATOR.iter_errors(tomllib.loads(text))
    assert message in " ".join([error.message, *(one.message for one in error.context)])
