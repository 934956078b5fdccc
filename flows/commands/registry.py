"""Verbs of the registry: promote, rollback, champions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flows.commands.tables import local_time
from ssi_core.command.fields import argument, option
from ssi_core.command.options import Name
from ssi_core.command.verb import Outcome, verb

if TYPE_CHECKING:
    from rich.console import Console

NAME: Any = option("ssi", "Name of the registered model.", type=Name("registered model"))
WHY: Any = option("by hand", "Reason to keep in the history.")


@dataclass(frozen=True, kw_only=True)
class PromoteSettings:
    """Settings of ``ssi ops promote``."""

    run_or_version: str = argument("RUN|VERSION")
    name: str = NAME
    why: str = WHY


@verb(
    PromoteSettings, examples=("ssi ops promote 0123abcd", "ssi ops promote 3 --why 'fixed titles'")
)
def promote(given: PromoteSettings) -> Outcome:
    """Make the model of a run the champion.

    The model is registered, with its card, and gets the alias models:/NAME@champion. The gate is
    not asked: 'ssi retrain' does that.
    """
    from flows import tracking
    from flows.tracking import registry

    tracking.ready()
    return _changed(given.name, registry.promote(given.run_or_version, given.why, given.name))


@dataclass(frozen=True, kw_only=True)
class RollbackSettings:
    """Settings of ``ssi ops rollback``."""

    to: str | None = option(
        None,
        "Version that becomes the champion. [default: the champion before]",
        flag="--to-version",
        metavar="VERSION",
    )
    name: str = NAME
    why: str = WHY


@verb(
    RollbackSettings,
    examples=("ssi ops rollback --why 'wrong language'", "ssi ops rollback --to-version 2"),
)
def rollback(given: RollbackSettings) -> Outcome:
    """Take the champion back.

    The alias returns to the version before. The version that loses it no longer counts as a measure
    for later challengers.
    """
    from flows import tracking
    from flows.tracking import registry

    tracking.ready()
    return _changed(given.name, registry.rollback(given.why, given.name, to=given.to))


@dataclass(frozen=True, kw_only=True)
class ChampionsSettings:
    """Settings of ``ssi ops champions``."""

    name: str = NAME


@verb(ChampionsSettings, examples=("ssi ops champions", "ssi ops champions --json"))
def champions(given: ChampionsSettings) -> Outcome:
    """List the champions: which, when, and why."""
    from flows import tracking
    from flows.tracking import registry

    tracking.ready()
    changes, now = registry.history(given.name), registry.champion(given.name)
    value = {
        "name": given.name,
        "champion": now,
        "changes": [change.to_dict() for change in changes],
    }

    def show(console: Console) -> None:
        from rich.table import Table

        if not changes:
            console.print(f"{given.name} has no champion yet; 'ssi retrain' makes one")
            return
        table = Table("", "version", "before", "when", "how", "why", box=None, pad_edge=False)
        for change in changes:
            mark = "not done" if not change.done else ("*" if change is changes[-1] else "")
            when = local_time(change.when)
            cells = (change.version, change.before or "", when, change.how, change.why)
            table.add_row(mark, *cells)
        console.print(table)
        console.print(f"the champion of {given.name} is {_named(now)}")

    return Outcome(value, show)


def _named(version: str | None) -> str:
    return "none" if version is None else f"version {version}"


def _changed(name: str, change: Any) -> Outcome:
    value = {"name": name, **change.to_dict()}
    line = f"the champion of {name} is version {change.version}, before: {_named(change.before)}"
    return Outcome(value, lambda console: console.print(line))
