"""From a corpus directory to a task directory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from ssi_core import files, store
from ssi_core.features.cold import cold_documents
from ssi_core.features.correlated import write_hashed_views
from ssi_core.features.cost import require_features
from ssi_core.features.counting import matrix_path, write_counts, write_views
from ssi_core.features.frozen import KIND, barred_pairs
from ssi_core.features.hashing import Hashing, parse_view
from ssi_core.features.judged import write_judged
from ssi_core.features.keywords import write_keyword_queries
from ssi_core.features.layout import COLD, DOCUMENTS, MATRICES, PAIRS, POOL, VALID_POOL, VIEW
from ssi_core.features.pairs import (
    candidates,
    held_out_twice,
    link_rows,
    sides_of_pairs,
    write_pairs,
)
from ssi_core.features.queries import MATRICES as QUERY_MATRICES
from ssi_core.features.queries import write_exclude
from ssi_core.features.reading import INGEST, language_of, parts_of, texts_of
from ssi_core.features.settings import JUDGED_SPLITS, Settings, pool_size
from ssi_core.features.split import NO_SIDE, SIDES, TEST, TRAIN, VALID, Sides, side_of_documents
from ssi_core.features.tfidf import COUNTS, Weighting
from ssi_core.features.views import TextView
from ssi_core.types import BadInput, Progress


def build_task(
    corpus: Path,
    out: Path | None = None,
    *,
    words: int | None = 30_000,
    split: str = "links",
    views: Sequence[str] = ("counts", "raw", "sublinear"),
    split_seed: int = 0,
    pool: int | None = None,
    cold: float = 0.0,
    query_words: int | None = None,
    query_draws: int = 20,
    held_out: str = "split",
    frozen: Sequence[Path] = (),
    force: bool = False,
    progress: Progress | None = None,
) -> store.Artefact:
    """Make the task directory of a corpus, or find it up to date; see `Settings` and `pool_size`.

    Links of the sets in ``frozen`` are on no side but that of the test (`frozen.barred_pairs`).

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
    pool = pool_size(pool, split)
    settings = Settings(
        words, split, tuple(views), split_seed, pool, cold, query_words, query_draws, held_out
    )
    source = store.read(Path(corpus), "corpus")
    parents = {"corpus": source.key}
    parents |= {f"frozen_{n}": store.read(path, KIND).key for n, path in enumerate(frozen)}
    make = partial(
        _write_task,
        source=source,
        settings=settings,
        frozen=frozen,
        progress=progress or _quiet,
    )
    return store.open_or_make("task", settings.configuration(), parents, make, out=out, force=force)


def _quiet(fraction: float, message: str) -> None:
    pass


