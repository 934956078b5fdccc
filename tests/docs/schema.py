"""JSON Schema of a table's file: editors complete and check tables by it, and pages list its keys.

``docs/table.schema.json`` holds it. The kinds and bounds of keys are those of the dataclasses, and
their docstrings (of a task's settings: its fields) describe the keys. A key without a description
is an error.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter

from ssi_core.evaluation.claims import Claim
from ssi_core.evaluation.measures import OF_ALL_QUERIES
from ssi_core.evaluation.slates import PER_QUERY
from ssi_core.experiment.claimed import PRINTED
from ssi_core.experiment.tables import PrintedRow, Published, Row, Table
from ssi_core.models import MODELS
from ssi_core.models.bilinear.low_rank import LowRank
from ssi_core.models.bilinear.trained import Trained
from ssi_core.tasks.spec import TaskSpec
from ssi_core.types import BadInput

FILE = "docs/table.schema.json"
CLASSES: Mapping[str, type] = {
    "table": Table,
    "task": TaskSpec,
    "row": Row,
    "paper": Published,
    "claim": Claim,
    "printed": PrintedRow,
    "trained": Trained,
    "low_rank": LowRank,
    **MODELS,
}
_ELSEWHERE = {
    "table": {"rows", "tasks", "claims", "printed"},
    "task": {"views"},  # a table has the views that its rows read
    "row": {"parameters", "paper", "where"},
}
"""Keys that are tables of their own, hyper-parameters of a model, or in no file."""
_SECTION = re.compile(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", re.M | re.S)
_ENTRY = re.compile(r"^(\w[\w, ]*?)(?: : [^\n]*)?\n((?:^(?: {4}.*)?\n?)*)", re.M)
_CODE = re.compile(r" \(`[a-z_]+\.[a-zA-Z_.]+`\)")
"""A place in the code, which readers of a page need not know."""


def keys(name: str) -> dict[str, dict[str, Any]]:
    """Return the schema of each key that a table of a file may have; see `CLASSES`."""
    kind = CLASSES[name]
    properties = _without_titles(TypeAdapter(kind).json_schema())["properties"]
    described: dict[str, str] = {}
    for one in () if issubclass(kind, BaseModel) else reversed(kind.__mro__):
        described |= descriptions(one.__doc__ or "")
    schemas = {}
    for key, schema in properties.items():
        if key in _ELSEWHERE.get(name, ()):
            continue
        if not (meaning := described.get(key, schema.get("description"))):
            raise BadInput(f"{kind.__name__}.{key} is not described in its docstring")
        schemas[key] = _without_null(schema) | {"description": meaning}
    return schemas


def table_schema() -> dict[str, Any]:
    """Return the schema of a file.

    No key is needed there: another table may have it. A row may have the keys of every model: which
    are those of its own is said when the table is read.
    """
    paper = _table(keys("paper"))
    model = {"model": {"enum": [*MODELS], "description": keys("row")["model"]["description"]}}
    parameters = _united(map(keys, MODELS))
    parameters["parts"] |= _list_of({"$ref": "#/$defs/part"})
    row = {**keys("row"), **model, "paper": paper, **parameters}
    measure = {"enum": [*PER_QUERY]}
    claim = {
        **keys("claim"),
        "equal": _list_of({"type": "string"}) | {"minItems": 2, "maxItems": 2},
        "measure": {"anyOf": [measure, _list_of(measure)]},
    }
    printed = {"const": PRINTED}
    table = {
        "extends": {"type": "string", "description": "Table whose values are taken over"},
        "drop": _list_of({"type": "string"}) | {"description": "Labels of rows left out of it"},
        **keys("table"),
        "tasks": {"type": "object", "additionalProperties": _table(keys("task"))},
        "defaults": _table({name: _table(keys(name)) for name in MODELS}),
        "rows": _list_of(_table(row)),
        "claims": {"anyOf": [printed, _list_of({"anyOf": [printed, _table(claim)]})]},
        "printed": _list_of(_table({**keys("printed"), "paper": paper})),
    }
    table["measures"]["items"] = {"enum": [*PER_QUERY, *OF_ALL_QUERIES]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {"part": _table(model | parameters)},
        **_table(table),
    }


def written() -> str:
    """Return the text of the file."""
    return json.dumps(table_schema(), indent=1, ensure_ascii=False) + "\n"


def descriptions(docstring: str) -> dict[str, str]:
    """Return parameter -> description of a docstring in the form of numpydoc.

    >>> descriptions("Do it." + chr(10) * 2 + "Parameters" + chr(10) + "----------" + chr(10)
    ...     + "a, b : int" + chr(10) + "    Number of ``x``." + chr(10))
    {'a': 'Number of `x`.', 'b': 'Number of `x`.'}
    """
    meanings = {}
    for section in _SECTION.findall(inspect.cleandoc(docstring) + "\n"):
        for names, text in _ENTRY.findall(section):
            meaning = _CODE.sub("", " ".join(text.split()).replace("``", "`"))
            meanings |= {name.strip(): meaning for name in names.split(",")}
    return meanings


def _table(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _list_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": schema}


def _united(models: Iterable[Mapping[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return the keys of several models, without their different defaults."""
    every: dict[str, list[dict[str, Any]]] = {}
    for schemas in models:
        for key, schema in schemas.items():
            one = {name: value for name, value in schema.items() if name != "default"}
            every.setdefault(key, [])
            every[key] += [one] if one not in every[key] else []
    return {
        key: several[0] if len(several) == 1 else _any_of(several) for key, several in every.items()
    }


def _any_of(several: list[dict[str, Any]]) -> dict[str, Any]:
    return {"description": several[0]["description"], "anyOf": several}


def _without_titles(schema: Any) -> Any:
    # pydantic titles each key by its own name.
    if isinstance(schema, list):
        return [_without_titles(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_titles(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    # TOML has no null: a key is left out.
    choices = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    others = {key: value for key, value in schema.items() if key != "anyOf"}
    if others.get("default", "") is None:
        del others["default"]
    return others | (choices[0] if len(choices) == 1 else {"anyOf": choices} if choices else {})
