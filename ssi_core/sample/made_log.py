"""The query log of the sample as a collection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import polars as pl

from ssi_core.datasets.query_log import QueryLog, write_query_log
from ssi_core.resources import require
from ssi_core.sample.query_log import QueryLogWorld

if TYPE_CHECKING:
    from ssi_core.sample.sources import SampleQueryLog
    from ssi_core.store import Building
    from ssi_core.types import Progress

_PAIRS_OF_A_QUERY, _PAIRS_AT_ONCE = 3, 2_000_000
# Bytes of memory: of a block and a shard, and of a title. Of disk: of a title and of a query.
_BASE, _OF_A_TITLE, _TITLE, _QUERY = 1_000_000_000, 200, 60, 250


def build(building: Building, source: SampleQueryLog, progress: Progress | None) -> None:
    """Write a query log of known truth.

    Memory: the titles as numbers, a block of the queries, and a part of the pairs.
    `ssi_core.types.Refused` where memory or disk is too small.
    """
    world = QueryLogWorld(**source.model_dump())
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
