"""Numbers as a person types them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import click


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
