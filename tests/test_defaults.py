"""A parameter of one name has one default, whichever function takes it."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DEFAULTS = {
    "threads": {"1", "None"},
    "seed": {"0", "None"},
    "random_state": {"0"},
    "split_seed": {"0"},
    "k": {"10", "20", "1000"},
    "radius": {"1"},
    "level": {"0.05"},
    "depth": {"100", "None"},
    "force": {"False"},
    "deep": {"True"},
    "durable": {"True"},
    "plotted": {"True"},
    "live": {"False"},
    "of_lines": {"False"},
    "popularity": {"True", "_POPULARITY"},
    "stems": {"False", "stems_of"},
    "budget": {"None", "BUDGET", "20000000"},
}
"""Name of a parameter -> its defaults: a person's, and that of what is called by its caller."""


def defaults() -> Iterator[tuple[str, str, str]]:
    """Yield the place, name and default of each parameter that has one."""
    for path in sorted([*ROOT.glob("ssi_core/**/*.py"), *ROOT.glob("flows/**/*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                by_place = [*node.args.posonlyargs, *node.args.args]
                given = by_place[len(by_place) - len(node.args.defaults) :]
                pairs = [
                    *zip(given, node.args.defaults, strict=True),
                    *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True),
                ]
                for argument, value in pairs:
                    if value is not None:
                        where = f"{path.relative_to(ROOT)}: {node.name}"
                        yield where, argument.arg, ast.unparse(value)


@pytest.fixture(scope="module")
def found() -> dict[str, dict[str, list[str]]]:
    """Name -> default -> places."""
    places: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for where, name, value in defaults():
        places[name][value].append(where)
    return places


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_name_has_the_default_that_is_declared(name, found):
    others = {value: where for value, where in found[name].items() if value not in DEFAULTS[name]}
    assert others == {}


def test_nothing_is_shown_told_or_left_out_unless_it_is_asked_for(found):
    for name in ("progress", "out", "watch", "recorded", "checkpoint", "candidates", "index"):
        assert {*found[name]} == {"None"}, name
