"""Verbs that read a user's own texts: ingest table, folder, beir and trec."""

from __future__ import annotations

from pathlib import Path

import click

from ssi_core.command.data import FORCE, OUT, artefact_outcome
from ssi_core.command.verb import Outcome, Verb, progress

_FILE = click.Path(path_type=Path)
LANGUAGE = click.option(
    "--language", help="Code of the texts' language, such as en or zh; else guessed, and said."
)


def _columns(
    context: click.Context, option: click.Parameter, value: tuple[str, ...]
) -> dict[str, str]:
    from ssi_core.corpus.table import ENDS, ROLES

    columns = {}
    for pair in value:
        role, equals, name = pair.partition("=")
        if not equals or role not in {*ROLES, *ENDS}:
            raise click.BadParameter(
                f"{pair!r} is not ROLE=NAME with a ROLE of {', '.join((*ROLES, *ENDS))}",
                context,
                option,
            )
        columns[role] = name
    return columns


@click.command(
    "table",
    cls=Verb,
    examples=(
        "ssi ingest table articles.jsonl --links links.csv --out corpus",
        "ssi ingest table part-*.parquet --column text=body --label category",
    ),
)
@click.argument("documents", nargs=-1, required=True, type=_FILE)
@click.option("--links", multiple=True, type=_FILE, help="A table of links; may be repeated.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    callback=_columns,
    metavar="ROLE=NAME",
    help="Which column is which, where the guess is wrong; may be repeated.",
)
@click.option("--label", "labels", multiple=True, help="A column to slice measures by.")
@LANGUAGE
@OUT
@FORCE
def ingest_table(
    documents: tuple[Path, ...],
    links: tuple[Path, ...],
    columns: dict[str, str],
    labels: tuple[str, ...],
    language: str | None,
    out: Path | None,
    force: bool,
) -> Outcome:
    """Read your own documents: JSON lines, CSV, TSV or parquet.

    Files may be packed (.gz, .bz2, .xz, .zst). A row is a document. Columns are known by their
    names: id, title, text, url, language, timestamp, links (and docno, body, content, ...); what
    was guessed is said. A document without an id is known by its URL, or by its line.

    A link is a row of --links with two ends (source and target, from and to, or two columns), or
    an entry of the column links: a JSON list, or names with | between them. Ends are ids, else
    URLs, else titles.
    """
    from ssi_core.corpus.table import ingest_table as read

    with progress("ingest") as tell:
        artefact = read(
            documents,
            out,
            links=links,
            columns=columns,
            labels=labels,
            language=language,
            force=force,
            progress=tell,
        )
    return artefact_outcome(artefact)


@click.command("folder", cls=Verb, examples=("ssi ingest folder site/ --out corpus",))
@click.argument("directory", type=_FILE)
@LANGUAGE
@OUT
@FORCE
def ingest_folder(directory: Path, language: str | None, out: Path | None, force: bool) -> Outcome:
    """Read a folder of pages: Markdown, HTML, plain text.

    The path of a page is its id. Its title is that of the front matter, else its first heading.
    Links are the hrefs that lead to another page of the folder, and [[wiki links]] in Markdown.
    Navigation, headers, footers and scripts of HTML are left out.
    """
    from ssi_core.corpus.folder import ingest_folder as read

    with progress("ingest") as tell:
        artefact = read(directory, out, language=language, force=force, progress=tell)
    return artefact_outcome(artefact)


@click.command("beir", cls=Verb, examples=("ssi ingest beir scifact/ --out corpus",))
@click.argument("directory", type=_FILE)
@LANGUAGE
@OUT
@FORCE
def ingest_beir(directory: Path, language: str | None, out: Path | None, force: bool) -> Outcome:
    """Read a collection in the format of BEIR: corpus.jsonl, queries.jsonl, qrels/*.tsv."""
    from ssi_core.corpus.beir import ingest_beir as read

    with progress("ingest") as tell:
        artefact = read(directory, out, language=language, force=force, progress=tell)
    return artefact_outcome(artefact)


@click.command(
    "trec",
    cls=Verb,
    examples=("ssi ingest trec docs/*.gz --topics topics.txt --qrels qrels.txt --out corpus",),
)
@click.argument("documents", nargs=-1, required=True, type=_FILE)
@click.option("--topics", required=True, type=_FILE, help="Topics, or lines: number, tab, query.")
@click.option("--qrels", required=True, type=_FILE, help="Query, iteration, document, grade.")
@click.option(
    "--field",
    "fields",
    multiple=True,
    type=click.Choice(["title", "desc", "narr"]),
    default=("title",),
    show_default=True,
    help="Fields of a topic that make its query; may be repeated.",
)
@LANGUAGE
@OUT
@FORCE
def ingest_trec(
    documents: tuple[Path, ...],
    topics: Path,
    qrels: Path,
    fields: tuple[str, ...],
    language: str | None,
    out: Path | None,
    force: bool,
) -> Outcome:
    """Read a collection of TREC: documents in SGML, topics, judgements."""
    from ssi_core.corpus.trec import ingest_trec as read

    with progress("ingest") as tell:
        artefact = read(
            documents,
            topics,
            qrels,
            out,
            fields=fields,
            language=language,
            force=force,
            progress=tell,
        )
    return artefact_outcome(artefact)
