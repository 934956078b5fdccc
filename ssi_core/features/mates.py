"""Tasks across languages: queries in one, documents in the other, mates between them.

Relevant to a query are the documents that its mate links to (``link``; the mate itself is never
sampled and never a candidate), or its mate (``mate``). Articles are on a side of the split, by the
title of the document: a query is on that of its mates, the last of train, valid, test if they
differ, and nothing of a query on the test side is seen in training. Every document can be a
candidate. Vocabulary and idf of each side are those of the articles that are not on the test side.

A task has three further ones, with the same sides: ``mates``, query -> mate; ``monolingual``,
where the documents are queries and what they link to is relevant; and ``monolingual_queries``,
where what a query links to in its own language is relevant, and the documents are the queries on
the training side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from ssi_core import files, store
from ssi_core.features.cost import require_features
from ssi_core.features.counting import write_counts, write_views
from ssi_core.features.frozen import KIND, barred_articles
from ssi_core.features.layout import DOCUMENTS, MATRICES, PAIRS, POOL, VALID_POOL, VIEW
from ssi_core.features.lexicon import batches
from ssi_core.features.linked import Mates, keys
from ssi_core.features.pairs import candidates, follow, link_rows, load_pairs, write_pairs
from ssi_core.features.queries import MATRICES as QUERY_MATRICES
from ssi_core.features.queries import (
    QUERY_VIEW,
    TEXTS,
    rewritten_path,
    write_exclude,
    write_weighted,
)
from ssi_core.features.reading import INGEST, language_of, parts_of, texts_of
from ssi_core.features.rewriting import (
    Removal,
    Rewriter,
    Rewriting,
    RewrittenView,
    Translation,
)
from ssi_core.features.settings import MatesSettings, pool_size
from ssi_core.features.split import (
    NO_SIDE,
    SIDES,
    TEST,
    TRAIN,
    VALID,
    Sides,
    side_of_documents,
)
from ssi_core.features.tfidf import COUNTS, Weighting
from ssi_core.features.views import TextView
from ssi_core.types import BadInput, Int32, Progress, Task

MATES, MONOLINGUAL, MONOLINGUAL_QUERIES = "mates", "monolingual", "monolingual_queries"
_ROWS = "documents.npy"

Mask = NDArray[np.bool_]


def build_mates_task(
    mates: Mates,
    out: Path | None = None,
    *,
    relevant: str = "link",
    words: int | None = 30_000,
    views: Sequence[str] = ("counts", "raw", "sublinear"),
    split_seed: int = 0,
    pool: int | None = None,
    translated: Path | None = None,
    frozen: Sequence[Path] = (),
    force: bool = False,
    progress: Progress | None = None,
) -> store.Artefact:
    """Make the task directory of mates, or find it up to date; see `MatesSettings` and `pool_size`.

    Queries of the sets in ``frozen``, and the articles that are their mates, are on no side but
    that of the test (`frozen.barred_articles`): nothing of them is trained on.

    Parameters
    ----------
    translated : parquet with columns ``id`` and ``text``: queries in the language of the
        documents, for views ``translated.WEIGHTING``

    Raises
    ------
    BadInput
        There are too few mates or links for three sides, or no dictionary or translation where a
        view needs one.
    Refused
        Another artefact is at ``out``, or memory or disk is too small.
    """
    said = None if translated is None else store.digest_file(translated)
    drawn = pool_size(pool, "articles")
    settings = MatesSettings(relevant, words, tuple(views), split_seed, drawn, said)
    parents = {"mates": mates.artefact.key}
    parents |= {f"frozen_{n}": store.read(path, KIND).key for n, path in enumerate(frozen)}

    def make(building: store.Building) -> None:
        corpora = [store.read(corpus, "corpus") for corpus in (mates.queries, mates.documents)]
        require_features(
            [part for corpus in corpora for part in parts_of(corpus.path, "documents")],
            building.path.parent,
            documents=sum(corpus.counts.get("documents", 0) for corpus in corpora),
            links=corpora[1].counts.get("links", 0),
            views=len(settings.views),
            all_words=words is None,
        )
        _Making(mates, settings, translated, frozen, building, progress or _quiet).write()

    return store.open_or_make("task", settings.configuration(), parents, make, out=out, force=force)


def _quiet(fraction: float, message: str) -> None:
    pass


class _Making:
    """One task being written."""

    def __init__(
        self,
        mates: Mates,
        settings: MatesSettings,
        translated: Path | None,
        frozen: Sequence[Path],
        building: store.Building,
        progress: Progress,
    ) -> None:
        self.mates, self.settings, self.translated = mates, settings, translated
        self.frozen = frozen
        self.building, self.progress = building, progress
        self.path = building.path
        self.asked = _read(mates.queries)
        self.documents = _read(mates.documents)

    def write(self) -> None:
        """Write pairs, then the texts of both sides, then the rewritten queries."""
        mates, kept = self._numbered()
        sides = side_of_documents(self.documents["title"], seed=self.settings.split_seed)
        of_queries = np.full(int(kept.sum()), TRAIN, np.int8)
        np.maximum.at(of_queries, mates[:, 0], sides[mates[:, 1]])
        if self.frozen:
            self._bar(mates, of_queries, sides, self.asked["title"].filter(kept))
        self._write_pairs(mates, of_queries, sides)
        self._write_query_pairs(kept, of_queries)
        everything = np.arange(len(sides), dtype=np.int32)
        for name in (POOL, VALID_POOL):
            pool = candidates(
                everything, self.settings.pool, len(sides), seed=self.settings.split_seed
            )
            if pool is not None:
                np.save(self.path / name, pool)
        queries = self.asked.filter(pl.Series(kept))
        self.documents.select("id", "title").write_parquet(self.path / DOCUMENTS)
        queries.select("id", "title").write_parquet(self.path / TEXTS)
        every = np.ones(len(sides), np.bool_)
        document_view = self._write_side(
            self.mates.documents, self.documents, every, sides != TEST, MATRICES, VIEW
        )
        query_view = self._write_side(
            self.mates.queries, self.asked, kept, of_queries != TEST, QUERY_MATRICES, QUERY_VIEW
        )
        for kind in sorted({rewriting.kind for rewriting in self.settings.rewritings}):
            self._write_rewritten(kind, queries, kept, query_view, document_view)

    def _numbered(self) -> tuple[Int32, Mask]:
        """Rows of the mates, sorted, queries among those that have one; and which these are."""
        numbers = [
            pl.DataFrame({name: texts["id"], f"{name}_row": np.arange(len(texts))})
            for name, texts in (("query", self.asked), ("document", self.documents))
        ]
        pairs = self.mates.pairs.unique()
        joined = pairs.join(numbers[0], on="query").join(numbers[1], on="document")
        if len(joined) != len(pairs):
            raise BadInput(
                f"{self.mates.path}: {len(pairs) - len(joined)} mates have an end that is no "
                "document. Make the mates again."
            )
        if joined.is_empty():
            raise BadInput(f"{self.mates.path}: it has no mates. Make some of corpora that have.")
        rows = joined.select("query_row", "document_row").sort(pl.all()).to_numpy()
        kept = np.zeros(len(self.asked), np.bool_)
        kept[rows[:, 0]] = True
        place = np.cumsum(kept) - 1
        self.building.skipped["queries_without_mate"] = int(np.count_nonzero(~kept))
        return np.column_stack([place[rows[:, 0]], rows[:, 1]]).astype(np.int32), kept

    def _bar(self, mates: Int32, of_queries: Sides, sides: Sides, titles: pl.Series) -> None:
        """Take queries of frozen sets, and their mates, off the sides that are trained on."""
        queries, documents = barred_articles(self.frozen, titles, self.documents["title"])
        queries[mates[documents[mates[:, 1]], 0]] = True
        documents[mates[queries[mates[:, 0]], 1]] = True
        queries &= of_queries != TEST
        of_queries[queries] = NO_SIDE
        sides[documents & (sides != TEST)] = NO_SIDE
        self.building.skipped["frozen_queries"] = int(np.count_nonzero(queries))

    def _write_pairs(self, mates: Int32, of_queries: Sides, sides: Sides) -> None:
        links = _links(self.mates.documents, self.documents)
        found = {MATES: (mates, of_queries), MONOLINGUAL: (links, sides)}
        if self.settings.relevant == "link":
            linked = np.unique(follow(mates[:, 0], mates[:, 1], links), axis=0)
            found[""] = linked[~np.isin(keys(linked), keys(mates))], of_queries
            write_exclude(self.path, mates, len(of_queries), len(sides))
        else:
            found[""] = found.pop(MATES)
            write_exclude(self.path, mates[:0], len(of_queries), len(sides))
        counts = self.building.counts
        for name, (rows, of_rows) in found.items():
            (self.path / name).mkdir(exist_ok=True)
            pairs = write_pairs(self.path / name / PAIRS, rows, of_rows[rows[:, 0]])
            missing = [side for side, n in pairs.items() if n == 0]
            if not name and missing:
                raise BadInput(
                    f"{self.mates.path}: of {len(mates)} mates and {len(links)} links between "
                    f"documents no pair is left for {', '.join(missing)}. Ingest larger corpora, "
                    "or split otherwise (--split-seed)."
                )
            counts[f"{name}_pairs" if name else "pairs"] = pairs

    def _write_query_pairs(self, kept: Mask, of_queries: Sides) -> None:
        """Write links of queries to queries of training, and which these are."""
        links = _links(self.mates.queries, self.asked)
        between = kept[links].all(axis=1)
        self.building.skipped["query_links_without_mate"] = int(np.count_nonzero(~between))
        links = (np.cumsum(kept) - 1)[links[between]]
        trained = of_queries == TRAIN
        links = links[trained[links[:, 1]]]
        rows = np.column_stack([links[:, 0], (np.cumsum(trained) - 1)[links[:, 1]]])
        where = self.path / MONOLINGUAL_QUERIES
        where.mkdir()
        np.save(where / _ROWS, np.flatnonzero(trained).astype(np.int32))
        pairs = write_pairs(where / PAIRS, rows.astype(np.int32), of_queries[links[:, 0]])
        self.building.counts[f"{MONOLINGUAL_QUERIES}_pairs"] = pairs

    def _write_side(
        self,
        corpus: Path,
        texts: pl.DataFrame,
        kept: Mask,
        fitting: Mask,
        matrices: str,
        view: str,
    ) -> TextView:
        """Count and weigh the texts of a side; its view."""
        language = language_of(corpus, texts["language"])
        vocabulary, idf, facts = write_counts(
            self.path / matrices,
            texts_of(corpus, kept),
            language=language,
            fitting=fitting,
            words=self.settings.words,
            work=self.building.work(f"bags-{view}"),
            progress=self.progress,
        )
        if not (idf > 0).any():
            raise BadInput(
                f"{corpus}: its documents have no word that is in some and not in all of them. "
                "Take more words (--words), or ingest a larger corpus."
            )
        nonzeros = write_views(self.path / matrices, idf, self.settings.weightings, self.progress)
        facts["documents"] = int(kept.sum())
        said = {**facts, "nonzeros": {COUNTS: facts["nonzeros"], **nonzeros}}
        if view == VIEW:
            self.building.counts.update(said)
        else:
            self.building.counts["query_texts"] = said
        made = TextView(language, vocabulary, idf, Weighting(COUNTS))
        made.save(self.path / view)
        return made

    def _write_rewritten(
        self,
        kind: str,
        queries: pl.DataFrame,
        kept: Mask,
        query_view: TextView,
        document_view: TextView,
    ) -> None:
        """Write the queries in all views of one rewriting: it is done once."""
        base = query_view if kind == "untitled" else document_view
        rewriter = self._rewriter(kind, query_view.language, document_view.language)
        view = RewrittenView(Rewriting(kind, Weighting(COUNTS)), rewriter, base)
        weightings = {str(r): r.weighting for r in self.settings.rewritings if r.kind == kind}
        for name, weighting in weightings.items():
            view.named(weighting).save(rewritten_path(self.path, name))
        if kind == "translated":
            blocks = batches(text.encode() for text in self._given(queries["id"]))
        else:
            blocks = texts_of(self.mates.queries, kept)
        counts = (view.transform([text.decode() for text in block]) for block in blocks)
        nonzeros = write_weighted(self.path, counts, base.idf, weightings)
        self.building.counts.setdefault("rewritten_nonzeros", {}).update(nonzeros)

    def _rewriter(self, kind: str, source: str, target: str) -> Rewriter:
        if kind == "untitled":
            return Removal(self.asked["title"])
        if kind == "translated":
            return None
        if self.mates.dictionary is None:
            raise BadInput(
                f"views 'dictionary.': {self.mates.path} has no dictionary. Give one when the "
                "mates are made, or leave the rows out that read it."
            )
        entries = files.read_strings([self.mates.dictionary], "source", "target", remedy=INGEST)
        return Translation(entries, source, target)

    def _given(self, ids: pl.Series) -> list[str]:
        """Translations that were given, in the order of the queries."""
        if self.translated is None:
            raise BadInput(
                "a view 'translated.' reads queries that are given in the language of the "
                "documents; give them (--translated FILE), or leave the rows out that read it."
            )
        given = files.read_strings([self.translated], "id", "text", remedy="Write it anew.")
        joined = ids.to_frame("id").join(
            given.unique("id", keep="first"), on="id", how="left", maintain_order="left"
        )
        self.building.skipped["queries_without_translation"] = joined["text"].null_count()
        return joined["text"].fill_null("").to_list()


def open_mates_task(task: Task, path: Path) -> Task:
    """Complete an opened task with its further ones."""
    queries, documents = task.queries, task.documents
    trained = store.load_array(path / MONOLINGUAL_QUERIES / _ROWS)
    if len(trained) and not 0 <= trained.min() <= trained.max() < len(queries):
        raise BadInput(
            f"{path / MONOLINGUAL_QUERIES}: its documents are not rows of {len(queries)} queries. "
            f"{files.MAKE_AGAIN}"
        )
    further = {
        MONOLINGUAL: replace(
            task, queries=documents, exclude=_themselves(np.arange(len(documents)), len(documents))
        ),
        MONOLINGUAL_QUERIES: replace(
            task,
            documents=queries.take(trained),
            exclude=_themselves(trained, len(queries)),
            pool=None,
            valid_pool=None,
        ),
    }
    if (path / MATES).exists():
        nothing = sparse.csr_array((len(queries), len(documents)), dtype=np.bool_)
        further[MATES] = replace(task, exclude=nothing)
    also = {}
    for name, one in further.items():
        pairs = [load_pairs(path / name / PAIRS, side) for side in SIDES]
        also[name] = replace(
            one,
            train=pairs[TRAIN],
            valid=pairs[VALID],
            test=pairs[TEST],
            key=f"{task.key} {name}",
        )
    return replace(task, also=also)


def _themselves(rows: NDArray[np.integer], queries: int) -> sparse.csr_array:
    """Bar the query that each document is, given their rows, ascending."""
    ones, columns = np.ones(len(rows), np.bool_), np.arange(len(rows))
    return sparse.csr_array((ones, (rows, columns)), shape=(queries, len(rows)))


def _links(corpus: Path, texts: pl.DataFrame) -> Int32:
    parts = parts_of(corpus, "links")
    tables = (files.read_strings([part], "source", "target", remedy=INGEST) for part in parts)
    return link_rows(tables, texts["id"], corpus / "links")


def _read(corpus: Path) -> pl.DataFrame:
    parts = parts_of(corpus, "documents")
    return files.read_strings(parts, "id", "title", "language", remedy=INGEST)
