"""The verb ``feeds``: which elements of a feed tell its topic, and feeds made of a collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ssi_core.command.models import experiment_run
from ssi_core.command.results import write_result
from ssi_core.command.verb import Outcome, Verb, Verbs, progress

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.recorder import RowRecorder

_PATH = click.Path(path_type=Path)


@click.group(
    cls=Verbs,
    examples=(
        "ssi feeds write corpus my-feeds --topics categories.tsv.gz",
        "ssi feeds compare my-feeds --save feeds.json",
        "ssi ingest feeds my-feeds --out entries",
    ),
)
def feeds() -> None:
    """Judge whether feeds in Atom and RSS are on a topic, from their titles and entries.

    The topics of a feed are its categories (<category>). They are the answers, and are not read as
    features. Reading needs feedparser: pip install 'ssi[feeds]'.
    """


@feeds.command(cls=Verb, examples=("ssi feeds compare my-feeds --entries 5,10 --save feeds.json",))
@click.argument("directory", type=_PATH)
@click.option("--entries", default="5,10,20,40", show_default=True, metavar="N,N")
@click.option(
    "--match",
    type=click.Choice(("all", "any")),
    default="all",
    show_default=True,
    help="Terms of a topic that an element must have.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--save", type=_PATH, metavar="FILE", help="Write the result as JSON.")
def compare(directory: Path, entries: str, match: Any, seed: int, save: Path | None) -> Outcome:
    """Measure all sets of elements with each number of entries, beside what the paper prints.

    A linear SVM judges each pair of feed and topic, over five folds of the topics; C, and the
    number of entries of a set, are chosen on other topics than those that test. With the workflow,
    each set is a run of the MLflow experiment "feeds".
    """
    from ssi_core.corpus.web.feeds import read_feeds
    from ssi_core.guests.feeds.compare import compare as computed

    numbers = _numbers(entries)
    skipped: Counter[str] = Counter()
    with progress("read") as tell:
        read = list(read_feeds(directory, skipped, tell))

    def recorded(
        label: str, parameters: Mapping[str, Any]
    ) -> AbstractContextManager[RowRecorder | None]:
        return experiment_run("feeds", label, directory, parameters)

    with progress("feeds") as tell:
        result = computed(
            read, name=directory.name, entries=numbers, match=match, seed=seed, recorded=recorded,
            progress=tell,
        )  # fmt: skip
    result["skipped"] = dict(skipped)
    if save is not None:
        write_result(save, result)

    def show(console: Console) -> None:
        _show(console, result)

    return Outcome(result, show)


@feeds.command(
    cls=Verb, examples=("ssi feeds write corpus my-feeds --topics categories.tsv.gz --most 10",)
)
@click.argument("collection", type=_PATH)
@click.argument("out", type=_PATH)
@click.option(
    "--topics",
    type=_PATH,
    required=True,
    help="Table of document ids and topics, with a tab between them; perhaps .gz.",
)
@click.option("--least", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--most", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--entries", type=click.IntRange(min=1), default=50, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def write(
    collection: Path, out: Path, topics: Path, least: int, most: int, entries: int, seed: int
) -> Outcome:
    """Write feeds that are made of a collection, in Atom and in RSS by turns.

    For each topic of --least documents or more, --most of them become feeds. The entries of a feed
    are the documents of its topics that are linked with it. Times are made up.
    """
    from ssi_core.collection import open_collection
    from ssi_core.guests.feeds.writing import draw, known_ids, read_topics, write_feeds

    opened = open_collection(collection)
    named, unknown = read_topics(topics, known_ids(opened))
    drawn = draw(named, least, most, seed)
    with progress("write") as tell:
        counts = write_feeds(opened, drawn, out, entries=entries, progress=tell)
    value: dict[str, Any] = {"path": str(out), **counts, "rows_of_no_document": unknown}

    def show(console: Console) -> None:
        console.print(
            f"{out}: {counts['feeds']:,} feeds with {counts['entries']:,} entries, on "
            f"{counts['topics']:,} topics"
        )
        if unknown:
            console.print(f"  rows of {topics} without a document or a topic: {unknown:,}")

    return Outcome(value, show)


def _numbers(text: str) -> list[int]:
    """Return numbers of entries, from the text of an option."""
    parts = text.split(",")
    if not all(part.isdecimal() and 1 <= int(part) <= 1000 for part in parts):
        raise click.UsageError(f"--entries {text}: expected numbers from 1 to 1000, such as 10,20.")
    return sorted({int(part) for part in parts})


def _show(console: Console, result: Mapping[str, Any]) -> None:
    """Print each set with the entries that validation chose, beside the print."""
    from ssi_core.command.text import plain_table

    console.print(
        f"{result['collection']}: {result['feeds']:,} feeds, {result['topics']:,} topics, "
        f"{result['pairs']:,} pairs, {result['pairs_with_a_word']:,} with a topic's words",
        style="bold",
    )
    printed = {one["elements"]: one for one in result["printed"]["table_2"]}
    rows = []
    for row in result["rows"]:
        if not (row.get("best") or row["elements"] == "chosen"):
            continue
        paper = printed.get(row["elements"])
        rows.append([
            row["elements"], str(row["entries"] or ""),
            *(f"{row[name]:.3f}" for name in ("precision", "recall", "f")),
            f"±{row['f_folds_se']:.3f}",
            f"{row['test']['p_holm']:.3f}" if "test" in row else "",
            *(f"{paper[name]:.3f}" if paper else "" for name in ("precision", "recall", "f")),
        ])  # fmt: skip
    head = ["elements", "n", "P", "R", "F", "se", "p", "paper P", "R", "F"]
    console.print(plain_table(head, rows))
    console.print(
        f"n: entries, chosen on validation. p: paired randomisation over topics of their F against "
        f"{result['baseline'][0]} with {result['baseline'][1]} entries, corrected by Holm. The "
        "paper's feeds are closed, and its numbers are maxima over n.",
        style="dim",
    )
