"""Judged lists beside the clicks of a log: what a model is measured by, and does not learn from."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from ssi_core import files
from ssi_core.collection import CLICK, PartWriter, relation_at
from ssi_core.corpus.judged.judgements import account, kept_judgements, write_relation
from ssi_core.corpus.judged.rows import read_judged
from ssi_core.corpus.texts import PLACEHOLDER, id_of, write_texts
from ssi_core.guests.click_logs.columns import LogMap
from ssi_core.store import Building
from ssi_core.types import BadInput


class Judged:
    """Judgements of queries and documents that a log or its tables know.

    Parameters
    ----------
    path : Path
        See `read_judged`.
    form : LogMap
        Of the log: where it has no ids of queries, a query is its text.
    """

    def __init__(self, building: Building, path: Path, form: LogMap) -> None:
        self._building, self._path, self._form = building, path, form
        self._rows = read_judged(path).with_columns(pl.col("query").str.strip_chars())
        self._queries = pl.Series("id", dtype=pl.String)

    def name_queries(self, known: pl.Series, writer: PartWriter | None) -> None:
        """Give each judged query its id, and write the texts of those that the log lacks.

        Parameters
        ----------
        known : Series
            Ids of the queries that have a text.
        writer : PartWriter or None
            Of the queries.
        """
        if "query" not in self._form.columns:
            texts = self._rows["query"].unique(maintain_order=True)
            ids = pl.Series([id_of(text) for text in texts], dtype=pl.String)
            named = pl.DataFrame({"query": texts, "id": ids})
            new = named.filter(~pl.col("id").is_in(known.implode()))
            if writer is not None and len(new):
                rows = new.select("id", title=pl.lit(None, pl.String), text="query")
                write_texts(writer, rows, self._form.queries.language or PLACEHOLDER)
            self._rows = self._rows.with_columns(pl.col("query").replace_strict(texts, ids))
            known = pl.concat([known, new["id"]])
        judged = self._rows.select(id=pl.col("query").unique())
        self._queries = judged.filter(pl.col("id").is_in(known.implode()))["id"]

    def added(self, used: pl.DataFrame) -> pl.DataFrame:
        """Return the ids of queries that are clicked for or judged."""
        return pl.concat([used.select("id"), self._queries.to_frame("id")]).unique()

    def write(self) -> None:
        """Write the judgements of known queries and documents, and count the others."""
        kept, skipped = kept_judgements(self._building.path, self._queries.to_list(), self._rows)
        if kept.filter(pl.col("grade") > 0).is_empty():
            reasons = ", ".join(f"{n:,} {name}" for name, n in skipped.items() if n)
            raise BadInput(
                f"{self._path}: no query has a relevant document ({len(self._rows):,} judgements "
                f"found; {reasons or 'none has a grade above 0'}). Name queries and documents as "
                f"the log does, by the columns of {self._form.where}."
            )
        account(self._building, kept, skipped)
        write_relation(self._building, kept)
        self._building.counts.update(self._in_clicks(kept))

    def _in_clicks(self, judged: pl.DataFrame) -> dict[str, int]:
        """Count the judged documents, the judged queries that are clicked for, and the pairs."""
        parts = files.parts_in(self._building.path / relation_at(CLICK))
        pairs = pl.scan_parquet(parts, glob=False).filter(pl.col("weight") > 0)
        queries, documents = (judged[side].unique().implode() for side in ("query", "document"))
        of_queries = pairs.filter(pl.col("source").is_in(queries)).select("source").unique()
        of_documents = pairs.filter(pl.col("target").is_in(documents))
        return {
            "judged_documents": judged["document"].n_unique(),
            "judged_queries_clicked": of_queries.select(pl.len()).collect().item(),
            "pairs_of_judged_documents": of_documents.select(pl.len()).collect().item(),
        }
