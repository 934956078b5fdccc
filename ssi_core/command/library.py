"""The verbs of the library as a command, for where the workflow is not."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from inspect import cleandoc
from typing import Any

import click

from ssi_core.command.failures import WORKFLOW
from ssi_core.command.verb import Verbs, run
from ssi_core.registry import Registry

_HERE = "ssi_core.command"

HOMES: Mapping[str, str] = {
    "fit": f"{_HERE}.fit:fit",
    "search": f"{_HERE}.search:search",
    "related": f"{_HERE}.related:related",
    "explain": f"{_HERE}.explain:explain",
    "why": f"{_HERE}.explain:why",
    "data.ingest": f"{_HERE}.ingest:ingest",
    "data.features": f"{_HERE}.features:features",
    "data.index": f"{_HERE}.index:index",
    "lab.evaluate": f"{_HERE}.evaluate:evaluate",
    "lab.neighbours": f"{_HERE}.neighbours:neighbours",
}
"""Verbs that need no workflow -> ``"module:object"``; one of a group is ``GROUP.NAME``."""
VERBS: Registry[click.Command] = Registry("verbs", HOMES)
FURTHER = (
    "serve", "compare", "retrain", "up", "demo", "data.store",
    "lab.pipeline", "lab.train", "lab.estimate", "lab.export-trec", "rank.match",
    "ops.ui", "ops.deploy", "ops.run", "ops.doctor", "ops.freeze", "ops.promote",
    "ops.rollback", "ops.champions", "ops.backup", "ops.restore",
)  # fmt: skip
"""Names of the verbs of the workflow."""

GROUPS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "data": (
        """Make collections, tasks and indexes, step by step.

        \b
        The order of the work ('ssi fit' does all of it at once):
          sample    write files to play with, if you have none
          ingest    read documents, a log or a dump into a collection
          features  turn a collection into a task: word matrices and a split
          (ssi lab) train and measure models on a task
          index     make the documents of a task searchable by a model
          store     list what was made, check it, remove what is not used
        """,
        (
            "ssi data sample own --out .",
            "ssi data ingest table articles.jsonl --links links.csv --out corpus",
            "ssi data features corpus --out task",
            "ssi data index model --task task --out index",
        ),
    ),
    "lab": (
        """Train, measure and compare models: experiments on a task.

        \b
        The order of the work:
          pipeline      list the shipped tables, or compute all rows of one
          train         train and measure one row by itself
          (ssi compare) show the rows of a table beside each other again
          evaluate      measure a model on a task or on other texts
          estimate      estimate its clicks from a click log
          neighbours    look at the words that it relates to a word
          export-trec   write its rankings for other tools
        """,
        (
            "ssi lab pipeline demo --task task",
            "ssi compare demo",
            "ssi lab evaluate models:/ssi@champion --task task",
        ),
    ),
    "rank": (
        """Rank, encode and summarise in further ways.

        \b
        Each verb is a system of its own:
          rerank    learn to rank from features of (query, document) pairs
          match     find ads for a page
          codes     give texts short binary codes, and search by them
          summary   choose the sentences that answer a query
          profiles  describe users by what they click
          feeds     find out whether feeds are on a topic
        The order of the work in each of them:
          fit (or concepts), then search, score, show or of; compare measures
          the methods beside the numbers that a paper prints.
        """,
        (
            "ssi rank rerank fit task --models bm25,language_model,tfidf --out model",
            "ssi search model TEXT",
            "ssi rank codes fit texts.jsonl --bits 32 --out codes",
            'ssi rank codes search codes "crude oil prices"',
        ),
    ),
    "ops": (
        """Run the service and its models, and keep them safe.

        \b
        The order of the work:
          doctor        see what this machine has, and what is missing
          (ssi up)      start the servers, the deployments and a worker
          ui            start the pages of the servers alone
          deploy        register changes of prefect.yaml
          run           start a run of a deployment
          freeze        draw the evaluation set that judges champions
          (ssi retrain) train a challenger, and promote it if it is better
          champions     list the champions
          promote       make a model the champion by hand
          rollback      return to an earlier champion
          backup        write everything into one archive
          restore       unpack such an archive
        """,
        (
            "ssi ops doctor",
            "ssi up",
            "ssi ops freeze corpus --out frozen",
            "ssi retrain --corpus corpus --frozen frozen",
            "ssi ops backup /backups/ssi.tar.gz",
        ),
    ),
}
"""Name of a group -> its help, which teaches the order of its verbs, and examples."""


class _Of(Mapping[str, click.Command]):
    """Verbs of a group, or those of none: a part of a registry, loaded when asked for."""

    def __init__(self, verbs: Registry[click.Command], group: str = "") -> None:
        self._verbs, self._before = verbs, f"{group}." if group else ""

    def __getitem__(self, name: str) -> click.Command:
        if "." in name:
            raise KeyError(name)
        return self._verbs[self._before + name]

    def __contains__(self, name: object) -> bool:
        return "." not in str(name) and self._before + str(name) in self._verbs

    def __iter__(self) -> Iterator[str]:
        for name in self._verbs:
            if self._before and name.startswith(self._before):
                yield name.removeprefix(self._before)
            elif not self._before and name.partition(".")[0] not in GROUPS:
                yield name

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Group(Verbs):
    """A group that says where the verbs are that it has not."""

    def __init__(
        self, *args: Any, before: str = "", lacking: Sequence[str] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        parts = [name.rpartition(".") for name in lacking]
        self.lacking = [name for group, _, name in parts if group == before]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs that the order of the work does not name."""
        further = []
        for name in self.list_commands(ctx):
            if not re.search(rf"^ +{name} ", self.help or "", re.MULTILINE):
                command = self.get_command(ctx, name)
                if command is not None and not command.hidden:
                    further.append((name, command.get_short_help_str(formatter.width - 20)))
        if further:
            with formatter.section("Further verbs"):
                formatter.write_dl(further)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb; the usage error for one of the workflow says where that is."""
        verb = super().get_command(ctx, cmd_name)
        if verb is None and cmd_name in self.lacking:
            path = " ".join([*ctx.command_path.split()[1:], cmd_name])
            raise click.UsageError(f"'ssi {path}' belongs to the workflow. {WORKFLOW}", ctx)
        return verb


class _Top(_Group):
    """The command itself: verbs for daily work, then the groups."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the verbs, then the groups that have some."""
        return [*self.verbs, *(name for name, one in self.commands.items() if _has_verbs(one))]

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write uses in place of what may stand where, which errors of usage tell."""
        for position, use in enumerate(_USES):
            formatter.write_usage("ssi", use, prefix="       " if position else None)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs before the options, and what names mean below them."""
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text(_NAMES)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs, and below them the groups, each in a line."""
        groups = "Groups ('ssi GROUP --help' shows the order of the work)"
        parts: dict[str, list[tuple[str, str]]] = {"Daily work": [], groups: []}
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                part = parts[groups if name in GROUPS else "Daily work"]
                part.append((name, command.get_short_help_str(formatter.width - 12)))
        for title, lines in parts.items():
            with formatter.section(title):
                formatter.write_dl(lines)


def _has_verbs(group: click.Command) -> bool:
    return isinstance(group, Verbs) and bool(group.verbs)


_USES = (
    "fit articles.jsonl --links links.csv --out model",
    'search model "old automobile"',
    "VERB --help",
)
_HELP = """Learn to rank text from links, clicks and judgements, and search with it.

