"""The verb ``sample``: made-up data, as dumps and logs or as somebody's own files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ssi_core.command.data import show_counts
from ssi_core.command.verb import Outcome, Verbs, progress

if TYPE_CHECKING:
    from rich.console import Console

_ENCYCLOPEDIA = "encyclopedia"
_SEED = click.option("--seed", type=int, default=0, show_default=True)


class _Samples(Verbs):
    """A group that takes what names none of its verbs for the directory of the encyclopedia."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the words, with the name of the verb that they leave out."""
        first = next((word for word in args if not word.startswith("-")), None)
        named = first is None or first in self.commands
        return super().parse_args(ctx, args if named else [_ENCYCLOPEDIA, *args])


@click.group(
    cls=_Samples,
    examples=(
        "ssi sample own --out .",
        "ssi sample sample/ --documents 500 --seed 3",
        "ssi sample shop --shop --documents 300",
    ),
)
def sample() -> None:
    """Write made-up data: articles in files, or an encyclopedia in real formats.

    "ssi sample DIRECTORY" is short for "ssi sample encyclopedia DIRECTORY". All text is synthetic:
    pages on one subject use different words for one thing.
    """


@sample.command(
    examples=(
        "ssi sample own --out .",
        "ssi fit articles.jsonl --links links.csv --out model",
        "ssi ingest clicks clicks.csv --map clicks.toml --documents articles.jsonl --out clicks",
    ),
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Directory to write the files into; . is this one.",
)
@click.option("--documents", type=click.IntRange(20, 1_000_000), default=500, show_default=True)
@_SEED
@click.option("--force", is_flag=True, help="Replace files of these names that differ.")
def own(out: Path, documents: int, seed: int, force: bool) -> Outcome:
    """Write articles.jsonl, links.csv and clicks.csv.

    They stand for files of your own. The articles and links are those of ssi.read_sample(); a link
    has its words, and a row for each time that it is made. The log
    of clicks says how often somebody searched with the words of a link, and clicked the page that
    it leads to; clicks.toml names its columns.
    """
    from ssi_core.collection import ANCHOR, open_collection
    from ssi_core.files import writing
    from ssi_core.sample.face import read_sample
    from ssi_core.sample.own import write_own

    docs = read_sample(documents, seed)
    anchors = open_collection(docs.path).frame(f"relations/{ANCHOR}")
    with writing(out):
        counts = write_own(out, docs.frame, docs.links, anchors, force=force)
    return _outcome(out, seed, counts)


@sample.command(
    _ENCYCLOPEDIA,
    examples=(
        "ssi sample encyclopedia sample/ --documents 500 --seed 3",
        "ssi sample encyclopedia shop --shop --documents 300",
    ),
)
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option("--documents", type=click.IntRange(min=1), default=2000, show_default=True)
@_SEED
@click.option(
    "--shop",
    is_flag=True,
    help="In place of the encyclopedia: products, and a log of their search in OpenSearch's UBI.",
)
def encyclopedia(directory: Path, documents: int, seed: int, shop: bool) -> Outcome:
    """Write a made-up encyclopedia in real formats.

    The text is synthetic: pages on one subject use different words for one thing. With --shop it is
    a shop: products.jsonl, and ubi/ with the queries, impressions and clicks of ten visits for each
    product, where half of the words of queries are in no product, and with a judgement list.
    """
    from ssi_core.files import writing
    from ssi_core.sample.encyclopedia import write_sample
    from ssi_core.sample.shop import write_shop

    with writing(directory), progress("sample") as tell:
        if shop:
            counts = write_shop(directory, products=documents, seed=seed, progress=tell)
        else:
            counts = write_sample(directory, documents=documents, seed=seed, progress=tell)
    return _outcome(directory, seed, counts)


def _outcome(directory: Path, seed: int, counts: Mapping[str, int]) -> Outcome:
    value = {"path": str(directory), "counts": dict(counts)}

    def show(console: Console) -> None:
        console.print(f"sample {directory} (seed {seed})")
        show_counts(console, "", counts)

    return Outcome(value, show)
