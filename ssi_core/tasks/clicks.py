"""Pairs from clicks: what was clicked for a query (a page, a search) is relevant to it.

A pair has the weight of its clicks, or its estimated relevance (`exposure`). Sides of the split are
by a keyed hash of both ends (``pairs``: no pair is on two sides), by a keyed hash of the user or,
where the log knows none, of the session (``users``: what others click in training is clicked
again in testing), or by time.

Where judgements are the test (``ranked`` "judged"), no side is the test's by a hash: what would be
there is trained on, and what is clicked in documents that were judged is not.

Where it is known what was shown, the task has slates. With the split ``pairs`` what was clicked in
training, or for the test in validation, is taken off the others' slates: it is known to be liked.
Otherwise nothing is taken off.

Where what is clicked are pages, queries are the documents; with the queries ``goals`` a query is a
page and the page that its visitor looks for, both with their heaviest words.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from ssi_core import collection as collections
from ssi_core.collection import INGEST, Collection
from ssi_core.remedies import typed
from ssi_core.tasks.click_sides import with_sides, with_sides_of
from ssi_core.tasks.frozen import excluded_pairs
from ssi_core.tasks.impressions import WEIGHTS, count_impressions
from ssi_core.tasks.judged import read_judgements, write_test_lists
from ssi_core.tasks.layout import PAIRS
from ssi_core.tasks.queries import write_exclude
from ssi_core.tasks.slates import write_exposed, write_pairs_of, write_shown, write_slates
from ssi_core.tasks.split import NO_SIDE, SPLITS, TEST, TRAIN
from ssi_core.tasks.task_builder import Mask, Reading, TaskBuilder
from ssi_core.types import BadInput, Int32, Weights

_OF_PAIRS = ("passed", "grade")


def weights_of(collection: Collection) -> Weights:
    """Return what the weights of pairs are; see `types.Task`."""
    return WEIGHTS.get(_rule(collection), "clicks")


def _rule(collection: Collection) -> str:
    return str(collection.artefact.configuration.get("clicks", "all"))


def counted_rows(collection: Collection) -> int:
    """Return how many rows of a log a task reads; of slates without a click if they count."""
    counts, skipped = collection.artefact.counts, collection.artefact.skipped
    rows = int(counts.get("impressions", counts.get("clicks", 0))) or int(counts.get("pairs", 0))
    if weights_of(collection) == "clicks":
        return rows
    return rows + int(skipped.get("row_of_slate_without_click", 0))


def write_clicks(builder: TaskBuilder) -> Reading:
    """Write the pairs, slates and showings of a task of clicks, and its candidates."""
    return _Events(builder).write()


class _Events:
    """The rows of a log on the sides of a split."""

    def __init__(self, builder: TaskBuilder) -> None:
        self.builder, self.spec, self.path = builder, builder.spec, builder.path
        self.where = builder.collection.path
        self.weights = weights_of(builder.collection)
        self.judged: pl.Series | None = None
        if self.spec.tests_judged:
            self.judged = read_judgements(builder.collection)["target"].unique()
        if self.spec.vocabularies == "two" and builder.same:
            raise BadInput(
                f"{self.where}: what is clicked are the pages themselves. Take one vocabulary."
            )

    def write(self) -> Reading:
        """Number the rows, give them sides, and write what follows from them."""
        builder, reading = self.builder, Reading.of_all(self.builder)
        rows = self._unjudged(self._numbered())
        goals = None
        if self.spec.queries == "goals":
            rows, goals = self._with_goals(rows)
        queries = len(builder.queries) if goals is None else len(goals)
        rows = with_sides(rows, self.spec.division, self.spec.split_seed, self.where)
        rows = self._before_test(rows)
        exposure = self._count_exposure(rows)
        rows = self._without_frozen(rows)
        exposure = None if exposure is None else self._bar_frozen(exposure)
        builder.write_pools()
        looked = exposure if self.weights == "relevance" else None
        counts = write_pairs_of(self.path / PAIRS, rows, looked)
        if self.judged is not None:
            counts |= write_test_lists(builder)
            reading = replace(reading, queries=self._trained(rows))
        missing = [name for name, n in counts.items() if n == 0]
        if missing:
            otherwise = typed("split", "pairs")
            if self.spec.split == "pairs":
                otherwise = typed("split-seed", self.spec.split_seed + 1)
            raise BadInput(
                f"{self.where}: of its clicks none is left for {', '.join(missing)} when split "
                f"by {self.spec.split}. Ingest a longer log, or split it otherwise: {otherwise}."
            )
        builder.counts["pairs"] = counts
        self._write_slates(rows, queries, exposure)
        documents = len(builder.documents)
        if not builder.same:
            write_exclude(self.path, np.empty((0, 2), np.int32), queries, documents)
        elif goals is not None:
            sources = rows.select("q", "query").unique().sort("q").to_numpy()
            write_exclude(self.path, sources, queries, documents)
        return replace(reading, goals=goals)

    def _numbered(self) -> pl.DataFrame:
        """Rows of the log: q, query, d (row numbers), event, user, timestamp, position, weight, ...

        ``query`` is a row of the collection's queries, ``q`` may be that of a query and a goal.

        ``passed`` is how often the row was shown and not clicked, ``grade`` null if it has none.
        """
        rows = self.builder.collection.frame("impressions")
        if rows.is_empty():
            clicked = self.builder.collection.frame(collections.relation_at(collections.CLICK))
            rows = _rows_of_pairs(clicked.rename({"source": "query", "target": "document"}))
        return self._with_numbers(rows)

    def _with_numbers(self, rows: pl.DataFrame) -> pl.DataFrame:
        if "passed" not in rows.columns:
            unclicked = (~pl.col("clicked")).cast(pl.Int64)
            rows = rows.with_columns(passed=unclicked, grade=pl.lit(None, pl.Float64))
        numbered = rows.join(self._numbers("queries", "query", "q"), on="query")
        numbered = numbered.join(self._numbers("documents", "document", "d"), on="document")
        if len(numbered) != len(rows):
            raise BadInput(
                f"{self.where}: {len(rows) - len(numbered)} rows have a query or a document "
                f"without a text or with two. {INGEST}"
            )
        user = pl.coalesce(pl.col("user").cast(pl.String), "session")
        return numbered.select(
            "q", "d", "event", "session", "timestamp", "position", "clicked", "weight", "goal",
            *_OF_PAIRS, query_id="query", document_id="document", query="q", user=user,
        )  # fmt: skip

    def _unjudged(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Leave out the rows of documents that were judged for the test."""
        if self.judged is None:
            return rows
        kept = rows.join(self.judged.to_frame("document_id"), on="document_id", how="anti")
        clicked = (part.filter("clicked").select("q", "d").n_unique() for part in (rows, kept))
        self.builder.skipped["pairs_of_judged_documents"] = next(clicked) - next(clicked)
        return kept

    def _before_test(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Give training the rows of the test, where judgements are the test."""
        if self.judged is None:
            return rows
        train = pl.lit(TRAIN, pl.Int8)
        return rows.with_columns(side=pl.when(side=TEST).then(train).otherwise("side"))

    def _trained(self, rows: pl.DataFrame) -> Mask:
        """Return which queries are of training, whose words count."""
        trained = np.zeros(len(self.builder.queries), np.bool_)
        trained[rows.filter(pl.col("side") == TRAIN)["q"].to_numpy()] = True
        return trained

    def _numbers(self, side: str, name: str, row: str) -> pl.DataFrame:
        """Return the row of each text of a side by its id."""
        ids = getattr(self.builder, side)["id"]
        return pl.DataFrame({name: ids, row: np.arange(len(ids), dtype=np.int32)})

    def _count_exposure(self, rows: pl.DataFrame) -> pl.DataFrame | None:
        """Count the showings of all pairs, where their weights are by propensities."""
        if self.weights == "clicks":
            return None

        def prepare(impressions: pl.DataFrame) -> pl.DataFrame:
            others = self._unjudged(self._with_numbers(impressions))
            how = (self.spec.division, self.spec.split_seed, self.where)
            return self._before_test(with_sides_of(others, rows, *how))

        return count_impressions(self.where, rows, prepare)

    def _bar_frozen(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Take rows of pairs of frozen sets off the sides that are trained on."""
        builder = self.builder
        if not builder.frozen:
            return rows
        ends = rows.select("query", "d").to_numpy()
        names = builder.queries["id"], builder.documents["id"]
        excluded = excluded_pairs(builder.frozen, self.spec.relevant, *names, ends)
        held = pl.lit(pl.Series(excluded)) & (pl.col("side") != TEST)
        return rows.with_columns(
            side=pl.when(held).then(pl.lit(NO_SIDE, pl.Int8)).otherwise(pl.col("side"))
        )

    def _without_frozen(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Take rows of frozen sets off, and count the clicked pairs among them."""
        rows = self._bar_frozen(rows)
        if self.builder.frozen:
            gone = rows.filter((pl.col("side") == NO_SIDE) & pl.col("clicked"))
            self.builder.skipped["frozen_pairs"] = gone.select("query", "d").n_unique()
        return rows

    def _with_goals(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, Int32]:
        """Make a query of each page with each goal of its visitors; its rows, and both pages."""
        if not self.builder.same or rows["goal"].null_count() == len(rows):
            raise BadInput(
                f"{self.where}: no goals of visitors are known. Make a task of the queries of the "
                f"log: {typed('queries-from', 'queries')}."
            )
        self.builder.skipped["clicks_without_goal"] = rows["goal"].null_count()
        known = rows.join(self._numbers("queries", "goal", "g"), on="goal")
        queries = known.select("query", "g").unique().sort("query", "g").with_row_index("q")
        queries = queries.with_columns(pl.col("q").cast(pl.Int32))
        goals: Int32 = queries.select("query", "g").to_numpy()
        return known.drop("q").join(queries, on=["query", "g"]), goals

    def _write_slates(
        self, rows: pl.DataFrame, queries: int, exposure: pl.DataFrame | None
    ) -> None:
        fixed = None
        if collections.SHOWN in self.builder.collection.relations:
            shown = pl.concat(list(self.builder.collection.ends(collections.SHOWN)))
            fixed = (
                shown.join(self._numbers("queries", "source", "query"), on="source")
                .join(self._numbers("documents", "target", "d"), on="target")
                .select("query", "d")
            )
        elif exposure is None and not rows["passed"].sum():
            return
        apart = self.spec.split == "pairs"
        counts = self.builder.counts
        counts["slates"] = {
            side: write_slates(self.path, rows, fixed, number, apart=apart)
            for number, side in enumerate(SPLITS)
            if number
        }
        if exposure is not None:
            distinct = self.weights == "relevance"
            counts["shown_pairs" if distinct else "showings"] = write_exposed(
                self.path, rows, exposure, queries, distinct=distinct
            )
            return
        only_first = _rule(self.builder.collection) == "first"
        counts["shown_unclicked"] = write_shown(
            self.path, rows, fixed, queries, only_first=only_first
        )


def _rows_of_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """Rows of pairs of which no showing is known: an event is all that a query has."""
    relevant, graded = pl.col("weight") > 0, pl.col("grade").is_not_null()
    # A pair of the log that was not clicked was there to be clicked, once at least.
    least = (pl.col("clicks") == 0).cast(pl.Int64)
    unclicked = pl.max_horizontal(least, (pl.col("shown") - pl.col("clicks")).fill_null(0))
    nothing = {name: pl.lit(None) for name in ("user", "timestamp", "position", "goal")}
    return pairs.with_columns(
        event=pl.col("query").rle_id().cast(pl.Int64),
        session=pl.col("query"),
        clicked=relevant,
        passed=pl.when(graded).then((~relevant).cast(pl.Int64)).otherwise(unclicked),
        **nothing,
    )
