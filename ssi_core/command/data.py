"""Output that verbs share which make an artefact."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ssi_core.command.verb import Outcome

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.store import Artefact

_MOST_LINES = 20
"""Lines of counts of one kind; of more the first and the last are shown."""


def artefact_outcome(artefact: Artefact) -> Outcome:
    """Show an artefact: where it is, what is in it, what was left out and why."""
    value = {
        "path": str(artefact.path),
        "key": artefact.key,
        "counts": dict(artefact.counts),
        "skipped": dict(artefact.skipped),
    }

    def show(console: Console) -> None:
        console.print(f"{artefact.kind} {artefact.path}  key {artefact.key[:12]}")
        for title, counts in (("", artefact.counts), ("skipped: ", artefact.skipped)):
            show_counts(console, title, counts)

    return Outcome(value, show)


def show_counts(console: Console, title: str, counts: Mapping[str, Any]) -> None:
    """Print counts, a line each; ``title`` stands before each name."""
    for name, count in counts.items():
        if isinstance(count, Mapping) and len(count) > _MOST_LINES:
            (first, low), *_, (last, high) = count.items()
            text = f"{len(count)} of them, from {first} ({low:g}) to {last} ({high:g})"
            console.print(f"  {title}{name.replace('_', ' ')}: {text}")
        elif isinstance(count, Mapping):
            show_counts(console, f"{title}{name}: ", count)
        else:
            text = f"{count:,}" if isinstance(count, int) else str(count)
            console.print(f"  {title}{name.replace('_', ' ')} {text}")
