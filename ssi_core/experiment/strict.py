"""A strict reader of dataclasses: an unknown key or a value of a wrong kind names what is known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from ssi_core.types import BadInput

T = TypeVar("T")


def read(kind: type[T], entries: Any, where: str) -> T:
    """Build a dataclass from values: every key known, every value of the declared kind."""
    assert is_dataclass(kind)
    entries, hints = mapping(entries, where), get_type_hints(kind)
    parameters: list[Field[Any]] = [f for f in fields(kind) if f.init]
    names = [f.name for f in parameters if f.name != "where"]
    for key in entries:
        if key not in names:
            raise BadInput(f"{where}: no key {instead(key, names)}")
    for f in parameters:
        if f.name not in entries and f.default is MISSING and f.default_factory is MISSING:
            raise BadInput(f"{where}: {f.name} is missing, expected {_say(hints[f.name])}.")
    values = {key: _value(hints[key], value, f"{where}: {key}") for key, value in entries.items()}
    try:
        return cast(T, kind(**values))
    except ValueError as error:  # a dataclass may check its own values
        raise BadInput(f"{where}: {error}") from error


def _value(hint: Any, value: Any, where: str) -> Any:
    # The value as the hint wants it (an int becomes a float, a list a tuple), or an error.
    origin, options = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        for option in options:
            try:
                return _value(option, value, where)
            except BadInput:
                continue
    elif origin is Literal:
        if any(value == option and type(value) is type(option) for option in options):
            return value
        if isinstance(value, str):
            raise BadInput(f"{where}: no choice {instead(value, [str(o) for o in options])}")
    elif origin is tuple:
        if isinstance(value, list | tuple):
            kinds = [options[0]] * len(value) if options[-1] is Ellipsis else options
            if len(kinds) == len(value):
                return tuple(_value(k, v, where) for k, v in zip(kinds, value, strict=True))
    elif hint is float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            with suppress(OverflowError):
                return float(value)
    elif hint is int:
        if isinstance(value, int) and not isinstance(value, bool):
            if abs(value) >= 2**63:
                raise BadInput(f"{where}: {value} is too large.")
            return value
    elif hint is Any or isinstance(value, origin or hint):
        return value
    raise BadInput(f"{where}: {value!r} is of the wrong kind, expected {_say(hint)}.")


_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def _say(hint: Any) -> str:
    origin, options = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(_say(option) for option in options if option is not NoneType)
    if origin is Literal:
        return " or ".join(repr(option) for option in options)
    if origin is tuple:
        return f"a list, each of it {_say(options[0])}"
    return _KINDS.get(hint, getattr(hint, "__name__", str(hint)))


def instead(name: str, known: Iterable[str]) -> str:
    """Say what was meant: ``'tfdif'. Did you mean 'tfidf'? Known: bm25, tfidf.``."""
    known = list(known)
    close = difflib.get_close_matches(name, known, 1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"{name!r}.{hint} Known: {', '.join(known) or 'none'}."


def mapping(value: Any, where: str) -> dict[str, Any]:
    """Return keys with values as a dict; anything else is an error."""
    if not isinstance(value, Mapping):
        raise BadInput(f"{where}: {value!r} is of the wrong kind, expected keys with values.")
    return dict(value)


def tables(value: Any, where: str) -> list[dict[str, Any]]:
    """Return a list of tables as dicts; anything else is an error."""
    if not isinstance(value, list):
        raise BadInput(f"{where}: {value!r} is of the wrong kind, expected a list of tables.")
    return [mapping(one, where) for one in value]
