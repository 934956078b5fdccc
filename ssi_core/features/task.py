"""From a corpus directory to a task directory, and back into memory."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ssi_core import files, store
from ssi_core.features import (
    cold,
    correlated,
    counting,
    csr_writer,
    dice,
    hashing,
    judged,
    keywords,
    lexicon,
    ngrams,
    pairs,
    queries,
    split,
    tfidf,
    views,
    vocabulary,
)
from ssi_core.features.cold import cold_documents
from ssi_core.features.correlated import hashed_path, write_hashed_views
from ssi_core.features.cost import require_features
from ssi_core.features.counting import matrix_path, write_counts, write_views
from ssi_core.features.hashing import Hashing, load_view, parse_view
from ssi_core.features.judged import open_judged, write_judged
from ssi_core.features.keywords import write_keyword_queries
from ssi_core.features.lexicon import batches
from ssi_core.features.pairs import (
    candidates,
    link_rows,
    load_pairs,
    sides_of_pairs,
    write_pairs,
)
from ssi_core.features.queries import MATRICES as QUERY_MATRICES
from ssi_core.features.queries import load_exclude, load_queries
from ssi_core.features.sizes import check_sizes
from ssi_core.features.split import SIDES, TEST, TRAIN, VALID, Sides, side_of_documents
from ssi_core.features.tfidf import COUNTS, Weighting
from ssi_core.features.views import TextView
from ssi_core.features.views import load_view as load_text_view
from ssi_core.kernels import dice as dice_kernels
from ssi_core.kernels import keywords as keyword_kernels
from ssi_core.kernels import ngrams as ngram_kernels
from ssi_core.kernels import rows as row_kernels
from ssi_core.kernels import words as word_kernels
from ssi_core.text import tokenizer
from ssi_core.types import BadInput, Int32, Pairs, Progress, Task, Texts, View

SPLITS = ("links", "documents", "queries")

_MATRICES, _VIEW, _PAIRS = "matrices", "view", "pairs"
_DOCUMENTS, _POOL, _VALID_POOL = "documents.parquet", "pool.npy", "valid_pool.npy"
_COLD = "cold.npy"


@dataclass(frozen=True)
class Settings:
    """What a task is made with, beside the corpus; its fields are the artefact's configuration.

    Attributes
    ----------
    words : size of the vocabulary; None: every word
    split : "links": each link is on a side of its own. "documents": each document is; test queries
        and their candidates are test documents, no link of theirs is trained on, and vocabulary
        and idf come from the others. "queries": the judged queries of a collection are in five
        folds; see `judged`
    views : names, `Weighting` or `Hashing`; "counts" is added
    split_seed : key of the hash that gives the sides
    pool : candidates of every query, if there are more documents than that
    cold : share of the documents that training never sees: every link of theirs is for testing.
        With split "links"
    query_words : a query is so many random words of its document; None: all of it
    query_draws : with ``query_words``: queries that are drawn of a document for training
    """

    words: int | None
    split: str
    views: tuple[str, ...]
    split_seed: int
    pool: int
    cold: float
    query_words: int | None
    query_draws: int

    def __post_init__(self) -> None:
        if self.words is not None and self.words < 1:
            raise ValueError(f"words={self.words}: expected a number >= 1, or None for all")
        if self.split not in SPLITS:
            raise ValueError(f"split={self.split!r}: expected one of {', '.join(SPLITS)}")
        if self.pool < 1:
            raise ValueError(f"pool={self.pool}: expected a number of documents >= 1")
        if not 0 <= self.cold < 1:
            raise ValueError(f"cold={self.cold}: expected a share, at least 0 and below 1")
        if self.cold and (self.split != "links" or self.query_words is not None):
            raise ValueError(
                f"cold={self.cold}: expected split='links' and queries that are documents"
            )
        if self.query_words is not None and self.query_words < 1:
            raise ValueError(f"query_words={self.query_words}: expected a number >= 1, or None")
        if self.query_draws < 1:
            raise ValueError(f"query_draws={self.query_draws}: expected a number >= 1")
        if self.split == "queries" and self.query_words is not None:
            raise ValueError(f"query_words={self.query_words}: split='queries' has its own")
        parsed = [parse_view(name) for name in self.views]
        if self.split == "queries" and any(isinstance(view, Hashing) for view in parsed):
            raise ValueError("views: with split='queries' they are of words, and none is hashed")
        names = {str(view) for view in parsed} - {COUNTS}
        object.__setattr__(self, "views", (COUNTS, *sorted(names)))

    def configuration(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self.__dict__, "views": list(self.views)}


def build_task(
    corpus: Path,
    out: Path,
    *,
    words: int | None = 30_000,
    split: str = "links",
    views: Sequence[str] = ("counts", "raw", "sublinear"),
    split_seed: int = 0,
    pool: int = 10_000,
    cold: float = 0.0,
    query_words: int | None = None,
    query_draws: int = 20,
    force: bool = False,
    progress: Progress | None = None,
) -> store.Artefact:
    """Make the task directory of a corpus, or find it up to date; see `Settings`.

    Raises
    ------
    BadInput
        The corpus has no documents, too few links for three sides, or no word that tells its
        documents apart.
    Refused
        Another artefact is at ``out``, or another process is writing it; or memory or disk is too
        small.
    ValueError
        A setting is none; the message lists what there is.
    """
    settings = Settings(
        words, split, tuple(views), split_seed, pool, cold, query_words, query_draws
    )
    corpus, out = Path(corpus), Path(out)
    source = store.read(corpus, "corpus")
    configuration, parents = settings.configuration(), {"corpus": source.key}
    key = store.key_of("task", configuration, parents, _code())
    found = store.up_to_date(out, "task", key, force=force)
    if found is not None:
        return found
    require_features(
        _parts(corpus, "documents"),
        out.parent,
        documents=source.counts.get("documents", 0),
        links=source.counts.get("links", 0),
        views=len(settings.views),
        all_words=words is None,
    )
    with store.create(
        out, kind="task", key=key, configuration=configuration, parents=parents
    ) as building:
        _write_task(corpus, settings, building, progress or _quiet)
    return store.read(out, "task")


def open_task(path: Path) -> Task:
    """Open a task directory; its matrices are memory mapped and read when they are used."""
    artefact = store.read(Path(path), "task")
    path = artefact.path
    texts = files.read_strings([path / _DOCUMENTS], "id", "title")
    base = load_text_view(path / _VIEW)
    with files.reading(path / store.MANIFEST):
        names = [str(name) for name in artefact.configuration["views"] if parse_view(name)]
        judged_queries = artefact.configuration["split"] == "queries"
        split_seed = int(artefact.configuration["split_seed"])
    documents = Texts(
        texts["id"],
        texts["title"],
        {name: store.load_csr(matrix_path(path / _MATRICES, name)) for name in names},
        {name: _load_view(path, name, base) for name in names},
    )
    none = [Pairs.of(())] * 3
    pairs = none if judged_queries else [load_pairs(path / _PAIRS, side) for side in SIDES]
    task = Task(
        queries=load_queries(path, documents),
        documents=documents,
        train=pairs[TRAIN],
        valid=pairs[VALID],
        test=pairs[TEST],
        exclude=load_exclude(path, len(documents)),
        key=artefact.key,
        pool=_load_rows(path / _POOL),
        valid_pool=_load_rows(path / _VALID_POOL),
        cold=_load_rows(path / _COLD),
        path=path,
    )
    if judged_queries:
        task = open_judged(task, path, split_seed)
    check_sizes(task, path)
    return task


def _load_view(path: Path, name: str, base: TextView) -> View:
    hashed = isinstance(parse_view(name), Hashing)
    return load_view(hashed_path(path, name)) if hashed else base.named(name)


def _quiet(fraction: float, message: str) -> None:
    pass


def _code() -> str:
    rooms = (
        cold,
        correlated,
        counting,
        csr_writer,
        dice,
        hashing,
        judged,
        keywords,
        lexicon,
        ngrams,
        pairs,
        queries,
        split,
        tfidf,
        views,
        vocabulary,
    )
    kernels = (word_kernels, row_kernels, keyword_kernels, dice_kernels, ngram_kernels)
    return store.digest_code(tokenizer, *kernels, *rooms, sys.modules[__name__])


def _write_task(
    corpus: Path, settings: Settings, building: store.Building, progress: Progress
) -> None:
    path, counts = building.path, building.counts
    parts = _parts(corpus, "documents")
    texts = files.read_strings(parts, "id", "title", "language", remedy=_INGEST)
    if texts.is_empty():
        raise BadInput(f"{corpus}: the corpus has no documents. Ingest one that has.")
    language = _one_language(corpus, texts["language"])
    if settings.split == "queries" and not (corpus / "queries").exists():
        raise BadInput(
            f"{corpus}: it has no queries with judgements to split by; a collection has. Ingest "
            "one, or split by links or documents (--split)."
        )
    texts.select("id", "title").write_parquet(path / _DOCUMENTS)
    counts["documents"] = len(texts)
    sides = None
    if settings.split == "documents":
        sides = side_of_documents(texts["title"], seed=settings.split_seed)
    if settings.split != "queries":
        _write_pairs(corpus, texts, sides, settings, building)
    _write_pools(path, sides, len(texts), settings)
    fitting = np.ones(len(texts), np.bool_) if sides is None else sides != TEST
    words, idf, facts = write_counts(
        path / _MATRICES,
        _texts(corpus),
        language=language,
        fitting=fitting,
        words=settings.words,
        work=building.work("bags"),
        progress=progress,
    )
    counts.update(facts)
    if not (idf > 0).any():
        raise BadInput(
            f"{corpus}: its documents have no word that is in some and not in all of them "
            f"({len(words)} words), so nothing can be weighed. Take more words (--words), or "
            "ingest a larger corpus."
        )
    view = TextView(language, words, idf, Weighting(COUNTS))
    view.save(path / _VIEW)
    parsed = [parse_view(name) for name in settings.views if name != COUNTS]
    weightings = [one for one in parsed if isinstance(one, Weighting)]
    nonzeros = write_views(path / _MATRICES, idf, weightings, progress)
    counts["nonzeros"] = {COUNTS: facts["nonzeros"], **nonzeros}
    if settings.split == "queries":
        counts["judged"] = write_judged(
            path,
            files.read_strings(_parts(corpus, "queries"), "id", "text", remedy=_INGEST),
            pl.read_parquet(_parts(corpus, "judgements")),
            texts.select("id", "title"),
            view,
            [Weighting(COUNTS), *weightings],
            seed=settings.split_seed,
            where=corpus,
        )
    if settings.query_words is not None:
        counts["keywords"] = write_keyword_queries(
            path,
            texts.select("id", "title"),
            store.load_csr(matrix_path(path / _MATRICES, COUNTS)),
            idf,
            [Weighting(COUNTS), *weightings],
            words=settings.query_words,
            draws=settings.query_draws,
            seed=settings.split_seed,
        )
    hashings = [one for one in parsed if isinstance(one, Hashing)]
    if hashings:
        counts["hashed"] = write_hashed_views(
            path,
            path / _MATRICES,
            hashings,
            view,
            texts=lambda: _texts(corpus),
            fitting=fitting,
            queries=None if settings.query_words is None else path / QUERY_MATRICES,
            progress=progress,
        )


_INGEST = "Remove the corpus and ingest it again."


def _parts(corpus: Path, table: str) -> list[Path]:
    parts = sorted((corpus / table).glob("part-*.parquet"))
    if not parts:
        raise BadInput(f"{corpus / table}: no part-*.parquet in it. {_INGEST}")
    return parts


def _texts(corpus: Path) -> Iterator[list[bytes]]:
    """Texts in UTF-8, in batches; one part of the corpus is held at a time."""
    for part in _parts(corpus, "documents"):
        texts = files.read_strings([part], "text", remedy=_INGEST).cast(pl.Binary)
        pieces = (piece["text"].to_list() for piece in texts.iter_slices(1024))
        yield from batches(text for piece in pieces for text in piece)


def _one_language(corpus: Path, languages: pl.Series) -> str:
    found = languages.unique().sort().to_list()
    if len(found) > 1:
        raise BadInput(
            f"{corpus}: documents in {len(found)} languages ({', '.join(map(str, found[:5]))}); "
            "a task has one. Ingest each language into a corpus of its own."
        )
    return found[0] or ""


def _write_pairs(
    corpus: Path,
    texts: pl.DataFrame,
    sides: Sides | None,
    settings: Settings,
    building: store.Building,
) -> None:
    parts = _parts(corpus, "links")
    links = (files.read_strings([part], "source", "target", remedy=_INGEST) for part in parts)
    rows = link_rows(links, texts["id"], corpus / "links")
    if not len(rows):
        raise BadInput(
            f"{corpus}: it has no links, and without links there is nothing to learn from or to "
            "test on. Ingest a dump whose pages link to each other, or, of a collection with "
            "queries, split these (--split queries)."
        )
    of_pairs = sides_of_pairs(rows, texts["title"], sides, seed=settings.split_seed)
    if settings.cold:
        unseen = cold_documents(texts["title"], settings.cold, seed=settings.split_seed)
        np.save(building.path / _COLD, unseen)
        of_pairs[np.isin(rows, unseen).any(axis=1)] = TEST
        building.counts["cold_documents"] = len(unseen)
    pairs = write_pairs(building.path / _PAIRS, rows, of_pairs)
    missing = [name for name, n in pairs.items() if n == 0]
    if missing:
        raise BadInput(
            f"{corpus}: of its {len(rows)} links none is left for {', '.join(missing)} when split "
            f"by {settings.split}. Ingest a larger corpus, or split it otherwise (--split, "
            "--split-seed)."
        )
    building.counts["pairs"] = pairs
    building.counts["queries"] = {
        name: len(np.unique(rows[of_pairs == side, 0])) for side, name in enumerate(SIDES)
    }
    building.skipped["links_across_the_split"] = int(np.count_nonzero(of_pairs < 0))


def _write_pools(path: Path, sides: Sides | None, texts: int, settings: Settings) -> None:
    """Candidates of the test and of validation: with a split by documents, those of the side."""
    everything = np.arange(texts, dtype=np.int32)
    test, valid = everything, everything
    if sides is not None:
        test, valid = everything[sides == TEST], everything[sides != TEST]
    for name, rows in ((_POOL, test), (_VALID_POOL, valid)):
        chosen = candidates(rows, settings.pool, texts, seed=settings.split_seed)
        if chosen is not None:
            np.save(path / name, chosen)


def _load_rows(path: Path) -> Int32 | None:
    return store.load_array(path) if path.exists() else None
