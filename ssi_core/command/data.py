"""Verbs that make data: sample, ingest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssi_core.command.verb import Outcome, Verb, Verbs, progress, settings
from ssi_core.root import home

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.store import Artefact

OUT = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Directory to write; without it, a place of its own under .ssi/store.",
)
ABSOLUTE = click.Path(path_type=Path, resolve_path=True)
"""Path that goes to another process, or is written down: the working directory may be another."""


def table_file(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Return the name of a table as it is, and the path of its file as an absolute one."""
    return str(Path(value).resolve()) if value and Path(value).is_file() else value


FORCE = click.option("--force", is_flag=True, help="Replace what --out holds, if it differs.")


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
            _show_counts(console, title, counts)

    return Outcome(value, show)


def _show_counts(console: Console, title: str, counts: Mapping[str, Any]) -> None:
    for name, count in counts.items():
        if isinstance(count, Mapping):
            _show_counts(console, f"{title}{name}: ", count)
        else:
            said = f"{count:,}" if isinstance(count, int) else str(count)
            console.print(f"  {title}{name.replace('_', ' ')} {said}")


@click.command(cls=Verb, examples=("ssi sample sample/ --documents 500 --seed 3",))
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--documents", type=click.IntRange(min=1), default=2000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
def sample(directory: Path, documents: int, seed: int) -> Outcome:
    """Write a made-up encyclopedia in real formats.

    The text is synthetic: pages on one subject use different words for one thing.
    """
    from ssi_core.corpus.sample import write_sample
    from ssi_core.files import writing

    with writing(directory), progress("sample") as tell:
        counts = write_sample(directory, documents=documents, seed=seed, progress=tell)
    value = {"path": str(directory), "counts": dict(counts)}

    def show(console: Console) -> None:
        console.print(f"sample {directory} (seed {seed})")
        _show_counts(console, "", counts)

    return Outcome(value, show)


@click.group(
    cls=Verbs,
    examples=(
        "ssi ingest wikipedia enwiki-pages-articles.xml.bz2 --out corpus",
        "ssi ingest wikispeedia wikispeedia_paths-and-graph --out corpus",
        "ssi ingest collection cranfield --out corpus",
        "ssi ingest mates --langlinks enwiki-langlinks.sql.gz --corpora ja en --out mates",
    ),
)
def ingest() -> None:
    """Turn a dump into a corpus: documents and links.

    What is left out is counted, by reason.
    """


@ingest.command(
    "wikipedia",
    cls=Verb,
    examples=(
        "ssi ingest wikipedia enwiki-pages-articles.xml.bz2 --out corpus",
        "ssi ingest wikipedia --download simplewiki --out corpus",
        "ssi ingest wikipedia enwiki-20240602-pages-articles.xml.bz2 --since corpus --out corpus-2",
    ),
)
@click.argument("dumps", nargs=-1, type=click.Path(path_type=Path))
@click.option("--download", metavar="WIKI", help="Fetch the dump first, such as simplewiki.")
@click.option("--date", default="latest", show_default=True, help="Date of that dump, YYYYMMDD.")
@click.option("--language", help="Code of the language; else what the dump says.")
@click.option(
    "--since",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="CORPUS",
    help="Corpus of an earlier dump of this wiki: only pages that changed are parsed.",
)
@click.option(
    "--processes", type=click.IntRange(min=1), help="Decoders; else one per core of --threads."
)
@OUT
@FORCE
def ingest_wikipedia(
    dumps: tuple[Path, ...],
    download: str | None,
    date: str,
    language: str | None,
    since: Path | None,
    processes: int | None,
    out: Path | None,
    force: bool,
) -> Outcome:
    """Read *-pages-articles*.xml(.bz2) dumps, multistream or not.

    With --since the corpus is the same, and made sooner: pages whose bytes did not change keep
    their words and links, and all links are resolved anew. A corpus that another version of ssi
    read is not used, and the counts say so.
    """
    if bool(dumps) == bool(download):
        raise click.UsageError("Give DUMPS, or --download WIKI, not both and not neither.")
    from ssi_core.corpus.mediawiki import ingest_wikipedia as read

    if download:
        from ssi_core.corpus.download import download_dump

        with progress(f"download {download}") as tell:
            there = home() / "dumps"
            dumps = (download_dump(download, there, date=date, progress=tell),)
    with progress("ingest") as tell:
        artefact = read(
            dumps,
            out,
            language=language,
            since=since,
            processes=processes or settings().threads,
            force=force,
            progress=tell,
        )
    return artefact_outcome(artefact)


