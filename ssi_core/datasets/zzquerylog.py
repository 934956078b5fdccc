"""ZZQueryLog: queries of a sports search site, and how often each of their results was clicked.

A document is the label of a result; results of one label (a club's teams of several sports) are one
title, and their clicks are summed. Queries of one wording (the Portuguese and the Brazilian site)
are one query. Average positions are not used: a mean over visits says neither where a click
happened nor how often a result was looked at.

A fifth of the queries, by a keyed hash of their wordings, are judged and not clicked. The grade of
a result is by its share of the query's clicks, by the rule that the publisher's own judgements (of
the few results with an entry in Wikidata) follow: 3 from three quarters on, 2 from a half, 1 from a
quarter, else 0. Every result of the log has a click, so that 0 means a few of many.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ssi_core import files
from ssi_core.corpus import inputs
from ssi_core.corpus.texts import id_of
from ssi_core.datasets.query_log import PAIRS, QueryLog, write_query_log
from ssi_core.text.wording import wording_of
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.datasets.sources import ZzQueryLog
    from ssi_core.store import Building

QUERIES = "zz_query_log_queries.json.gz"
LEVELS = {3: 0.75, 2: 0.5, 1: 0.25}
"""Grade -> the least share of a query's clicks."""
_JUDGED = 5
_RESTORE = "Restore the published file."


def files_in(directory: Path) -> list[Path]:
    """Return the file that is read."""
    return [directory / QUERIES]


def grade_of(share: float) -> int:
    """Return the grade of a result by its share of its query's clicks.

    >>> grade_of(0.97), grade_of(0.5), grade_of(0.1)
    (3, 2, 0)
    """
    return next((grade for grade, least in LEVELS.items() if share >= least), 0)


def is_judged(wording: str) -> bool:
    """Tell whether a query is one of those that are judged: one in five, by a keyed hash."""
    digest = hashlib.blake2b(wording.encode(), digest_size=8, person=b"judged").digest()
    return int.from_bytes(digest, "little") % _JUDGED == 0


def _rows(path: Path) -> Iterator[tuple[str, str, int]]:
    """Yield query, label and clicks of every result."""
    text = inputs.read_text(path, _RESTORE)
    with files.reading(path, _RESTORE):
        queries = json.loads(text)
    if not isinstance(queries, list):
        raise BadInput(f"{path}: expected a JSON list of queries. {_RESTORE}")
    for number, query in enumerate(queries, 1):
        try:
            for result in query["results"]:
                row = str(query["query"]), str(result["label"]).strip(), int(result["clicks"])
                if row[1] and row[2] >= 0:
                    yield row
                else:
                    raise ValueError(f"label {row[1]!r}, clicks {row[2]}")
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(
                f"{path}: query {number}: {type(error).__name__}: {error}; expected query, and "
                f"results with a label and clicks. {_RESTORE}"
            ) from None


def build(building: Building, source: ZzQueryLog, progress: Progress | None) -> None:
    """Write a query log: labels that were clicked on, a fifth of the queries judged."""
    (path,) = files_in(*source.paths)
    raw = pl.DataFrame(list(_rows(path)), schema=["query", "title", "clicks"], orient="row")
    results = raw.with_columns(
        text=pl.Series([wording_of(query) or query for query in raw["query"]], dtype=pl.String),
        document=pl.Series([id_of(title) for title in raw["title"]], dtype=pl.String),
    )
    rows = results.group_by("text", "document", maintain_order=True).agg(pl.col("clicks").sum())
    shares = rows["clicks"] / rows.select(pl.col("clicks").sum().over("text"))["clicks"]
    rows = rows.with_columns(
        grade=pl.Series([grade_of(share) for share in shares], dtype=pl.Float32),
        judged=pl.Series([is_judged(text) for text in rows["text"]], dtype=pl.Boolean),
        shown=pl.lit(None, pl.Int64),
    )
    log = QueryLog(
        pairs=[rows.filter(~pl.col("judged")).select(*PAIRS)],
        # By id: the order of the file is that of clicks, and equal scores stand as documents do.
        documents=[
            results.select(id="document", title="title").unique("id", keep="first").sort("id")
        ],
        judgements=rows.filter("judged").select("text", "document", "grade"),
        language="pt",
        where=path,
    )
    write_query_log(building, log)
    building.counts["results"] = len(raw)
    building.skipped["result_summed"] = len(raw) - len(rows)
