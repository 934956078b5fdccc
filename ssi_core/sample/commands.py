"""The verb ``sample``: made-up data, as dumps and logs or as somebody's own files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from ssi_core.command.data import show_counts
from ssi_core.command.fields import NEW_DIRECTORY, argument, option
from ssi_core.command.options import SEED
from ssi_core.command.verb import Outcome, Verbs, progress

if TYPE_CHECKING:
    from rich.console import Console

_ENCYCLOPEDIA = "encyclopedia"


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
        "ssi data sample own --out .",
        "ssi data sample sample/ --size 500 --seed 3",
        "ssi data sample shop --shop --size 300",
    ),
)
def sample() -> None:
    """Write made-up data: articles in files, or an encyclopedia in real formats.

    "ssi data sample DIRECTORY" is short for "ssi data sample encyclopedia DIRECTORY". All text is
    synthetic: pages on one subject use different words for one thing.
    """


@dataclass(frozen=True, kw_only=True)
class OwnSettings:
    """Settings of ``ssi data sample own``."""

    out: Path = option(
        ..., "Directory to write the files into; . is the current one.", type=NEW_DIRECTORY
    )
    documents: int = option(500, "Number of articles.", flag="--size", ge=20, le=1_000_000)
    seed: int = SEED
    force: bool = option(False, "Overwrite files of these names that differ.")


@sample.verb(
    OwnSettings,
    examples=(
        "ssi data sample own --out .",
        "ssi fit articles.jsonl --links links.csv --out model",
        "ssi data ingest clicks clicks.csv --map clicks.toml --documents articles.jsonl --out log",
    ),
)
def own(given: OwnSettings) -> Outcome:
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

    with writing(given.out), _home_in(given.out):
        docs = read_sample(given.documents, given.seed)
        anchors = open_collection(docs.path).frame(f"relations/{ANCHOR}")
        counts = write_own(given.out, docs.frame, docs.links, anchors, force=given.force)
    return _outcome(given.out, given.seed, counts)


@contextmanager
def _home_in(directory: Path) -> Iterator[None]:
    """Keep what is made on the way in a directory for a while: the root may only be read."""
    directory.mkdir(parents=True, exist_ok=True)
    before = os.environ.get("SSI_HOME")
    with TemporaryDirectory(prefix=".ssi-", dir=directory.resolve()) as folder:
        os.environ["SSI_HOME"] = folder
        try:
            yield
        finally:
            del os.environ["SSI_HOME"]
            os.environ.update({} if before is None else {"SSI_HOME": before})


@dataclass(frozen=True, kw_only=True)
class EncyclopediaSettings:
    """Settings of ``ssi data sample encyclopedia``."""

    directory: Path = argument("DIRECTORY", type=NEW_DIRECTORY)
    documents: int = option(2000, "Number of pages, or of products.", flag="--size", ge=1)
    seed: int = SEED
    shop: bool = option(
        False,
        "Write a shop in place of the encyclopedia: products, and a log of searches in the format "
        "of OpenSearch's UBI.",
    )


@sample.verb(
    EncyclopediaSettings,
    examples=(
        "ssi data sample encyclopedia sample/ --size 500 --seed 3",
        "ssi data sample encyclopedia shop --shop --size 300",
    ),
    name=_ENCYCLOPEDIA,
)
def encyclopedia(given: EncyclopediaSettings) -> Outcome:
    """Write a made-up encyclopedia in real formats.

    The text is synthetic: pages on one subject use different words for one thing. With --shop it is
    a shop: products.jsonl, and ubi/ with the queries, impressions and clicks of ten visits for each
    product, where half of the words of queries are in no product, and with a judgement list.
    """
    from ssi_core.files import writing
    from ssi_core.sample.encyclopedia import write_sample
    from ssi_core.sample.shop import write_shop

    with writing(given.directory), progress("sample") as on_progress:
        if given.shop:
            counts = write_shop(
                given.directory, products=given.documents, seed=given.seed, progress=on_progress
            )
        else:
            counts = write_sample(
                given.directory, documents=given.documents, seed=given.seed, progress=on_progress
            )
    return _outcome(given.directory, given.seed, counts)


def _outcome(directory: Path, seed: int, counts: Mapping[str, int]) -> Outcome:
    value = {"path": str(directory), "counts": dict(counts)}

    def show(console: Console) -> None:
        console.print(f"sample {directory} (seed {seed})")
        show_counts(console, "", counts)

    return Outcome(value, show)
