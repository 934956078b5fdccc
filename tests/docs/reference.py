"""Reference tables of the pages, made of the code: `<!-- reference: NAME -->`.

    commands                          verbs of the command
    shared                            hyper-parameters of several models
    table | task | row | paper | claim | printed      keys of a TOML table
    trained                           hyper-parameters of every model that is trained on triples
    low_rank                          those of every such model with maps U and V
    MODEL                             hyper-parameters of a model, less those of its base

Keys are those of the schema of a table's file (`tests.docs.schema`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from flows.cli import cli
from ssi_core.command.library import FURTHER, GROUPS
from ssi_core.command.verb import Verbs
from ssi_core.models.base import Model
from ssi_core.strict import instead
from ssi_core.types import BadInput
from tests.docs.schema import CLASSES, descriptions, keys

SHARED = descriptions(Model.__doc__ or "")

_KINDS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "object": "table",
}


def reference(name: str) -> str:
    """Return the Markdown table of a name."""
    if name == "commands":
        return _commands()
    if name == "shared":
        return _table(("key", "meaning"), [(f"`{key}`", text) for key, text in SHARED.items()])
    if name not in CLASSES:
        raise BadInput(f"no reference {instead(name, ['commands', 'shared', *CLASSES])}")
    return _table(("key", "value", "default", "meaning"), _keys(name))


def _commands() -> str:
    """Return a table of verbs for daily work, and one for each group."""
    parts = ["### Daily work", _verbs("", cli)]
    for name in GROUPS:
        group = cli.get_command(click.Context(cli), name)
        assert isinstance(group, Verbs)
        parts += [f"### `ssi {name}`", group.get_short_help_str(200), _verbs(name, group)]
    return "\n\n".join(parts)


def _verbs(name: str, group: Verbs) -> str:
    rows = [
        (
            f"`ssi {f'{name} {verb}'.strip()}`",
            one.get_short_help_str(200),
            "workflow" if f"{name}.{verb}".strip(".") in FURTHER else "library",
        )
        for verb, one in group.verbs.items()
        if not one.hidden
    ]
    return _table(("verb", "what it does", "needs"), rows)


def _keys(name: str) -> list[tuple[str, ...]]:
    """Return the keys of a class that its base lacks or has with another default."""
    bases = [base for base, kind in CLASSES.items() if kind in CLASSES[name].__mro__[1:]]
    inherited = keys(bases[-1]) if bases else {}
    same: dict[tuple[str, str, str], list[str]] = {}
    for key, schema in keys(name).items():
        default = schema.get("default")
        if key not in inherited or inherited[key].get("default") != default:
            shared = schema["description"] == SHARED.get(key)
            meaning = "[shared](#shared-keys)" if shared else schema["description"]
            row = _kind(schema), _shown(default), meaning
            same.setdefault(row, []).append(key)
    return [(", ".join(f"`{key}`" for key in names), *row) for row, names in same.items()]


def _kind(schema: Mapping[str, Any]) -> str:
    """Name the kind of a value as writers of TOML do."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_kind, schema["anyOf"])))
    if schema.get("type") == "array":
        items = _kind(schema["items"]) if "items" in schema else ""
        return f"list of {'pairs' if items == 'list' else f'{items}s'}" if items else "list"
    return _KINDS[schema.get("type", "object")]


def _shown(default: Any) -> str:
    """Write a default as TOML, or nothing."""
    if default in (None, "", [], {}) and not isinstance(default, bool):
        return ""
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, list):
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
    """Return a table of Markdown without its empty columns."""
    used = [at for at in range(len(heads)) if any(row[at] for row in rows)]
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join(
        "| " + " | ".join(line[at].replace("|", r"\|") for at in used) + " |" for line in lines
    )
