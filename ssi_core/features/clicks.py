"""Tasks from clicks: pages are queries, and the ads (links, results) clicked on them relevant.

A pair has the weight of its clicks, or its estimated relevance (`exposure`). Sides of the split are
by a keyed hash of page and ad (``pairs``: no pair is on two sides), by a keyed hash of the user or,
where the log knows none, of the session (``sessions``: what others click in training is clicked
again in testing), or by time.

Where it is known what was shown, the task has slates. With the split ``pairs`` what was clicked in
training, or for the test in validation, is taken off the others' slates: it is known to be liked.
Otherwise nothing is taken off.

One vocabulary serves both sides, so that a word can meet itself, or each side has its own
(``vocabularies`` "one", "two"). Where what is clicked are pages, queries are the documents; with
``goal`` a query is a page and the page that its visitor looks for, both with their heaviest words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl

from ssi_core import files, store
from ssi_core.features.click_sides import with_sides, with_sides_of
from ssi_core.features.cost import require_features
from ssi_core.features.counting import BLOCK, matrix_path, row_blocks, write_counts, write_views
from ssi_core.features.csr_writer import CsrWriter
from ssi_core.features.exposure import WEIGHTS, count_exposure
from ssi_core.features.frozen import KIND, barred_pairs
from ssi_core.features.goals import write_goals
from ssi_core.features.layout import DOCUMENTS, MATRICES, PAIRS, POOL, VALID_POOL, VIEW
from ssi_core.features.pairs import candidates
from ssi_core.features.queries import MATRICES as QUERY_MATRICES
from ssi_core.features.queries import QUERY_VIEW, TEXTS, write_exclude
from ssi_core.features.reading import INGEST, language_of, parts_of, texts_of
from ssi_core.features.settings import ClicksSettings, pool_size
from ssi_core.features.slates import (
    write_exposed,
    write_pairs_of,
    write_shown,
    write_slates,
)
from ssi_core.features.split import NO_SIDE, SIDES, TEST
from ssi_core.features.tfidf import COUNTS, Weighting
from ssi_core.features.views import TextView
from ssi_core.types import BadInput, Progress, TextMatrix, Weights

_OF_PAIRS = ("passed", "grade")
_AGAIN = "Remove the clicks and ingest them again."


def build_clicks_task(
    clicks: Path,
    out: Path | None = None,
    *,
    words: int | None = 30_000,
    split: str | None = None,
    views: Sequence[str] = ("counts", "raw", "sublinear"),
    split_seed: int = 0,
    pool: int | None = None,
    vocabularies: str = "one",
    goal: bool = False,
    frozen: Sequence[Path] = (),
    force: bool = False,
    progress: Progress | None = None,
) -> store.Artefact:
    """Make the task directory of a ``clicks`` artefact, or find it up to date.

    Pairs of page and ad of the sets in ``frozen`` are on no side but that of the test: neither a
    click of them nor a showing is trained on.

    Parameters
    ----------
    clicks : directory that ``ssi ingest clicks`` wrote
    split : "pairs", "sessions" or "time"; None: what the clicks were ingested for
    others : see `ClicksSettings`

    Raises
    ------
    BadInput
        No click is left for one of the sides, or something that the settings ask for is unknown.
    Refused
        Another artefact is at ``out``, or memory or disk is too small.
    """
    clicks = Path(clicks)
    source = store.read(clicks, "clicks")
    split = split or str(source.configuration.get("split", "pairs"))
    drawn = pool_size(pool, split)
    settings = ClicksSettings(words, split, tuple(views), split_seed, drawn, vocabularies, goal)
    rule = str(source.configuration.get("clicks", "all"))
    weights = WEIGHTS.get(rule, "clicks")
    configuration = settings.configuration() | {"weights": weights}
    parents = {"clicks": source.key}
    parents |= {f"frozen_{n}": store.read(path, KIND).key for n, path in enumerate(frozen)}

    def make(building: store.Building) -> None:
        corpora = [clicks / name for name in ("pages", "ads") if (clicks / name).exists()]
        require_features(
            [part for corpus in corpora for part in parts_of(corpus, "documents")],
            building.path.parent,
            documents=sum(store.read(corpus).counts.get("documents", 0) for corpus in corpora),
            links=_rows_of(source, weights),
            views=len(settings.views),
            all_words=words is None,
        )
        making = _Making(clicks, settings, rule, weights, frozen, building, progress or _quiet)
        making.write()

    return store.open_or_make("task", configuration, parents, make, out=out, force=force)


def _rows_of(source: store.Artefact, weights: Weights) -> int:
    """Return how many rows of a log a task is made of; of slates without a click if they count."""
    rows = int(source.counts.get("impressions", source.counts.get("clicks", 0)))
    rows = rows or int(source.counts.get("pairs", 0))
    if weights == "clicks":
        return rows
    return rows + int(source.skipped.get("row_of_slate_without_click", 0))


def _quiet(fraction: float, message: str) -> None:
    pass


class _Making:
    """One task being written."""

    def __init__(
        self,
        clicks: Path,
        settings: ClicksSettings,
        rule: str,
        weights: Weights,
        frozen: Sequence[Path],
        building: store.Building,
        progress: Progress,
    ) -> None:
        self.clicks, self.settings, self.frozen = clicks, settings, frozen
        self.only_first, self.weights = rule == "first", weights
        self.building, self.path, self.progress = building, building.path, progress
        self.pages = clicks / "pages"
        self.ads = clicks / "ads" if (clicks / "ads").exists() else self.pages
        if settings.vocabularies == "two" and self.ads == self.pages:
            raise BadInput(f"{clicks}: pages and ads are one corpus. Take one vocabulary.")

    def write(self) -> None:
        """Write the texts, then pairs and slates."""
        pages = self._read(self.pages)
        documents = pages if self.ads == self.pages else self._read(self.ads)
        documents.select("id", "title").write_parquet(self.path / DOCUMENTS)
        self.building.counts["documents"] = len(documents)
        self._write_views(pages, documents)
        rows = self._numbered(pages, documents)
        queries = len(pages)
        if self.settings.goal:
            rows, queries = self._with_goals(rows, pages)
        rows = with_sides(rows, self.settings.split, self.settings.split_seed, self.clicks)
        exposure = self._count_exposure(rows, pages, documents)
        barred = partial(self._bar_frozen, pages=pages, documents=documents)
        rows = self._without_frozen(rows, barred)
        exposure = None if exposure is None else barred(exposure)
        self._write_pools(len(documents))
        looked = exposure if self.weights == "relevance" else None
        counts = write_pairs_of(self.path / PAIRS, rows, looked)
        missing = [name for name, n in counts.items() if n == 0]
        if missing:
            raise BadInput(
                f"{self.clicks}: of its clicks none is left for {', '.join(missing)} when split "
                f"by {self.settings.split}. Ingest a longer log, or split it otherwise (--split)."
            )
        self.building.counts["pairs"] = counts
        self._write_slates(rows, pages, documents, queries, exposure)
        if self.ads != self.pages:
            write_exclude(self.path, np.empty((0, 2), np.int32), queries, len(documents))
        elif self.settings.goal:
            own = rows.select("q", "page").unique().sort("q").to_numpy()
            write_exclude(self.path, own, queries, len(documents))

    @staticmethod
    def _read(corpus: Path) -> pl.DataFrame:
        parts = parts_of(corpus, "documents")
        texts = files.read_strings(parts, "id", "title", "language", remedy=INGEST)
        if texts.is_empty():
            raise BadInput(f"{corpus}: the corpus has no documents. {_AGAIN}")
        return texts

    # --- texts ---

    def _write_views(self, pages: pl.DataFrame, documents: pl.DataFrame) -> None:
        counts = self.building.counts
        if self.ads == self.pages:
            view, facts = self._count(self.path / MATRICES, VIEW, [self.pages], len(pages))
            counts.update(facts)
            return
        pages.select("id", "title").write_parquet(self.path / TEXTS)
        if self.settings.vocabularies == "two":
            _, facts = self._count(self.path / MATRICES, VIEW, [self.ads], len(documents))
            query_matrices = self.path / QUERY_MATRICES
            _, asked = self._count(query_matrices, QUERY_VIEW, [self.pages], len(pages))
            counts.update(facts, query_texts=asked)
            return
        sizes = (len(documents), len(pages))
        both = self.building.work("both") / "matrices"
        view, facts = self._count(both, VIEW, [self.ads, self.pages], sum(sizes))
        whole = store.load_csr(matrix_path(both, COUNTS))
        begin = 0
        for matrices, size in zip((MATRICES, QUERY_MATRICES), sizes, strict=True):
            _copy_rows(whole, begin, begin + size, matrix_path(self.path / matrices, COUNTS))
            write_views(self.path / matrices, view.idf, self._weightings(), self.progress)
            begin += size
        counts.update(facts)

    def _weightings(self) -> list[Weighting]:
        return [Weighting.parse(name) for name in self.settings.views if name != COUNTS]

    def _count(
        self, matrices: Path, view: str, corpora: Sequence[Path], texts: int
    ) -> tuple[TextView, dict[str, int]]:
        """Count the texts of corpora, and weigh them where they stay; their view is kept.

        Parameters
        ----------
        matrices : Path
            Directory of the counts, not taken from that of the task: it may be a work directory.
        """
        languages = [language_of(corpus, self._read(corpus)["language"]) for corpus in corpora]
        if len(set(languages)) > 1:
            raise BadInput(
                f"{self.clicks}: pages and ads are in {' and '.join(map(repr, languages))}. Take "
                "two vocabularies, or, if it is one language, name it in the map ([pages] and "
                "[ads], language) and ingest the clicks again."
            )
        vocabulary, idf, facts = write_counts(
            matrices,
            chain.from_iterable(texts_of(corpus) for corpus in corpora),
            language=languages[0],
            fitting=np.ones(texts, np.bool_),
            words=self.settings.words,
            work=self.building.work(f"bags-{view}"),
            progress=self.progress,
        )
        if not (idf > 0).any():
            raise BadInput(
                f"{self.clicks}: the texts have no word that is in some and not in all of them. "
                "Take more words (--words), or ingest a larger log."
            )
        made = TextView(languages[0], vocabulary, idf, Weighting(COUNTS))
        made.save(self.path / view)
        if len(corpora) == 1:
            write_views(matrices, idf, self._weightings(), self.progress)
        return made, facts

    # --- events ---

    def _numbered(self, pages: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
        """Rows of the log: q, page, d (row numbers), event, user, time, position, weight, goal.

        ``passed`` is how often the row was shown and not clicked, ``grade`` null if it has none.
        """
        with files.reading(self.clicks / "impressions", _AGAIN):
            rows = pl.read_parquet(files.parts_in(self.clicks / "impressions"), glob=False)
            if rows.is_empty():
                pairs = pl.read_parquet(self.clicks / "pairs.parquet", glob=False)
                rows = _rows_of_pairs(pairs)
        return self._with_numbers(rows, pages, documents)

    def _with_numbers(
        self, rows: pl.DataFrame, pages: pl.DataFrame, documents: pl.DataFrame
    ) -> pl.DataFrame:
        if "passed" not in rows.columns:
            unclicked = (~pl.col("clicked")).cast(pl.Int64)
            rows = rows.with_columns(passed=unclicked, grade=pl.lit(None, pl.Float64))
        numbers = [
            pl.DataFrame({name: texts["id"], row: np.arange(len(texts), dtype=np.int32)})
            for name, row, texts in (("page", "q", pages), ("ad", "d", documents))
        ]
        found = rows.join(numbers[0], on="page").join(numbers[1], on="ad")
        if len(found) != len(rows):
            raise BadInput(
                f"{self.clicks}: {len(rows) - len(found)} rows have a page or an ad without a text "
                f"or with two. {_AGAIN}"
            )
        user = pl.coalesce(pl.col("user").cast(pl.String), "session")
        return found.select(
            "q", "d", "session", "time", "position", "clicked", "weight", "goal", *_OF_PAIRS,
            page_id="page", ad_id="ad", page="q", user=user,
        )  # fmt: skip

    def _count_exposure(
        self, rows: pl.DataFrame, pages: pl.DataFrame, documents: pl.DataFrame
    ) -> pl.DataFrame | None:
        """Count the showings of all pairs, where their weights are by propensities."""
        if self.weights == "clicks":
            return None
        split, seed = self.settings.split, self.settings.split_seed

        def prepare(impressions: pl.DataFrame) -> pl.DataFrame:
            others = self._with_numbers(impressions, pages, documents)
            return with_sides_of(others, rows, split, seed, self.clicks)

        return count_exposure(self.clicks, rows, prepare)

    def _bar_frozen(
        self, rows: pl.DataFrame, pages: pl.DataFrame, documents: pl.DataFrame
    ) -> pl.DataFrame:
        """Take rows of pairs of frozen sets off the sides that are trained on."""
        if not self.frozen:
            return rows
        ends = rows.select("page", "d").to_numpy()
        barred = barred_pairs(self.frozen, "clicks", pages["id"], documents["id"], ends)
        held = pl.lit(pl.Series(barred)) & (pl.col("side") != TEST)
        return rows.with_columns(
            side=pl.when(held).then(pl.lit(NO_SIDE, pl.Int8)).otherwise(pl.col("side"))
        )

    def _without_frozen(
        self, rows: pl.DataFrame, barred: Callable[[pl.DataFrame], pl.DataFrame]
    ) -> pl.DataFrame:
        """Take rows of frozen sets off, and count the clicked pairs among them."""
        rows = barred(rows)
        if self.frozen:
            gone = rows.filter((pl.col("side") == NO_SIDE) & pl.col("clicked"))
            self.building.skipped["frozen_pairs"] = gone.select("page", "d").n_unique()
        return rows

    def _with_goals(self, rows: pl.DataFrame, pages: pl.DataFrame) -> tuple[pl.DataFrame, int]:
        """Make a query of each page with each goal of its visitors; rows of it, and how many."""
        if self.ads != self.pages or rows["goal"].null_count() == len(rows):
            raise BadInput(f"{self.clicks}: no goals of visitors are known. Make a task without.")
        self.building.skipped["clicks_without_goal"] = rows["goal"].null_count()
        numbers = pl.DataFrame({"goal": pages["id"], "g": np.arange(len(pages), dtype=np.int32)})
        told = rows.join(numbers, on="goal")
        asked = told.select("page", "g").unique().sort("page", "g").with_row_index("q")
        asked = asked.with_columns(pl.col("q").cast(pl.Int32))
        write_goals(self.path, pages, asked, [Weighting(COUNTS), *self._weightings()])
        return told.drop("q").join(asked, on=["page", "g"]), len(asked)

    def _write_pools(self, documents: int) -> None:
        everything = np.arange(documents, dtype=np.int32)
        pool = candidates(everything, self.settings.pool, documents, seed=self.settings.split_seed)
        if pool is not None:
            np.save(self.path / POOL, pool)
            np.save(self.path / VALID_POOL, pool)

    def _write_slates(
        self,
        rows: pl.DataFrame,
        pages: pl.DataFrame,
        documents: pl.DataFrame,
        queries: int,
        exposure: pl.DataFrame | None,
    ) -> None:
        fixed = None
        if (place := self.clicks / "slates.parquet").exists():
            table = files.read_strings([place], "page", "ad", remedy=_AGAIN)
            page, ad = (
                pl.DataFrame({name: texts["id"], row: np.arange(len(texts), dtype=np.int32)})
                for name, row, texts in (("page", "page_row", pages), ("ad", "d", documents))
            )
            fixed = table.join(page, on="page").join(ad, on="ad").select(page="page_row", d="d")
        elif exposure is None and not rows["passed"].sum():
            return
        apart = self.settings.split == "pairs"
        counts = self.building.counts
        counts["slates"] = {
            side: write_slates(self.path, rows, fixed, number, apart=apart)
            for number, side in enumerate(SIDES)
            if number
        }
        if exposure is not None:
            distinct = self.weights == "relevance"
            counts["shown_pairs" if distinct else "showings"] = write_exposed(
                self.path, exposure, queries, distinct=distinct
            )
            return
        counts["shown_unclicked"] = write_shown(
            self.path, rows, fixed, queries, only_first=self.only_first
        )


def _rows_of_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """Rows of pairs of which no showing is known: an event is all that a page has."""
    relevant, graded = pl.col("weight") > 0, pl.col("grade").is_not_null()
    # A pair of the log that was not clicked was there to be clicked, once at least.
    least = (pl.col("clicks") == 0).cast(pl.Int64)
    unclicked = pl.max_horizontal(least, (pl.col("shown") - pl.col("clicks")).fill_null(0))
    nothing = {name: pl.lit(None) for name in ("user", "time", "position", "goal")}
    return pairs.with_columns(
        session=pl.col("page"),
        clicked=relevant,
        passed=pl.when(graded).then((~relevant).cast(pl.Int64)).otherwise(unclicked),
        **nothing,
    )


def _copy_rows(whole: TextMatrix, begin: int, end: int, out: Path) -> None:
    with CsrWriter(out, whole.shape[1]) as writer:
        for first, last in row_blocks(whole.indptr[begin : end + 1], BLOCK):
            rows = whole[begin + first : begin + last]
            writer.append(rows.indptr, rows.indices, rows.data)
