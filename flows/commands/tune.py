"""Verb of settings: tune."""

from __future__ import annotations

import tomllib
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flows.commands.flow_verb import FlowVerb
from flows.commands.runs import TASK
from ssi_core.command.data import table_file
from ssi_core.command.verb import Outcome, settings

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


@click.command(
    cls=FlowVerb,
    examples=(
        'ssi tune demo --task task --row "U\'V + I" --set margin=1,0.3,0.1 --set init_std=0.1,0.01',
        "ssi tune my-table.toml --task task --row CFH --set parts.2.margin=1,0.3",
    ),
)
@click.argument("table", callback=table_file)
@TASK
@click.option("--row", required=True, metavar="LABEL", help="Label of the row.")
@click.option(
    "--set",
    "grid",
    multiple=True,
    required=True,
    metavar="NAME=A,B",
    callback=_grid,
    help="A setting and its values, the plain and cheap ones first; may be repeated.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--budget", type=click.IntRange(1, 2**62), help="Triples of a training at most; else the row's."
)
def tune(
    table: str, task: Path, row: str, grid: dict[str, Any], seed: int, budget: int | None
) -> Outcome:
    """Choose settings of a row on validation pairs.

    Each combination of the values is trained once and measured on all queries with a validation
    pair; test pairs are not read. The best has the lowest rank loss. The winner is the first, in
    the order given, that is not worse than the best by more than one standard error of their
    difference: a plain value stays until a dearer one is better.
    """
    from flows import tracking
    from flows.training.bars import shown_board
    from flows.tune import tune as search

    tracking.ready()
    with shown_board():
        search_result = search(
            table, row, task, grid, seed=seed, threads=settings().threads or 1, budget=budget
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
