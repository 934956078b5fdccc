"""The query log of the sample as a collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

import polars as pl

from ssi_core import collection, store
from ssi_core.corpus.clicks.query_log import QueryLog, write_query_log
from ssi_core.resources import require
from ssi_core.sample.query_log import QueryLogWorld
from ssi_core.store import Artefact, Building
from ssi_core.types import Progress

_PAIRS_OF_A_QUERY, _PAIRS_AT_ONCE = 3, 2_000_000
# Bytes of memory: of a block and a shard, and of a title. Of disk: of a title and of a query.
_BASE, _OF_A_TITLE, _TITLE, _QUERY = 1_000_000_000, 200, 60, 250


def ingest_made_log(
    world: QueryLogWorld,
    out: Path | None = None,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Artefact:
    """Make a query log of known truth.

    Memory: the titles as numbers, a block of the queries, and a part of the pairs.

    Parameters
    ----------
    world : QueryLogWorld
        Settings of the generated log.
    out, force : Path or None, bool
        See `build.ingest_clicks`.

    Raises
    ------
    Refused
        ``out`` holds something else, or is being written; or memory or disk is too small.
    """
    settings = {"source": "sample-query-log", **asdict(world)}
    make = partial(_build, world=world, progress=progress)
    return store.open_or_make(collection.KIND, settings, {}, make, out=out, force=force)


def _build(building: Building, world: QueryLogWorld, progress: Progress | None) -> None:
    require(
        "the sample",
        memory=_BASE + _OF_A_TITLE * world.titles,
        directory=building.path.parent,
        disk=_TITLE * world.titles + _QUERY * world.queries,
    )
    judgements = world.judgements()
    judged = judgements["text"].unique().implode()
    skipped: Counter[str] = Counter()

    def pairs() -> Iterator[pl.DataFrame]:
        for first, frame in world.clicks():
            held_out = pl.col("text").is_in(judged)
            skipped["pair_of_judged_query"] += frame.filter(held_out).height
            yield frame.filter(~held_out)
            if progress is not None:
                progress(0.9 * first / world.queries, f"{first:,} queries")

    log = QueryLog(
        pairs=pairs(),
        documents=world.documents(),
        judgements=judgements,
        language="en",
        where=building.path,
        shards=1 + _PAIRS_OF_A_QUERY * world.queries // _PAIRS_AT_ONCE,
    )
    write_query_log(building, log)
    building.skipped.update(skipped)