@ingest.command(
    "wikispeedia",
    cls=Verb,
    examples=("ssi ingest wikispeedia wikispeedia_paths-and-graph --out corpus",),
)
@click.argument("directory", type=click.Path(path_type=Path))
@OUT
@FORCE
def ingest_wikispeedia(directory: Path, out: Path | None, force: bool) -> Outcome:
    """Read the Wikispeedia data set (4,604 articles of Wikipedia's schools edition)."""
    from ssi_core.corpus.wikispeedia import ingest_wikispeedia as read

    with progress("ingest") as tell:
        artefact = read(
            directory,
            out,
            force=force,
            progress=tell,
        )
    return artefact_outcome(artefact)


@ingest.command(
    "collection",
    cls=Verb,
    examples=("ssi ingest collection cranfield/ --out corpus",),
)
@click.argument("directory", type=click.Path(path_type=Path))
@OUT
@FORCE
def ingest_collection(directory: Path, out: Path | None, force: bool) -> Outcome:
    """Read Cranfield, CISI or CACM: documents, queries and judgements in SMART's format."""
    from ssi_core.corpus.collections import ingest_collection as read

    with progress("ingest") as tell:
        artefact = read(
            directory,
            out,
            force=force,
            progress=tell,
        )
    return artefact_outcome(artefact)


@ingest.command(
    "mates",
    cls=Verb,
    examples=(
        "ssi ingest mates --kyoto kyoto-ja-en/ --out mates",
        "ssi ingest mates --langlinks enwiki-langlinks.sql.gz --corpora ja en --out mates",
        "ssi ingest mates --wikidata latest-all.json.bz2 --corpora ja en --out mates",
        "ssi ingest mates --wikitext jawiki-pages-articles.xml.bz2 --corpora ja en --out mates",
    ),
)
@click.option(
    "--kyoto",
    type=click.Path(path_type=Path),
    help="Directory of the Kyoto articles: makes both corpora, links and a dictionary too.",
)
@click.option(
    "--category",
    "categories",
    multiple=True,
    help="With --kyoto: only articles of a category, such as Buddhism; may be repeated.",
)
@click.option(
    "--langlinks",
    type=click.Path(path_type=Path),
    help="*-langlinks.sql(.gz) of one of the two wikis.",
)
@click.option(
    "--wikidata", type=click.Path(path_type=Path), help="JSON dump of Wikidata, .bz2 or .gz."
)
@click.option(
    "--wikitext",
    type=click.Path(path_type=Path),
    help="Dump before 2013 of one of the two wikis, with links such as [[ja:...]] in its text.",
)
@click.option(
    "--corpora",
    nargs=2,
    type=click.Path(path_type=Path),
    metavar="QUERIES DOCUMENTS",
    help="The two corpora, such as the Japanese and the English one.",
)
@click.option(
    "--dictionary",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="To translate queries by: a term, a tab, a translation a line. Kyoto has its own.",
)
@click.option("--processes", type=click.IntRange(min=1), help="Decoders of --wikitext.")
@OUT
@FORCE
def ingest_mates(
    kyoto: Path | None,
    categories: tuple[str, ...],
    langlinks: Path | None,
    wikidata: Path | None,
    wikitext: Path | None,
    corpora: tuple[Path, Path] | None,
    dictionary: Path | None,
    processes: int | None,
    out: Path | None,
    force: bool,
) -> Outcome:
    """Find mates: documents of two languages on one subject.

    Queries are in the language of the first corpus, documents in that of the second. Ingest the
    two corpora first, with 'ssi ingest wikipedia'; with --kyoto both come from the data set, and
    an article links to another whose Japanese title occurs in its text (title mentions).

    A title that is a redirect counts for the page that it leads to; each document is in one pair
    at most.
    """
    given = {"langlinks": langlinks, "wikidata": wikidata, "wikitext": wikitext}
    sources = {name: path for name, path in given.items() if path is not None}
    if len(sources) + (kyoto is not None) != 1:
        raise click.UsageError("Give one of --kyoto, --langlinks, --wikidata, --wikitext.")
    if categories and kyoto is None:
        raise click.UsageError("--category goes with --kyoto.")
    if kyoto is not None and dictionary is not None:
        raise click.UsageError("--dictionary goes with all but --kyoto, which has its own.")
    with progress("mates") as tell:
        if kyoto is not None and not corpora:
            from ssi_core.corpus.kyoto import ingest_kyoto

            artefact = ingest_kyoto(kyoto, out, categories=categories, force=force, progress=tell)
        elif kyoto is None and corpora:
            from ssi_core.corpus.pairing import ingest_mates as find

            ((source, path),) = sources.items()
            artefact = find(
                source,
                path,
                *corpora,
                out,
                dictionary=dictionary,
                processes=processes or settings().threads,
                force=force,
                progress=tell,
            )
        else:
            raise click.UsageError("--corpora QUERIES DOCUMENTS goes with all but --kyoto.")
    return artefact_outcome(artefact)
