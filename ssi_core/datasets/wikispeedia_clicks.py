"""The clicks of Wikispeedia's players: on which link of an article, on the way to which other.

West and Leskovec (2012), Human wayfinding in information networks. Each click of a game is an event
of its own; what was shown is what the article links to, wherever it stood on the page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ssi_core import collection, files
from ssi_core.collection import PartWriter
from ssi_core.corpus.click_tables import CLICKS, IMPRESSIONS, write_clicks
from ssi_core.datasets.wikispeedia import files_in as articles_in
from ssi_core.datasets.wikispeedia import rows_of, write_articles
from ssi_core.types import Progress

if TYPE_CHECKING:
    from ssi_core.datasets.sources import WikispeediaClicks
    from ssi_core.store import Building

FINISHED, UNFINISHED = "paths_finished_unique.tsv.gz", "paths_unfinished.tsv.gz"
_BACK = "<"


def clicks_of(path: str) -> Iterator[tuple[str, str]]:
    """Yield (article, link clicked on it) of a path; ``<`` goes back to the article before.

    >>> list(clicks_of("A;B;<;C"))
    [('A', 'B'), ('A', 'C')]
    """
    way: list[str] = []
    for step in path.split(";"):
        if step == _BACK:
            way = way[:-1] or way
            continue
        if way:
            yield way[-1], step
        way.append(step)


def _games(directory: Path) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield session, player, time, path and goal of every game."""
    for row in rows_of(directory / FINISHED, 6):
        number, player, time, _, path, _ = row
        if number != "path_id":
            yield f"f{number}", player, time, path, path.split(";")[-1]
    for position, row in enumerate(rows_of(directory / UNFINISHED, 6)):
        player, time, _, path, goal, _ = row
        yield f"u{position}", player, time, path, goal


def files_in(directory: Path) -> list[Path]:
    """Return the files of the articles, and those of the games."""
    return [*articles_in(directory), directory / FINISHED, directory / UNFINISHED]


def build(building: Building, source: WikispeediaClicks, progress: Progress | None) -> None:
    """Write a collection of the articles and the games: articles are clicked on articles.

    The user of a click is the player.
    """
    (directory,) = source.paths
    write_articles(building, directory, progress)
    documents = files.parts_in(building.path / "documents")
    articles = set(pl.read_parquet(documents, columns=["id"], glob=False)["id"])
    links = files.parts_in(building.path / collection.relation_at(collection.LINK))
    shown = pl.read_parquet(links, glob=False).sort("source", "target")
    with collection.relation_writer(building.path, collection.SHOWN) as writer:
        writer.write(shown)
    linked = set(shown.rows())
    rows: list[tuple[Any, ...]] = []
    skipped: Counter[str] = Counter()
    games = clicks = 0
    for session, player, time, path, goal in _games(directory):
        games += 1
        for step, (page, link) in enumerate(clicks_of(path)):
            clicks += 1
            if page not in articles or link not in articles:
                skipped["click_of_missing_article"] += 1
            elif (page, link) not in linked:
                skipped["click_on_no_link"] += 1
            else:
                known = goal if goal in articles else None
                rows.append((f"{session}.{step}", player, page, link, int(time), known))
    names = ("session", "user", "query", "document", "timestamp", "goal")
    events = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String) | {"timestamp": pl.Int64},
                          orient="row")  # fmt: skip
    events = events.with_columns(
        pl.from_epoch("timestamp", "s").cast(pl.Datetime("us")).dt.replace_time_zone("UTC"),
        position=pl.lit(None, pl.Int32),
        clicked=pl.lit(True),
        weight=pl.lit(1.0),
    )
    events = events.sort("session").with_row_index("event").select(IMPRESSIONS.keys())
    with PartWriter(building.path / "impressions", IMPRESSIONS) as impressions:
        impressions.write(events)
    pairs = events.group_by("query", "document").agg(
        clicks=pl.len().cast(pl.Int64),
        weight=pl.col("weight").sum(),
        grade=pl.lit(None, pl.Float64),
    )
    shown = events.group_by("query").agg(shown=pl.len().cast(pl.Int64))
    pairs = pairs.join(shown, on="query").select("query", "document", *CLICKS.keys())
    write_clicks(building.path, pairs)
    building.counts.update(
        games=games,
        clicks_found=clicks,
        clicks=len(events),
        pairs=len(pairs),
        players=events["user"].n_unique(),
    )
    building.skipped.update(sorted(skipped.items()))
