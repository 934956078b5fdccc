"""Verbs of the registry: promote, rollback, champions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ssi_core.command.verb import Name, Outcome, Verb

if TYPE_CHECKING:
    from rich.console import Console

NAME = click.option(
    "--name",
    type=Name("registered model"),
    default="ssi",
    show_default=True,
    help="Name of the registered model.",
)
WHY = click.option("--why", default="by hand", show_default=True, help="Reason, for the history.")


@click.command(cls=Verb, examples=("ssi promote 0123abcd", "ssi promote 3 --why 'fixed titles'"))
@click.argument("run_or_version", metavar="RUN|VERSION")
@NAME
@WHY
def promote(run_or_version: str, name: str, why: str) -> Outcome:
    """Make the model of a run the champion.

    It is registered, with its card, and gets the alias models:/NAME@champion. The gate is not
    asked: 'ssi retrain' does that.
    """
    from flows import tracking
    from flows.tracking import registry

    tracking.ready()
    return _changed(name, registry.promote(run_or_version, why, name))


@click.command(cls=Verb, examples=("ssi rollback --why 'wrong language'", "ssi rollback --to 2"))
@click.option("--to", metavar="VERSION", help="Else the champion before.")
@NAME
@WHY
def rollback(to: str | None, name: str, why: str) -> Outcome:
    """Take the champion back.

    The alias returns to the version before; the one that loses it is no measure for later
    challengers.
    """
    from flows import tracking
    from flows.tracking import registry

    tracking.ready()
    return _changed(name, registry.rollback(why, name, to=to))


@click.command(cls=Verb, examples=("ssi champions", "ssi champions --json"))
@NAME
def champions(name: str) -> Outcome:
    """List the champions: which, when, and why."""
    from flows import tracking
    from flows.tracking import registry

    tracking.ready()
    changes, now = registry.history(name), registry.champion(name)
    value = {"name": name, "champion": now, "changes": [change.to_dict() for change in changes]}

    def show(console: Console) -> None:
        from rich.table import Table

        table = Table("", "version", "before", "when", "how", "why", box=None, pad_edge=False)
        for change in changes:
            mark = "not done" if not change.done else ("*" if change is changes[-1] else "")
            cells = (change.version, change.before or "", change.when, change.how, change.why)
            table.add_row(mark, *cells)
        console.print(table)
        console.print(f"the champion of {name} is {_named(now)}")

    return Outcome(value, show)


def _named(version: str | None) -> str:
    return "none" if version is None else f"version {version}"


def _changed(name: str, change: Any) -> Outcome:
    value = {"name": name, **change.to_dict()}
    line = f"the champion of {name} is version {change.version}, before: {_named(change.before)}"
    return Outcome(value, lambda console: console.print(line))
