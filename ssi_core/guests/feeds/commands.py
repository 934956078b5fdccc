"""The verb ``feeds``: which elements of a feed tell its topic, and feeds made of a collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from ssi_core.command.fields import PATH, argument, option
from ssi_core.command.models import experiment_run
from ssi_core.command.options import SAVE, SEED
from ssi_core.command.results import write_result
from ssi_core.command.verb import Outcome, Verbs, progress

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.recorder import RowRecorder


@click.group(
    cls=Verbs,
    examples=(
        "ssi rank feeds write corpus my-feeds --topics categories.tsv.gz",
        "ssi rank feeds compare my-feeds --save feeds.json",
        "ssi data ingest feeds my-feeds --out entries",
    ),
)
def feeds() -> None:
    """Judge whether feeds in Atom and RSS are on a topic, from their titles and entries.

    The topics of a feed are its categories (<category>). They are the answers, and are not read as
    features. Reading needs feedparser: pip install 'ssi[feeds]'.
    """


@dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """Settings of ``ssi rank feeds compare``."""

    directory: Path = argument("DIRECTORY", type=PATH)
    entries: tuple[int, ...] = option(
        (5, 10, 20, 40),
        "Numbers of entries of a feed to read.",
        metavar="N,N",
        separator=",",
        ge=1,
        le=1000,
    )
    match: Literal["all", "any"] = option(
        "all", "Whether an element must have all terms of a topic, or any of them."
    )
    seed: int = SEED
    save: Path | None = SAVE


@feeds.verb(
    CompareSettings, examples=("ssi rank feeds compare my-feeds --entries 5,10 --save feeds.json",)
)
def compare(given: CompareSettings) -> Outcome:
    """Measure all sets of elements with each number of entries, beside what the paper prints.

    A linear SVM judges each pair of feed and topic, over five folds of the topics; C, and the
    number of entries of a set, are chosen on other topics than those that test. With the workflow,
    each set is a run of the MLflow experiment "feeds".
    """
    from ssi_core.guests.feeds.compare import compare as computed
    from ssi_core.guests.feeds.reading import read_feeds

    skipped: Counter[str] = Counter()
    with progress("read") as on_progress:
        read = list(read_feeds(given.directory, skipped, on_progress))

    def recorded(
        label: str, parameters: Mapping[str, Any]
    ) -> AbstractContextManager[RowRecorder | None]:
        return experiment_run("feeds", label, given.directory, parameters)

    with progress("feeds") as on_progress:
        result = computed(
            read,
            name=given.directory.name,
            entries=sorted({*given.entries}),
            match=given.match,
            seed=given.seed,
            recorded=recorded,
            progress=on_progress,
        )
    result["skipped"] = dict(skipped)
    if given.save is not None:
        write_result(given.save, result)

    def show(console: Console) -> None:
        _show(console, result)

    return Outcome(result, show)


@dataclass(frozen=True, kw_only=True)
class WriteSettings:
    """Settings of ``ssi rank feeds write``."""

    collection: Path = argument("COLLECTION", type=PATH)
    out: Path = argument("OUT", type=PATH)
    topics: Path = option(
        ...,
        "Table of document ids and topics, with a tab between them. It can be packed (.gz).",
        type=PATH,
    )
    least: int = option(3, "Minimum number of documents of a topic that becomes feeds.", ge=1)
    most: int = option(20, "Maximum number of feeds of a topic.", ge=1)
    entries: int = option(50, "Maximum number of entries of a feed.", flag="--max-entries", ge=1)
    seed: int = SEED


@feeds.verb(
    WriteSettings,
    examples=("ssi rank feeds write corpus my-feeds --topics categories.tsv.gz --most 10",),
)
def write(given: WriteSettings) -> Outcome:
    """Write feeds that are made of a collection, in Atom and in RSS by turns.

    For each topic of --least documents or more, --most of them become feeds. The entries of a feed
    are the documents of its topics that are linked with it. Times are made up.
    """
    from ssi_core.collection import open_collection
    from ssi_core.guests.feeds.writing import draw, known_ids, read_topics, write_feeds
    from ssi_core.types import BadInput

    opened = open_collection(given.collection)
    named, unknown = read_topics(given.topics, known_ids(opened))
    if unknown and not named:
        raise BadInput(
            f"{given.topics}: none of its {unknown:,} rows has the id of a document of "
            f"{given.collection}, a tab, and a topic. Take the ids of that collection."
        )
    drawn = draw(named, given.least, given.most, given.seed)
    with progress("write") as on_progress:
        counts = write_feeds(opened, drawn, given.out, entries=given.entries, progress=on_progress)
    value: dict[str, Any] = {"path": str(given.out), **counts, "rows_of_no_document": unknown}

    def show(console: Console) -> None:
        console.print(
            f"{given.out}: {counts['feeds']:,} feeds with {counts['entries']:,} entries, on "
            f"{counts['topics']:,} topics"
        )
        if unknown:
            console.print(f"  rows of {given.topics} without a document or a topic: {unknown:,}")

    return Outcome(value, show)


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
