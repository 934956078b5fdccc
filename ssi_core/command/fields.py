"""Parameters of a verb that follow from the fields of a class of settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click
from annotated_types import Ge, Le, MaxLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo

_PATH = click.Path(path_type=Path)


def parameters(
    settings: type[BaseModel], callbacks: Mapping[str, Any] | None = None
) -> Iterator[click.Parameter]:
    """Yield the argument and the options of the fields, in their order.

    An option that is not used is None, or empty, so that the class fills in its default.

    Parameters
    ----------
    callbacks : mapping
        What reads the text of a field that has a spelling of its own.
    """
    for name, field in settings.model_fields.items():
        extra = field.json_schema_extra
        declared: Mapping[str, Any] = extra if isinstance(extra, dict) else {}
        callback = (callbacks or {}).get(name)
        if "argument" in declared:
            yield _argument(name, field, str(declared["argument"]))
        else:
            flag = declared.get("flag", f"--{name.replace('_', '-')}")
            kind = {"type": click.STRING} if callback else _kind(field)
            yield click.Option(
                [str(flag), name],
                **{**kind, "callback": callback or kind.get("callback")},
                metavar=declared.get("metavar"),
                required=field.is_required(),
                help=_help(field),
            )


def _argument(name: str, field: FieldInfo, metavar: str) -> click.Argument:
    several = get_origin(field.annotation) is tuple
    one = not several or any(isinstance(bound, MaxLen) for bound in field.metadata)
    required = field.is_required()
    shown = metavar if one else f"{metavar}..." if required else f"[{metavar}]..."
    return click.Argument(
        [name],
        type=_PATH if several else click.STRING,
        nargs=1 if one else -1,
        required=required,
        metavar=shown,
        callback=(lambda context, option, value: (value,)) if several and one else None,
    )


def _help(field: FieldInfo) -> str:
    known = field.default not in (None, "", (), {}) and not field.is_required()
    text = str(field.description)
    return f"{text}. Else {_spelled(field.default)}." if known else f"{text}."


def _spelled(value: Any) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value)


def _kind(field: FieldInfo) -> dict[str, Any]:
    """Return the type of an option, and how many values it takes."""
    (kind, *_) = (one for one in _alternatives(field.annotation) if one is not NoneType)
    if get_origin(kind) is dict:
        return {"type": click.STRING, "multiple": True, "callback": pairs_of}
    if get_origin(kind) is not tuple:
        return {"type": _type(kind, field.metadata)}
    (first, *others) = get_args(kind)
    several = {"multiple": True} if others == [...] else {"nargs": 1 + len(others)}
    return {"type": _type(first, ()), **several}


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _type(kind: Any, bounds: Any) -> click.ParamType[Any]:
    if get_origin(kind) is Annotated:
        kind, *bounds = get_args(kind)
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    least: Any = next((one.ge for one in bounds if isinstance(one, Ge)), None)
    most: Any = next((one.le for one in bounds if isinstance(one, Le)), None)
    plain: dict[Any, click.ParamType[Any]] = {
        int: click.IntRange(least, most),
        float: click.FloatRange(least, most),
        bool: click.BOOL,
        Path: _PATH,
    }
    return plain.get(kind, click.STRING)


def pairs_of(
    context: click.Context, option: click.Parameter, value: tuple[str, ...]
) -> dict[str, str]:
    """Return the names and values of an option that is given as NAME=VALUE, and repeated."""
    pairs = dict(pair.partition("=")[::2] for pair in value)
    if len(pairs) < len(value):
        raise click.BadParameter("a name is there twice", context, option)
    for name, other in pairs.items():
        if not (name and other):
            raise click.BadParameter(f"{name!r} is not {option.metavar}", context, option)
    return pairs


def values_of(pairs: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of `pairs_of` as numbers, several of them, or texts.

    >>> values_of({"rounds": "100", "lambdas": "0.5,1", "measure": "letor_map"})
    {'rounds': 100, 'lambdas': (0.5, 1), 'measure': 'letor_map'}
    """

    def one(text: str) -> Any:
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        return text

    return {
        name: tuple(map(one, text.split(","))) if "," in text else one(text)
        for name, text in pairs.items()
    }
