"""The examples in the docstrings of the face, each file in a root of its own."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import ssi_core

FACE = Path(next(iter(ssi_core.__path__))) / "face"


@pytest.mark.parametrize("name", sorted(path.stem for path in FACE.glob("*.py")))
def test_examples_print_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = import_module(f"ssi_core.face.{name}".removesuffix(".__init__"))
    assert doctest.testmod(module).failed == 0
