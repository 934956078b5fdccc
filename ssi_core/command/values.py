"""Values as a person types them: numbers, and NAME=VALUE of an option that may be repeated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
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


class Whole(click.types.IntParamType):
    """A whole number, as a person writes it: 200000, 200_000 or 2e5."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        return super().convert(self.read(value, param, ctx), param, ctx)

    def read(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number that a text says."""
        try:
            return int(value)
        except ValueError:
            with suppress(ValueError):
                if (number := float(value)).is_integer():
                    return int(number)
        self.fail(f"{value!r} is no whole number, such as 10, 200000 or 2e5.", param, ctx)


class WholeRange(Whole, click.IntRange):
    """A whole number with bounds."""


class Real(click.types.FloatParamType):
    """A number."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        try:
            return super().convert(float(value), param, ctx)
        except ValueError:
            self.fail(f"{value!r} is no number, such as 0.5.", param, ctx)


class RealRange(Real, click.FloatRange):
    """A number with bounds."""


class NumberOrWord(click.ParamType[Any]):
    """A number, or a word that stands for one."""

    name = "number"

    def __init__(self, number: click.ParamType[Any], words: tuple[str, ...]) -> None:
        self.number, self.words = number, words

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number or the word."""
        if value in self.words or not isinstance(value, str):
            return value
        try:
            return self.number.convert(value, param, ctx)
        except click.BadParameter:
            words = " or ".join(map(repr, self.words))
            least = getattr(self.number, "min", None)
            bound = "" if least is None else f" of at least {least}"
            self.fail(f"{value!r} is neither {words} nor a number{bound}", param, ctx)
