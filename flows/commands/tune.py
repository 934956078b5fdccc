"""Verb of settings: tune."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flows.commands.flow_verb import FlowVerb
from ssi_core.command.fields import option
from ssi_core.command.options import SEED, TABLE, TASK
from ssi_core.command.verb import Outcome, settings, verb

if TYPE_CHECKING:
    from rich.console import Console

    from flows.tune import Search


def _value(text: str) -> Any:
    """Read a value as TOML has it; a bare word is text."""
    with suppress(tomllib.TOMLDecodeError):
        return tomllib.loads(f"value = {text}")["value"]
    return text


def _grid(context: click.Context, option: click.Parameter, said: tuple[str, ...]) -> dict[str, Any]:
    grid: dict[str, list[Any]] = {}
    for one in said:
        name, equals, values = one.partition("=")
        read = _value(values) if values.startswith("[") else [_value(v) for v in values.split(",")]
        if not name or not equals or not isinstance(read, list) or "" in read or not read:
            raise click.BadParameter(f"{one!r}; expected NAME=VALUE,VALUE or NAME=[VALUE, VALUE]")
        if name in grid:
            raise click.BadParameter(f"{name!r} is set twice; give all of its values at once")
        grid[name] = read
    return grid


@dataclass(frozen=True, kw_only=True)
class TuneSettings:
    """Settings of ``ssi lab tune``."""

    table: str = TABLE
    task: Path = TASK
    row: str = option(..., "Label of the row.", metavar="LABEL")
    grid: dict[str, Any] = option(
        ...,
        "Setting and the values to try, the plain and cheap ones first. Can be repeated.",
        metavar="NAME=A,B",
        callback=_grid,
    )
    seed: int = SEED
    budget: int | None = option(
        None, "Maximum number of triples of a training. [default: that of the row]", ge=1, le=2**62
    )


@verb(
    TuneSettings,
    examples=(
        'ssi lab tune demo --task task --row "U\'V + I" --grid margin=1,0.3 --grid init_std=0.1,1',
        "ssi lab tune my-table.toml --task task --row CFH --grid parts.2.margin=1,0.3",
    ),
    cls=FlowVerb,
)
def tune(given: TuneSettings) -> Outcome:
    """Choose settings of a row on validation pairs.

    Each combination of the values is trained once and measured on all queries with a validation
    pair; test pairs are not read. The best combination has the lowest rank loss. The winner is the
    first, in the order given, that is not worse than the best by more than one standard error of
    their difference: a plain value is kept until a more expensive one is better.
    """
    from flows import tracking
    from flows.training.bars import shown_board
    from flows.tune import tune as search

    tracking.ready()
    with shown_board():
        search_result = search(
            given.table,
            given.row,
            given.task,
            given.grid,
            seed=given.seed,
            threads=settings().threads or 1,
            budget=given.budget,
        )
    value = {**asdict(search_result), "chosen": dict(search_result.chosen)}
    return Outcome(value, lambda console: _show(console, search_result))


def _show(console: Console, found: Search) -> None:
    from ssi_core.command.text import plain_table

    names = list(found.chosen)
    head = ["", *names, "rank loss %", "above the best", "MAP", "triples", "s"]
    lines = [
        [
            "*" if number == found.winner else "",
            *(str(one.settings[name]) for name in names),
            f"{100 * one.rank_loss:.3f}",
            f"{100 * one.worse:.3f} ±{100 * one.error:.3f}",
            f"{one.map:.3f}",
            f"{one.triples:,.0f}",
            f"{one.seconds:.0f}",
        ]
        for number, one in sorted(enumerate(found.tries), key=lambda pair: pair[1].rank_loss)
    ]
    console.print(plain_table(head, lines, left=1 + len(names)))
    console.print("on validation; *: the first that is within one s.e. of the best", style="dim")
    console.print("\n".join(toml_lines(found.chosen)), markup=False, highlight=False)


def toml_lines(chosen: Any) -> list[str]:
    """Return settings as a table's file has them; those of parts under their heading."""
    lines: dict[str, list[str]] = {"": []}
    for name, value in chosen.items():
        where, _, key = name.rpartition(".")
        lines.setdefault(where, []).append(f"{key} = {_spelled(key, value)}")
    heads = {where: [f"# {where}"] if where else [] for where in lines}
    return [line for where in lines for line in (*heads[where], *lines[where])]


def _spelled(name: str, value: Any) -> str:
    if name == "rates" and not isinstance(value, list):
        value = [value]
    import json

    return json.dumps(value)  # numbers, text, true and lists are alike in TOML
