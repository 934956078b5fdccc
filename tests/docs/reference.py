"""Reference tables of the pages, made of the code: `<!-- reference: NAME -->`.

    commands                          verbs of the command
    table | row | paper | claim | printed | task      keys of a TOML table
    trained                           hyper-parameters of every model that is trained on triples
    MODEL                             hyper-parameters of a model, less those of its base

A key is described by the docstring of its class, or by its field of the task's spec. A key without
a description is an error.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Mapping
from typing import Any

import click
from pydantic_core import PydanticUndefined

from flows.cli import cli
from ssi_core.evaluation.claims import Claim
from ssi_core.experiment.tables import PrintedRow, Published, Row, Table
from ssi_core.models import MODELS
from ssi_core.models.trained import Trained
from ssi_core.strict import instead
from ssi_core.tasks.spec import TaskSpec
from ssi_core.types import BadInput

CLASSES: Mapping[str, type] = {
    "table": Table,
    "row": Row,
    "paper": Published,
    "claim": Claim,
    "printed": PrintedRow,
    "trained": Trained,
    **MODELS,
}
_ELSEWHERE = {"table": {"rows", "tasks", "claims", "printed"}, "row": {"parameters", "paper"}}
"""Keys that are tables of their own, or the hyper-parameters of a model."""
_SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", re.M | re.S)
_ENTRY = re.compile(r"^(\w[\w, ]*?)(?: : ([^\n]*))?\n((?:^(?: {4}.*)?\n?)*)", re.M)
_CODE = re.compile(r" \(`[a-z_]+\.[a-zA-Z_.]+`\)")
"""A place in the code, which readers of a page need not know."""
_KINDS = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "tuple": "list",
    "Published": "table",
}
_REQUIRED = (dataclasses.MISSING, PydanticUndefined)


def reference(name: str) -> str:
    """Return the Markdown table of a name."""
    if name == "commands":
        return _table(("verb", "what it does"), _verbs())
    if name == "task":
        return _table(("key", "default", "meaning"), _spec())
    if name not in CLASSES:
        raise BadInput(f"no reference {instead(name, ['commands', 'task', *CLASSES])}")
    return _table(("key", "value", "default", "meaning"), _keys(name))


def _verbs() -> list[tuple[str, ...]]:
    return [
        (f"`ssi {name}`", verb.get_short_help_str(200))
        for name in cli.list_commands(click.Context(cli))
        if (verb := cli.commands[name]) and not verb.hidden
    ]


def _spec() -> list[tuple[str, ...]]:
    return [
        (f"`{name}`", _shown(field.default), field.description or "")
        for name, field in TaskSpec.model_fields.items()
        if name != "views"  # a table has the views that its rows read
    ]


def _keys(name: str) -> list[tuple[str, ...]]:
    kind = CLASSES[name]
    described: dict[str, tuple[str, str]] = {}
    for one in reversed(kind.__mro__):
        described |= descriptions(one.__doc__ or "")
    names: dict[tuple[str, str, str], list[str]] = {}
    for field in _fields(kind, _ELSEWHERE.get(name, set())):
        if field.name not in described:
            raise BadInput(f"{kind.__name__}.{field.name} is not described in its docstring")
        value, meaning = described[field.name]
        names.setdefault((_kind(value), _shown(field.default), meaning), []).append(field.name)
    return [(", ".join(f"`{name}`" for name in same), *row) for row, same in names.items()]


def _kind(value: str) -> str:
    """Return a type in the words of a person who writes TOML."""
    words = re.sub(r"\w+", lambda word: _KINDS.get(word[0], word[0]), value)
    return re.sub(r"(?<=list of )(text|whole number|number)", r"\1s", words)


def _fields(kind: Any, elsewhere: set[str]) -> list[dataclasses.Field[Any]]:
    """Return the fields of a class that its base lacks or has with another default."""
    base: Any = next((one for one in kind.__mro__[1:] if one in CLASSES.values()), None)
    same = {} if base is None else {field.name: field.default for field in dataclasses.fields(base)}
    return [
        field
        for field in dataclasses.fields(kind)
        if field.repr
        and field.name not in elsewhere
        and (field.name not in same or same[field.name] != field.default)
    ]


def descriptions(docstring: str) -> dict[str, tuple[str, str]]:
    """Return parameter -> type and description of a docstring in the form of numpydoc.

    >>> descriptions("Do it." + chr(10) * 2 + "Parameters" + chr(10) + "----------" + chr(10)
    ...     + "a, b : int" + chr(10) + "    Number of ``x``." + chr(10))
    {'a': ('int', 'Number of `x`.'), 'b': ('int', 'Number of `x`.')}
    """
    found = {}
    for section in _SECTION.findall(inspect.cleandoc(docstring) + "\n"):
        for names, value, text in _ENTRY.findall(section):
            meaning = _CODE.sub("", " ".join(text.split()).replace("``", "`"))
            found |= {name.strip(): (value, meaning) for name in names.split(",")}
    return found


def _shown(default: Any) -> str:
    """Return a default as TOML has it; nothing where there is none."""
    if default in (None, "", ()) or any(default is one for one in _REQUIRED):
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, tuple):
        if len(default) > 8:
            return f"`[{default[0]}, {default[1]}, ... {default[-1]}]`"
        return "`[" + ", ".join(_inline(one) for one in default) + "]`"
    return f"`{_inline(default)}`"


def _inline(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_inline(one)}" for key, one in value.items()) + " }"
    return f"{value}"


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table of Markdown; a column without a value is left out."""
    used = [at for at in range(len(heads)) if any(row[at] for row in rows)]
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join(
        "| " + " | ".join(line[at].replace("|", r"\|") for at in used) + " |" for line in lines
    )
