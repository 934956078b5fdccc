"""Values of an option that is given as NAME=VALUE, and may be repeated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_origin, get_type_hints

import click


def pairs_of(
    context: click.Context, option: click.Parameter, value: tuple[str, ...]
) -> dict[str, str]:
    """Return the names and values of an option that is given as NAME=VALUE, and repeated.

    Where the help shows NAME=[VALUE], a value may be empty.
    """
    names = str(option.metavar).partition("=")
    pairs = dict(pair.partition("=")[::2] for pair in value)
    if len(pairs) < len(value):
        raise click.BadParameter("a name is there twice", context, option)
    for given, (name, other) in zip(value, pairs.items(), strict=True):
        if not (name and (other or (names[2].startswith("[") and "=" in given))):
            there = f"{name or names[0]}={other or names[2].strip('[]')}"
            raise click.BadParameter(
                f"{name!r} is not {option.metavar}. Type: {option.opts[0]} {there}", context, option
            )
    return pairs


def values_of(pairs: Mapping[str, str], kind: type | None = None) -> dict[str, Any]:
    """Return the values of `pairs_of` as numbers, several of them, or texts.

    Where the dataclass that they are for is given, a field for a text takes "3" as a text, and one
    for a list takes a value alone.

    >>> values_of({"rounds": "100", "lambdas": "0.5,1", "measure": "letor_map"})
    {'rounds': 100, 'lambdas': (0.5, 1), 'measure': 'letor_map'}
    """
    hints = {} if kind is None else get_type_hints(kind)

    def one(text: str) -> Any:
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        return text

    def value(name: str, text: str) -> Any:
        if hints.get(name) is str:
            return text
        several = "," in text or get_origin(hints.get(name)) is tuple
        return tuple(map(one, text.split(","))) if several else one(text)

    return {name: value(name, text) for name, text in pairs.items()}


def require_name(name: str, what: str, known: Iterable[str], option: str) -> None:
    """Raise `BadInput` where the value of an option is none of the known names."""
    from ssi_core.strict import instead  # which loads numpy, and a help nothing
    from ssi_core.types import BadInput

    known = list(known)
    if name not in known:
        raise BadInput(f"{option}: no {what} {instead(name, known)}")
