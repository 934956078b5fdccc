"""The verb ``ingest``: each source of the registry is one of its verbs, each field an option."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ssi_core.command.data import artefact_outcome
from ssi_core.command.options import Placed
from ssi_core.command.verb import Outcome, Verb, Verbs, help_of, progress

if TYPE_CHECKING:
    from ssi_core.corpus.source import Source


class _Sources(Verbs):
    """A group whose verbs are the sources, loaded when they are wanted."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """List the sources in the order of their registry."""
        from ssi_core.corpus.sources import SOURCES

        return list(SOURCES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the verb of a source."""
        return _verb(cmd_name) if cmd_name in self.list_commands(ctx) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb of a source; a file in its place is refused with the source it is of."""
        if args[0] not in self.list_commands(ctx) and Path(args[0]).exists():
            from ssi_core.corpus.sources import source_of

            words = shlex.join([source_of(Path(args[0])), *args])
            raise click.UsageError(f"Name the source first: ssi data ingest {words}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=_Sources,
    examples=(
        "ssi data ingest wikipedia enwiki-pages-articles.xml.bz2 --out corpus",
        "ssi data ingest wikispeedia wikispeedia_paths-and-graph --out corpus",
        "ssi data ingest collection cranfield --out corpus",
        "ssi data ingest mates --langlinks enwiki-langlinks.sql.gz --corpora ja en --out mates",
    ),
)
def ingest() -> None:
    """Turn a dump, a log or your own files into a collection: texts and what relates them.

    Everything that is left out is counted, by reason.
    """


def _verb(name: str) -> Verb:
    from ssi_core.corpus.sources import source_named

    source = source_named(name)

    def read(given: Source, placed: Placed) -> Outcome:
        with progress("ingest") as on_progress:
            fetched = given.fetched(on_progress)
            artefact = fetched.read(out=placed.out, force=placed.force, progress=on_progress)
        return artefact_outcome(artefact)

    text = help_of(source.__doc__)
    return Verb(name, help=text, examples=source.examples, settings=(source, Placed), run=read)
