"""The verb ``sample``, and what all verbs share that make an artefact."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssi_core.command.verb import Outcome, Verb, progress

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.store import Artefact
    from ssi_core.types import Progress

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


_MOST_LINES = 20
"""Lines of counts of one kind; of more the first and the last are shown."""

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
        if isinstance(count, Mapping) and len(count) > _MOST_LINES:
            (first, low), *_, (last, high) = count.items()
            text = f"{len(count)} of them, from {first} ({low:g}) to {last} ({high:g})"
            console.print(f"  {title}{name.replace('_', ' ')}: {text}")
        elif isinstance(count, Mapping):
            _show_counts(console, f"{title}{name}: ", count)
        else:
            text = f"{count:,}" if isinstance(count, int) else str(count)
            console.print(f"  {title}{name.replace('_', ' ')} {text}")


def _tables(directory: Path, documents: int, seed: int, tell: Progress | None) -> dict[str, int]:
    from ssi_core.collection import open_collection
    from ssi_core.corpus.sources.sample import Sample
    from ssi_core.sample import plan_world
    from ssi_core.sample.tables import write_tables

    artefact = Sample(documents=documents, seed=seed).read(progress=tell)
    collection = open_collection(artefact.path)
    articles = collection.documents.select("id", "title", "text").collect()
    return write_tables(
        directory, articles, collection.links.collect(), plan_world(documents, seed)
    )


@click.command(
    cls=Verb,
    examples=(
        "ssi sample sample/ --documents 500 --seed 3",
        "ssi sample . --tables --documents 500",
        "ssi sample shop --shop --documents 300",
    ),
)
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--documents", type=click.IntRange(min=1), default=2000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--tables",
    is_flag=True,
    help="Tables in place of dumps: articles.jsonl, links.csv, clicks.csv with log.toml.",
)
@click.option(
    "--shop",
    is_flag=True,
    help="In place of the encyclopedia: products, and a log of their search in OpenSearch's UBI.",
)
def sample(directory: Path, documents: int, seed: int, tables: bool, shop: bool) -> Outcome:
    """Write a made-up encyclopedia in real formats.

    The text is synthetic: pages on one subject use different words for one thing. It comes as dumps
    of Wikipedia, or with --tables as a user's own files. With --shop it is a shop: products.jsonl,
    and ubi/ with the queries, impressions and clicks of ten visits for each product, where half of
    the words of queries are in no product, and with a judgement list.
    """
    from ssi_core.files import writing
    from ssi_core.sample import write_sample
    from ssi_core.sample.shop import write_shop

    if tables and shop:
        raise click.UsageError("--tables is of the encyclopedia, not of the shop: leave one out.")
    with writing(directory), progress("sample") as tell:
        if shop:
            counts = write_shop(directory, products=documents, seed=seed, progress=tell)
        elif tables:
            counts = _tables(directory, documents, seed, tell)
        else:
            counts = write_sample(directory, documents=documents, seed=seed, progress=tell)
    value = {"path": str(directory), "counts": dict(counts)}

    def show(console: Console) -> None:
        console.print(f"sample {directory} (seed {seed})")
        _show_counts(console, "", counts)

    return Outcome(value, show)
