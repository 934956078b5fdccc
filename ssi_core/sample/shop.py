"""A made-up shop: products, and what visitors of its search did, as OpenSearch's UBI logs it.

Queries, products and clicks are those of a made query log (`query_log`): in half of the cases a
query names a thing in words that no product has, so that only the clicks tell what is meant. Some
queries are judged, too, on products of the first fifth of all.
"""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from ssi_core.sample.query_log import CONCEPTS, QueryLogWorld
from ssi_core.types import Progress

PRODUCTS, LOG = "products.jsonl", "ubi"
"""Names of the table of products, and of the directory of the log."""

_GAP = 0.5
_OF_A_CONCEPT = 10  # products
_OF_A_JUDGED = 10  # products for each judged query
_REPEATED = 4  # visits with the same query, on average
_FIRST_MOMENT = 1_700_000_000_000  # milliseconds
_BETWEEN = 30_000


def write_shop(
    directory: Path,
    *,
    products: int = 2000,
    visits: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, int]:
    """Write the products and the log of a made-up shop into a directory.

    Parameters
    ----------
    directory : Path
        Made if it is not there; gets ``products.jsonl``, and ``ubi/`` with queries, events and a
        judgement list.
    products, visits : int
        How many there are; by default ten visits for each product. A visit is a query, its
        impressions and clicks: about eleven events.
    seed : int
        Same settings, same bytes.

    Returns
    -------
    dict
        ``products``, ``judgements``, ``queries``, ``impressions``, ``clicks``.
    """
    visits = 10 * products if visits is None else visits
    world = QueryLogWorld(
        titles=products,
        queries=max(1, visits // _REPEATED),
        judged=max(1, products // _OF_A_JUDGED),
        topics=max(1, products // (CONCEPTS * _OF_A_CONCEPT)),
        gap=_GAP,
        seed=seed,
    )
    (directory / LOG).mkdir(parents=True, exist_ok=True)
    with (directory / PRODUCTS).open("wb") as file:
        for block in world.texts():
            block.write_ndjson(file)
    judgements = world.judgements()
    (directory / LOG / "judgements.json").write_text(_judgement_list(judgements), encoding="utf-8")
    counts = {"products": products, "judgements": len(judgements)}
    counts |= {"queries": 0, "impressions": 0, "clicks": 0}
    with (
        (directory / LOG / "ubi_queries.ndjson").open("wb") as queries,
        (directory / LOG / "ubi_events.ndjson").open("wb") as events,
    ):
        for rows in world.visits(visits):
            searches = rows.unique("visit", keep="first", maintain_order=True)
            searches.select(*_OF_VISIT, user_query="text").write_ndjson(queries)
            clicks = rows.filter("clicked")
            both = pl.concat(
                [rows.select(_event("impression", 1)), clicks.select(_event("click", 9))]
            )
            both.sort("timestamp", maintain_order=True).write_ndjson(events)
            counts["queries"] += len(searches)
            counts["impressions"] += len(rows)
            counts["clicks"] += len(clicks)
            if progress is not None:
                progress(counts["queries"] / visits, f"{counts['queries']:,} visits")
    return counts


_OF_VISIT = (
    pl.lit("shop").alias("application"),
    pl.format("q{}", "visit").alias("query_id"),
    pl.format("c{}", pl.col("visit") // 3).alias("client_id"),
    (_FIRST_MOMENT + _BETWEEN * pl.col("visit")).alias("timestamp"),
)


def _judgement_list(judgements: pl.DataFrame) -> str:
    """Return judgements in the import format of the Search Relevance Workbench."""
    ratings = pl.struct(docId="document", rating="grade").alias("ratings")
    lists = judgements.group_by(query="text", maintain_order=True).agg(ratings)
    return json.dumps({"name": "made up", "judgmentRatings": lists.to_dicts()}) + "\n"


def _event(action: str, after: int) -> list[pl.Expr]:
    """Return the columns of an event, some seconds after its query."""
    *names, moment = _OF_VISIT
    product = pl.struct(object_id="document", object_id_field=pl.lit("id"))
    position = pl.struct(ordinal="position")
    return [
        pl.lit(action).alias("action_name"),
        *names,
        moment + 1000 * after,
        pl.struct(object=product, position=position).alias("event_attributes"),
    ]
