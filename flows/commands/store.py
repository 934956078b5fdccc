"""Verbs of what was made: store verify."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from flows import environment
from flows.command import Outcome, Verb, Verbs, progress

if TYPE_CHECKING:
    from rich.console import Console

_MOST_SHOWN = 5


@click.group(cls=Verbs, examples=("ssi store verify", "ssi store verify corpus task"))
def store() -> None:
    """Look after what was made: corpora, tasks, indexes, models, checkpoints."""


@store.command(
    cls=Verb,
    examples=("ssi store verify", "ssi store verify corpus task", "ssi store verify --json"),
)
@click.argument(
    "places",
    metavar="[DIRECTORY]...",
    nargs=-1,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
)
def verify(places: tuple[Path, ...]) -> Outcome:
    """Read every file of every artefact and model, and compare it with what was written.

    Without a DIRECTORY all that lies in the root is checked. A file that was changed, damaged,
    removed or added is named, and the exit code is 3.
    """
    from ssi_core.types import BadInput
    from ssi_core.verify import verify as check

    wanted = places or (environment.home(), environment.root() / "mlruns")
    with progress("verify") as tell:
        results = check(wanted, tell)
    problems = [result.problem for result in results if result.problem is not None]
    if problems:
        more = len(problems) - _MOST_SHOWN
        shown = " | ".join(problems[:_MOST_SHOWN]) + (f" | and {more} more" if more > 0 else "")
        raise BadInput(f"{len(problems)} of {len(results)} directories are damaged: {shown}")
    size = sum(result.size for result in results)

    def show(console: Console) -> None:
        console.print(f"{len(results)} directories are whole ({size / 1e6:,.1f} MB)")

    return Outcome({"directories": len(results), "bytes": size, "damaged": 0}, show)
