"""The examples in the docstrings of the face, each file in a root of its own."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import ssi_core

ROOT = Path(next(iter(ssi_core.__path__)))
FACES = (*(ROOT / "face").glob("*.py"), *ROOT.glob("*/face.py"), *ROOT.glob("guests/*/face.py"))

TRAINS = {"face/fit": pytest.mark.trains}
NAMES = [
    pytest.param(name, marks=TRAINS.get(name, ()))
    for name in sorted(path.relative_to(ROOT).with_suffix("").as_posix() for path in FACES)
]


@pytest.mark.parametrize("name", NAMES)
def test_examples_print_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = import_module(f"ssi_core.{name.replace('/', '.')}".removesuffix(".__init__"))
    assert doctest.testmod(module).failed == 0