def _write_task(
    building: store.Building,
    source: store.Artefact,
    settings: Settings,
    frozen: Sequence[Path],
    progress: Progress,
) -> None:
    corpus, path, counts = source.path, building.path, building.counts
    require_features(
        parts_of(corpus, "documents"),
        path.parent,
        documents=source.counts.get("documents", 0),
        links=source.counts.get("links", 0),
        views=len(settings.views),
        all_words=settings.words is None,
    )
    parts = parts_of(corpus, "documents")
    texts = files.read_strings(parts, "id", "title", "language", remedy=INGEST)
    if texts.is_empty():
        raise BadInput(f"{corpus}: the corpus has no documents. Ingest one that has.")
    language = language_of(corpus, texts["language"])
    judged = settings.split in JUDGED_SPLITS
    if judged and not (corpus / "queries").exists():
        raise BadInput(
            f"{corpus}: it has no queries with judgements to split by; a collection has. Ingest "
            "one, or split by links or documents (--split)."
        )
    texts.select("id", "title").write_parquet(path / DOCUMENTS)
    counts["documents"] = len(texts)
    of_documents = side_of_documents(texts["title"], seed=settings.split_seed)
    sides = of_documents if settings.split == "documents" else None
    tested = of_documents if settings.held_out == "both" else sides
    if not judged:
        _write_pairs(corpus, texts, sides, tested, settings, building, frozen)
    _write_pools(path, sides, tested, len(texts), settings)
    fitting = np.ones(len(texts), np.bool_) if sides is None else sides != TEST
    words, idf, facts = write_counts(
        path / MATRICES,
        texts_of(corpus),
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
    view.save(path / VIEW)
    parsed = [parse_view(name) for name in settings.views if name != COUNTS]
    weightings = [one for one in parsed if isinstance(one, Weighting)]
    nonzeros = write_views(path / MATRICES, idf, weightings, progress)
    counts["nonzeros"] = {COUNTS: facts["nonzeros"], **nonzeros}
    if judged:
        counts["judged"] = write_judged(
            path,
            files.read_strings(parts_of(corpus, "queries"), "id", "text", remedy=INGEST),
            pl.read_parquet(parts_of(corpus, "judgements"), glob=False),
            texts.select("id", "title"),
            view,
            [Weighting(COUNTS), *weightings],
            seed=settings.split_seed,
            given=settings.split == "given",
            where=corpus,
        )
    if settings.query_words is not None:
        counts["keywords"] = write_keyword_queries(
            path,
            texts.select("id", "title"),
            store.load_csr(matrix_path(path / MATRICES, COUNTS)),
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
            path / MATRICES,
            hashings,
            view,
            texts=lambda: texts_of(corpus),
            fitting=fitting,
            queries=None if settings.query_words is None else path / QUERY_MATRICES,
            progress=progress,
        )


def _write_pairs(
    corpus: Path,
    texts: pl.DataFrame,
    sides: Sides | None,
    tested: Sides | None,
    settings: Settings,
    building: store.Building,
    frozen: Sequence[Path],
) -> None:
    parts = parts_of(corpus, "links")
    links = (files.read_strings([part], "source", "target", remedy=INGEST) for part in parts)
    rows = link_rows(links, texts["id"], corpus / "links")
    if not len(rows):
        raise BadInput(
            f"{corpus}: it has no links, and without links there is nothing to learn from or to "
            "test on. Ingest a dump whose pages link to each other, or, of a collection with "
            "queries, split these (--split queries)."
        )
    of_pairs = sides_of_pairs(rows, texts["title"], sides, seed=settings.split_seed)
    if frozen:
        barred = barred_pairs(frozen, "corpus", texts["title"], texts["title"], rows)
        barred &= (of_pairs != TEST) & (of_pairs >= 0)
        of_pairs[barred] = NO_SIDE
        building.skipped["frozen_links"] = int(np.count_nonzero(barred))
    if settings.cold:
        unseen = cold_documents(texts["title"], settings.cold, seed=settings.split_seed)
        np.save(building.path / COLD, unseen)
        of_pairs[np.isin(rows, unseen).any(axis=1)] = TEST
        building.counts["cold_documents"] = len(unseen)
    across = int(np.count_nonzero(of_pairs < 0)) - building.skipped.get("frozen_links", 0)
    building.skipped["links_across_the_split"] = across
    if settings.held_out == "both":
        assert tested is not None
        twice = held_out_twice(rows, texts["title"], tested, seed=settings.split_seed)
        once = (of_pairs == TEST) & (twice != TEST)
        of_pairs[once] = NO_SIDE
        building.skipped["links_held_out_once"] = int(np.count_nonzero(once))
        # What the split by links has seen is no candidate, whichever of the two this is.
        unasked = rows[np.isin(twice, (TRAIN, VALID)) & (of_pairs == NO_SIDE)]
        themselves = np.repeat(np.arange(len(texts)), 2).reshape(-1, 2)
        write_exclude(building.path, np.vstack([themselves, unasked]), len(texts), len(texts))
    pairs = write_pairs(building.path / PAIRS, rows, of_pairs)
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


def _write_pools(
    path: Path, sides: Sides | None, tested: Sides | None, texts: int, settings: Settings
) -> None:
    """Candidates of the test and of validation: with sides of documents, those of the side."""
    everything = np.arange(texts, dtype=np.int32)
    test, valid = everything, everything
    if tested is not None:
        test = everything[tested == TEST]
    if sides is not None:
        valid = everything[sides != TEST]
    for name, rows in ((POOL, test), (VALID_POOL, valid)):
        chosen = candidates(rows, settings.pool, texts, seed=settings.split_seed)
        if chosen is not None:
            np.save(path / name, chosen)
