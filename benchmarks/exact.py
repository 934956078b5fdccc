"""Exact search of 10 of all documents: blocks with the best kept, whole rows of scores, faiss flat.

Vectors of 100 dimensions, drawn at random, of 100,000 and of 1,000,000 documents; among 100,000
also with the words of ``+ I``, about 45 distinct ones a document by a law of Zipf, which faiss is
not asked for: queries of 3 words and of 100. CPU time of one thread; "whole rows" is BLAS and the
inverted index over all documents, then the best of each row, the search as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from benchmarks.timing import Contestant, PeerMissing, Row, peer, row, speeds
from ssi_core.scoring.inner import best_documents
from ssi_core.scoring.scorer import Scorer
from ssi_core.scoring.vectors import Inner, Vectors
from ssi_core.serving.ranked import Ranked, exactly
from ssi_core.types import TextMatrix

_N, _WORDS, _LENGTH, _K = 100, 30_000, 100, 10
_QUERIES, _TOGETHER = 32, (1, 32)


def _rows(rng: np.random.Generator, rows: int, length: int) -> TextMatrix:
    columns = np.minimum(rng.zipf(1.3, (rows, length)) + 9, _WORDS - 1).astype(np.int32)
    columns.sort(axis=1)
    values = np.full(columns.size, length**-0.5, np.float32)
    starts = np.arange(0, columns.size + 1, length, dtype=np.int32)
    matrix = sparse.csr_array((values, columns.ravel(), starts), shape=(rows, _WORDS))
    matrix.sum_duplicates()
    return matrix


def _whole_rows(documents: Vectors) -> Callable[[Vectors], object]:
    scorer = Scorer(documents)
    return lambda queries: best_documents(queries, documents, scorer.score(queries), _K)


def _in_turn(
    answer: Callable[[Vectors], object], queries: Vectors, together: int
) -> Callable[[], None]:
    """Return what answers all queries, some of them at a time."""
    starts = range(0, _QUERIES, together)
    blocks = [queries.take(slice(start, start + together)) for start in starts]

    def run() -> None:
        for block in blocks:
            answer(block)

    return run


def _measure(
    what: str, documents: Vectors, queries: dict[str, Vectors], flat: Any, rounds: int
) -> Iterator[Row]:
    """Yield rows for 1 query and for 32; ``flat`` answers as faiss, or is None."""
    assert documents.dense is not None
    ids = pl.Series("id", np.arange(len(documents.dense)).astype(str))
    ours = Ranked(ids, ids, documents, exactly(documents)).best
    before = _whole_rows(documents)
    answers = {"ours": lambda some: ours(some, _K), "rows": before}
    for together in _TOGETHER:
        contestants = {
            f"{who}{name}": Contestant(_in_turn(answer, asked, together), _QUERIES)
            for name, asked in queries.items()
            for who, answer in answers.items()
        }
        if flat is not None:
            asked = next(iter(queries.values()))
            search = _in_turn(lambda some: flat.search(some.dense, _K), asked, together)
            contestants["flat"] = Contestant(search, _QUERIES)
        found = speeds(contestants, rounds=rounds)
        for name in queries:
            title = f"exact, {what}{name}, {together} at a time"
            goal = 1.25 if together > 1 else None
            yield row(
                f"{title} / whole rows",
                "queries/s",
                found[f"ours{name}"],
                found[f"rows{name}"],
                goal=goal,
            )
            if flat is not None:
                plain = documents.sparse is None
                yield row(
                    f"{title} / faiss flat",
                    "queries/s",
                    found[f"ours{name}"],
                    found["flat"],
                    goal=1 if plain else None,
                    note="" if plain else "faiss scores the vectors alone",
                )


def rows() -> Iterator[Row]:
    try:
        faiss = peer("faiss")
        faiss.omp_set_num_threads(1)
    except PeerMissing as missing:
        faiss = None
        yield Row("exact search / faiss flat", "queries/s", goal=1, note=str(missing))
    rng = np.random.default_rng(0)
    for size, rounds in ((100_000, 9), (1_000_000, 5)):
        dense = rng.standard_normal((size, _N), np.float32)
        asked = rng.standard_normal((_QUERIES, _N), np.float32)
        flat = None
        if faiss is not None:
            flat = faiss.IndexFlatIP(_N)
            flat.add(dense)
        what = f"{size:,} documents"
        plain = {"": Inner(None, asked)}
        yield from _measure(what, Inner(None, dense), plain, flat, rounds)
        if size == 100_000:
            queries = {
                f", + I of {length} words": Inner(_rows(rng, _QUERIES, length), asked)
                for length in (3, _LENGTH)
            }
            documents = Inner(_rows(rng, size, _LENGTH), dense)
            yield from _measure(what, documents, queries, flat, rounds)
