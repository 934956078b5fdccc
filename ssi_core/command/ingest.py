"""The verb ``ingest``: each source of the registry is one of its verbs, each field an option."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import click

from ssi_core.command.data import FORCE, OUT, artefact_outcome
from ssi_core.command.verb import Outcome, Verb, Verbs, progress, settings


class _Sources(Verbs):
    """A group whose verbs are the sources, loaded when they are wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the sources in the order of their registry."""
        from ssi_core.corpus.sources import SOURCES

        return list(SOURCES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb of a source."""
        return _verb(cmd_name) if cmd_name in self.list_commands(ctx) else None


@click.group(
    cls=_Sources,
    examples=(
        "ssi ingest wikipedia enwiki-pages-articles.xml.bz2 --out corpus",
        "ssi ingest wikispeedia wikispeedia_paths-and-graph --out corpus",
        "ssi ingest collection cranfield --out corpus",
        "ssi ingest mates --langlinks enwiki-langlinks.sql.gz --corpora ja en --out mates",
    ),
)
def ingest() -> None:
    """Turn a dump, a log or your own files into a collection: texts and what relates them.

    What is left out is counted, by reason.
    """


def _verb(name: str) -> Verb:
    from pydantic import ValidationError

    from ssi_core.command.fields import parameters
    from ssi_core.corpus.sources import source_named
    from ssi_core.strict import faults

    source = source_named(name)

    @OUT
    @FORCE
    def read(out: Path | None, force: bool, **fields: Any) -> Outcome:
        chosen = {name: value for name, value in fields.items() if value not in (None, (), {})}
        if "processes" in source.model_fields:
            chosen.setdefault("processes", settings().threads)
        try:
            given = source(**chosen)
        except ValidationError as error:
            raise click.UsageError(faults(error)) from None
        with progress("ingest") as tell:
            artefact = given.fetched(tell).read(out=out, force=force, progress=tell)
        return artefact_outcome(artefact)

    # A paragraph that begins with this line is not wrapped; a raw docstring spells it.
    text = (inspect.getdoc(source) or "").replace("\\b\n", "\b\n")
    command = click.command(name, cls=Verb, help=text, examples=source.examples)(read)
    command.params[:0] = parameters(source)
    return command
