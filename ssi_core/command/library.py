"""The verbs of the library as a command, for where the workflow is not."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from ssi_core.command.verb import WORKFLOW, Verbs, run
from ssi_core.registry import Registry

_HERE = "ssi_core.command"

VERBS: Registry[click.Command] = Registry(
    "verbs",
    {
        "fit": f"{_HERE}.fit:fit",
        "ingest": f"{_HERE}.ingest:ingest",
        "features": f"{_HERE}.features:features",
        "index": f"{_HERE}.search:index",
        "search": f"{_HERE}.search:search",
        "related": f"{_HERE}.related:related",
        "neighbours": f"{_HERE}.search:neighbours",
        "explain": f"{_HERE}.search:explain",
        "export": f"{_HERE}.export:export",
        "evaluate": f"{_HERE}.evaluate:evaluate",
    },
)
"""Verbs that need no workflow."""
FURTHER = (
    "demo", "pipeline", "reproduce", "train", "compare", "export-trec",
    "match", "estimate", "freeze", "retrain",
    "promote", "rollback", "champions", "store", "serve", "ui", "up", "deploy", "doctor",
    "backup", "restore",
)  # fmt: skip
"""Names of the verbs of the workflow."""


class _Library(Verbs):
    """A group that says where the verbs are that it has not."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb; the usage error for one of the workflow says where that is."""
        if cmd_name in FURTHER:
            raise click.UsageError(f"'ssi {cmd_name}' belongs to the workflow. {WORKFLOW}", ctx)
        return super().get_command(ctx, cmd_name)


_HELP = f"""Read documents, fit models and search: the verbs of the library.

\b
  ssi sample own --out .                     made-up articles, to stand for yours
  ssi fit articles.jsonl --links links.csv --out model
  ssi search model "old automobile"
  ssi related model "Car"

\b
Or step by step:
  ssi ingest table articles.jsonl --links links.csv --out corpus
  ssi features corpus --out task
  ssi index model --task task --out index
  ssi search model "old automobile" --index index

A model is a directory that 'import ssi_core as ssi' has trained and saved: help(ssi).

{WORKFLOW} Its verbs are: {", ".join(FURTHER)}.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 bad input, 4 refused (memory, disk, a lock),
130 interrupted (Ctrl-C), 143 terminated (SIGTERM).
"""


@click.group(
    cls=_Library,
    help=_HELP,
    verbs=VERBS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="ssi", prog_name="ssi")
def library() -> None:
    """Hold the verbs."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit code."""
    # Processes that it starts take no module from the working directory.
    os.environ["PYTHONSAFEPATH"] = "1"
    sys.exit(run(library, arguments))
