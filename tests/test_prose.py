"""Docstrings and names that a first-time reader understands: the rules of CONTRIBUTING.md."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for room in ("ssi_core", "flows") for path in (ROOT / room).rglob("*.py"))

RIDDLE = re.compile(r"(What|Where|Whether|How|Which|Who|When|That|Those|It|They|One|Nothing)\b")
"""A docstring names its subject, or begins with a verb."""
VAGUE = {"said", "found", "told", "asked", "made", "own", "there"}
"""A variable is named by the thing that it holds."""

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
    """Yield ``name : type`` lines of a docstring with the line below."""
    lines, section = [*text.split("\n"), ""], ""
    for line, below in pairwise(lines):
        if re.fullmatch("-{3,}", below.strip()):
            section = line.strip()
        elif section in ("Parameters", "Attributes") and re.match(r"[\w*].* : ", line):
            yield line, below


def stored(tree):
    """Yield the variables of a file, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno


def problems(source):
    """Yield what a first-time reader would stumble over in a file."""
    tree = ast.parse(source)
    for name, text in documented(tree):
        if RIDDLE.match(text):
            yield f"{name}: the docstring begins with a riddle: {text.splitlines()[0]}"
        for line, below in parameters(text):
            names, kind = line.split(" : ", 1)
            if not TYPE.fullmatch(kind):
                yield f"{name}: {names}: prose in the place of a type: {kind}"
            elif below.strip() and not below.startswith("    ") and " : " not in below:
                yield f"{name}: {names}: its meaning is not indented: {below}"
    for name, line in stored(tree):
        if name in VAGUE and not _is_field(tree, line):
            yield f"line {line}: a variable named {name!r}"


def _is_field(tree, line):
    """Tell whether a line declares a field of a class: files and services keep such names."""
    classes = (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    return any(
        isinstance(part, ast.AnnAssign) and part.lineno == line
        for node in classes
        for part in node.body
    )


def test_docstrings_and_names_are_plain():
    assert [
        f"{path.relative_to(ROOT)}: {problem}"
        for path in SOURCES
        for problem in problems(path.read_text(encoding="utf-8"))
    ] == []


HEAD = 'def f(a):\n    """Do it.\n\n    Parameters\n    ----------\n'


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ('"""What is looked at."""', "riddle"),
        ("def f():\n    found = 1", "found"),
        (f'{HEAD}    a : of the side\n    """', "prose"),
        (f'{HEAD}    a : int\n    Rows.\n    """', "indented"),
    ],
)
def test_a_breach_is_seen(source, seen):
    (problem,) = problems(source)
    assert seen in problem
