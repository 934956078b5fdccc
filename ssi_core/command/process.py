"""Preparations of a verb: logs, limits of memory, standard output, inputs that stay."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from ssi_core import system
from ssi_core.command.text import TerminalHandler
from ssi_core.face.show import shown
from ssi_core.root import root

if TYPE_CHECKING:
    from ssi_core.command.verb import Settings


def announce(chosen: Settings) -> None:
    """Prepare the logs, and name the root on standard error."""
    if chosen.root is not None:
        os.environ["SSI_ROOT"] = str(Path(chosen.root).resolve())
    click.echo(shown(f"ssi: root {root()}"), err=True)
    level = logging.DEBUG if chosen.verbose else logging.WARNING
    handler = TerminalHandler(level, plain=not chosen.verbose)
    for name in ("ssi_core", "flows"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        # Prefect keeps what the terminal need not show.
        logger.setLevel(min(level, logging.INFO))


@contextmanager
def kept_stdout(alone: bool) -> Iterator[TextIO]:
    """Give standard output to the outcome alone: what anything else prints goes to the log.

    Worker processes inherit the file descriptor, so it is the descriptor that is turned round.
    """
    stdout: TextIO = sys.stdout
    if not alone:
        yield stdout
    elif stdout is not sys.__stdout__:  # a caller in the same process has put its own there
        with redirect_stdout(sys.stderr):
            yield stdout
    else:
        stdout.flush()
        with os.fdopen(os.dup(1), "w", encoding="utf-8") as kept:
            os.dup2(2, 1)
            try:
                yield kept
            finally:
                stdout.flush()
                kept.flush()
                os.dup2(kept.fileno(), 1)


def refuse_small_limits(addresses: int) -> None:
    """Refuse a limit below what libraries take when they load: some end the process without a word.

    Parameters
    ----------
    addresses : int
        MiB of addresses that they take.

    Raises
    ------
    MemoryError
        The limit is that small.
    """
    least_of = {"RLIMIT_AS": ("ulimit -v", addresses), "RLIMIT_DATA": ("ulimit -d", 300)}
    for name, (option, least) in least_of.items():
        limit = system.limit(name)
        if limit is not None and limit < least << 20:
            raise MemoryError(
                f"{option} leaves {limit >> 20:,} MiB of memory, and the libraries of ssi take "
                f"{least:,} MiB when they load. Raise that limit, or bound memory by SSI_MEMORY "
                "instead."
            )


OUTPUTS = ("out", "save", "scores", "exports")
"""Names of the parameters that say where a verb writes."""


def refuse_outputs(command: click.Command, ctx: click.Context) -> None:
    """Refuse to write to what the verb reads, whatever --force says."""
    outputs: list[Path] = []
    sources: list[Path] = []
    for param in command.params:
        value = ctx.params.get(param.name or "")
        if param.name in OUTPUTS:
            outputs += (path for path in _flat(value) if isinstance(path, Path))
        elif isinstance(param, click.Argument) or isinstance(param.type, click.Path):
            sources += (Path(path) for path in _flat(value) if isinstance(path, str | Path))
    if outputs:
        from ssi_core.files import refuse_output

        for out in outputs:
            # What --force replaces is a whole directory, with an input that lies in it.
            replaces = any(param.name == "force" for param in command.params)
            refuse_output(out, sources, is_artefact=replaces)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        yield from (inner for one in value for inner in _flat(one))
    else:
        yield value
