"""A query log with judgements: titles that were clicked on, and lists of titles that were judged.

A model learns from the pairs of a query and a clicked title, and is measured by how it ranks the
judged titles of a query. A document is nothing but its title. A query is its wording
(`text.wording`), and known by the digest of it: clicked and judged, it is one query.

What is clicked stays, judged or not: whoever makes a task of it leaves out the pairs whose document
is judged, which ``pairs_of_judged_documents`` counts.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ssi_core import collection, files
from ssi_core.collection import PartWriter
from ssi_core.corpus.click_tables import CLICKS, IMPRESSIONS
from ssi_core.corpus.judged.judgements import account, kept_judgements, write_relation
from ssi_core.corpus.texts import id_of
from ssi_core.store import Building
from ssi_core.text.wording import wording_of
from ssi_core.types import BadInput

DOCUMENTS = {"id": pl.String(), "title": pl.String()}
PAIRS = {"text": pl.String(), "document": pl.String(), "clicks": pl.Int64(), "shown": pl.Int64()}
JUDGED = {"text": pl.String(), "document": pl.String(), "grade": pl.Float32()}
"""Schemas of what `write_query_log` takes; ``text`` is a query, ``shown`` null where unknown."""

_IDS = 16**4  # prefixes of ids that are divided among the shards
_HELD = 1 << 20  # rows that are held before they are written


@dataclass(frozen=True)
class QueryLog:
    """Parts of a query log with judgements, each read once and in this order.

    Attributes
    ----------
    pairs : iterable of DataFrame
        `PAIRS`; rows of the same pair are summed.
    documents : iterable of DataFrame
        `DOCUMENTS`, each id once; all that the pairs and the judgements name.
    judgements : DataFrame or None
        `JUDGED`; of a pair that is judged twice the first row stays.
    language : str
        Language code of queries and documents.
    where : Path
        What errors name.
    shards : int
        Parts that the pairs are divided into; one is held at a time.
    """

    pairs: Iterable[pl.DataFrame]
    documents: Iterable[pl.DataFrame]
    judgements: pl.DataFrame | None
    language: str
    where: Path
    shards: int = 1


def write_query_log(building: Building, log: QueryLog) -> None:
    """Write documents, queries, clicks and judgements, and count what was left out.

    The manifest has ``documents``, ``queries``, ``pairs``, ``clicks``, the counts of judged
    collections, ``judged_documents``, ``judged_queries_clicked`` and
    ``pairs_of_judged_documents``.

    Raises
    ------
    BadInput
        No pair is left, or no title is relevant to a judged query.
    """
    skipped: Counter[str] = Counter()
    shards = _Shards(building.path / "pairs", log.shards)
    for frame in log.pairs:
        shards.add(_with_queries(frame, skipped, "pair"))
    shards.flush()
    with collection.text_writer(building.path) as documents:
        for frame in log.documents:
            texts = frame.with_columns(language=pl.lit(log.language), text=pl.col("title"))
            documents.write(collection.timeless(texts))
    judged = pl.DataFrame(schema={"query": pl.String(), **JUDGED})
    if log.judgements is not None:
        rated = _with_queries(log.judgements, skipped, "judgement")
        queries = rated["query"].unique().to_list()
        judged, unknown = kept_judgements(building.path, queries, rated)
        if judged.filter(pl.col("grade") > 0).is_empty():
            raise BadInput(
                f"{log.where}: of {len(log.judgements):,} judgements beside it none has a grade "
                "above 0. Give lists that have relevant titles."
            )
        account(building, judged, skipped + unknown)
        building.counts["judged_documents"] = judged["document"].n_unique()
        write_relation(building, judged.select("query", "document", "grade"))
    _write_pairs(building, shards, judged, log)
    shards.remove()
    building.counts["documents"] = documents.rows
    building.skipped.update({name: n for name, n in sorted(skipped.items()) if n})
    with PartWriter(building.path / "impressions", IMPRESSIONS):
        pass


def _write_pairs(building: Building, shards: _Shards, judged: pl.DataFrame, log: QueryLog) -> None:
    """Write clicks by query and document, and queries by their ids."""
    wordings = judged.select(id="query", text="text").unique("id", keep="first")
    titles = judged["document"].unique()
    totals: Counter[str] = Counter()
    with (
        collection.text_writer(building.path, "queries") as queries,
        collection.relation_writer(building.path, collection.CLICK, CLICKS) as clicks,
    ):
        for rows, (first, end) in shards:
            pairs = rows.group_by("query", "document").agg(
                pl.col("text").first(),
                shown=pl.when(pl.col("shown").count() > 0).then(pl.col("shown").sum()),
                clicks=pl.col("clicks").sum(),
            )
            clicked = pairs.select(id="query", text="text").unique("id", keep="first")
            here = wordings.filter(
                pl.col("id").str.slice(0, 4).is_between(pl.lit(first), pl.lit(end))
            )
            every = pl.concat([clicked, here]).unique("id", keep="first").sort("id")
            texts = every.with_columns(title=pl.col("text"), language=pl.lit(log.language))
            queries.write(collection.timeless(texts))
            clicks.write(
                pairs.sort("query", "document").select(
                    *("shown", "clicks"),
                    source="query",
                    target="document",
                    weight=pl.col("clicks").cast(pl.Float64),
                    grade=pl.lit(None, pl.Float64),
                )
            )
            totals["clicks"] += int(pairs["clicks"].sum())
            totals["judged_queries_clicked"] += here.join(clicked, on="id", how="semi").height
            of_judged = pairs.filter(pl.col("document").is_in(titles.implode()))
            totals["pairs_of_judged_documents"] += len(of_judged)
    if not clicks.rows:
        raise BadInput(
            f"{log.where}: no query has a title that was clicked on. Give a longer log, or the "
            "files that belong together."
        )
    building.counts.update(queries=queries.rows, pairs=clicks.rows, impressions=0, **totals)


def _with_queries(rows: pl.DataFrame, skipped: Counter[str], what: str) -> pl.DataFrame:
    """Put the wording in the place of each query, and its id beside it; count those without."""
    texts = rows["text"].unique()
    wordings = [wording_of(text) for text in texts]
    words = {
        "text": texts,
        "wording": pl.Series(wordings, dtype=pl.String),
        "query": pl.Series([id_of(one) if one else None for one in wordings], dtype=pl.String),
    }
    known = rows.join(pl.DataFrame(words), on="text", how="left", maintain_order="left")
    skipped[f"{what}_query_too_long"] += known["wording"].null_count()
    skipped[f"{what}_query_without_words"] += int((known["wording"] == "").sum())
    return known.filter(pl.col("query").is_not_null()).with_columns(text="wording").drop("wording")


class _Shards:
    """Pairs divided by their query's id, so that the shards one after the other are in order."""

    def __init__(self, directory: Path, number: int) -> None:
        self._directory, self._number = directory, number
        self._held: list[pl.DataFrame] = []
        self._parts = 0
        directory.mkdir()
        for shard in range(number):
            (directory / f"{shard}").mkdir()

    def add(self, rows: pl.DataFrame) -> None:
        self._held.append(rows.select("query", *PAIRS))
        if sum(map(len, self._held)) >= _HELD:
            self.flush()

    def flush(self) -> None:
        if not self._held:
            return
        rows, self._held = pl.concat(self._held), []
        prefix = pl.col("query").str.slice(0, 4).str.to_integer(base=16)
        numbered = rows.with_columns(shard=prefix * self._number // _IDS)
        parts = numbered.partition_by("shard", as_dict=True, include_key=False)
        for (shard,), part in parts.items():
            part.write_parquet(self._directory / f"{shard}" / f"part-{self._parts:05d}.parquet")
        self._parts += 1

    def __iter__(self) -> Iterator[tuple[pl.DataFrame, tuple[str, str]]]:
        """Yield the rows of each shard, with the first and the last prefix of its ids."""
        for shard in range(self._number):
            first, end = (-(-boundary * _IDS // self._number) for boundary in (shard, shard + 1))
            parts = files.parts_in(self._directory / f"{shard}")
            rows = [pl.read_parquet(part, glob=False) for part in parts]
            schema = {"query": pl.String(), **PAIRS}
            yield (
                pl.concat([pl.DataFrame(schema=schema), *rows]),
                (f"{first:04x}", f"{end - 1:04x}"),
            )

    def remove(self) -> None:
        shutil.rmtree(self._directory)
