"""Docstrings are complete numpydoc: each parameter has a type, and a meaning below it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for room in ("ssi_core", "flows") for path in (ROOT / room).rglob("*.py"))
SECTIONS = ("Parameters", "Attributes")

_ONE = (
    r"(?:an? )?(?:float|int|str|bool|None|bytes|path|object|optional|array|mapping|dict|callable|"
    r"class|frame|datetime|iterable|iterator|sequence|collection|list|set|tuple|file|number|function|"
    r'[A-Z][A-Za-z0-9]+|`[\w.]+`|"[^"]*"|\d+|u?int\d+|float\d+|CSR|CSC|polars|numpy|matrix|sorted)'
    r"(?: (?:arrays?|matrix|frame|bool|Series|float32|int32|int64|float64|str|object))*"
    r"(?: of [\w`.]+(?: [\w`.]+)?)*(?: \([^)]*\))?"
)
TYPE = re.compile(rf"{_ONE}(?:(?:, or |, | or | and ){_ONE})*")


def documented(tree):
    """Yield the modules, classes and functions of a file that have a docstring, and it."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and (text := ast.get_docstring(node)):
            yield getattr(node, "name", "module"), text


def parameters(text):
    """Yield the entries of a docstring, each with the line below it."""
    lines, section = [*text.split("\n"), "", ""], ""
    for line, below, after in zip(lines, lines[1:], lines[2:], strict=False):
        if re.fullmatch("-{3,}", below.strip()):
            section = line.strip()
        elif line.startswith(">>>"):
            section = ""
        elif section in SECTIONS and re.match(r"[\w*]", line) and not re.match("-{3,}", after):
            yield line, below


def problems(source):
    """Yield the entries of a file that are incomplete."""
    for name, text in documented(ast.parse(source)):
        for line, below in parameters(text):
            names, colon, kind = line.partition(" : ")
            if not colon and not re.fullmatch(r"\*{1,2}\w+|others", names):
                yield f"{name}: {names}: no type; is it the end of another line?"
            elif colon and not TYPE.fullmatch(kind):
                yield f"{name}: {names}: prose in the place of a type: {kind}"
            elif not below.startswith("    "):
                yield f"{name}: {names}: no meaning is indented below it"


def test_entries_of_docstrings_have_a_type_and_a_meaning():
    assert [
        f"{path.relative_to(ROOT)}: {problem}"
        for path in SOURCES
        for problem in problems(path.read_text(encoding="utf-8"))
    ] == []


HEAD = 'def f(a):\n    """Do it.\n\n    Parameters\n    ----------\n'


@pytest.mark.parametrize(
    ("entry", "seen"),
    [
        ("a : of the side\n        Rows.", "prose"),
        ("a : int\n    Rows.", "a: no meaning"),
        ("a : int", "a: no meaning"),
        ("a : int\n        Rows of\n    the task.", "no type"),
    ],
)
def test_an_incomplete_entry_is_reported(entry, seen):
    first, *_ = problems(f'{HEAD}    {entry}\n    """')
    assert seen in first
