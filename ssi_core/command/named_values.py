"""Values of an option that is given as NAME=VALUE, and may be repeated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