No data? 'ssi data sample own --out .' writes some.
"""
_NAMES = """MODEL is a directory, a run id of MLflow, or models:/NAME@ALIAS. TABLE is the name of a
shipped table or a TOML file; EXPERIMENT is the name that it gives. The root is $SSI_ROOT, else the
nearest parent with prefect.yaml, else the working directory. Exit codes: 0 done, 1 failed, 2 wrong
usage, 3 bad input, 4 refused (memory, disk, a lock), 130 interrupted, 143 terminated.
"""


def command_of(verbs: Registry[click.Command], lacking: Sequence[str] = ()) -> Verbs:
    """Return the command ``ssi`` with its groups.

    Parameters
    ----------
    verbs : Registry
        Verbs by name; one of a group is ``GROUP.NAME``.
    lacking : sequence of str
        Names of verbs that belong to the workflow, where that is not there.
    """
    missing = ", ".join(f"ssi {name.replace('.', ' ')}" for name in lacking)
    text = _HELP + (f"\n{WORKFLOW} Its verbs are: {missing}.\n" if lacking else "")
    how = {"max_content_width": 100}
    top = _Top("ssi", help=text, verbs=_Of(verbs), lacking=lacking, context_settings=how)
    for name, (help, examples) in GROUPS.items():
        below: dict[str, Any] = {"verbs": _Of(verbs, name), "before": name, "lacking": lacking}
        top.add_command(_Group(name, help=cleandoc(help), examples=examples, **below))
    return click.version_option(package_name="ssi", prog_name="ssi")(top)


library = command_of(VERBS, FURTHER)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit code."""
    # Processes that it starts take no module from the working directory.
    os.environ["PYTHONSAFEPATH"] = "1"
    sys.exit(run(library, arguments))
