"""Keyword queries: k random words of a document in place of it (journal paper, section 4.2).

Words are drawn uniformly and without replacement from those that weigh anything, and weighed as in
the document; the row is brought to unit length. A query of the test, or of validation, is one draw
of its document. For training there are several draws of each document, rows of their own: a sample
of a training pair is a sample of one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.kernels.text.keywords import draw_entries
from ssi_core.remedies import typed
from ssi_core.resources import require
from ssi_core.tasks.pairs import follow, load_pairs
from ssi_core.tasks.queries import write_exclude, write_queries
from ssi_core.tasks.split import SPLITS, hash_titles, mix
from ssi_core.types import Float32, Int32, Int64, TextMatrix
from ssi_core.views.counting import row_blocks
from ssi_core.views.statistics import Statistics
from ssi_core.views.weighting import Weighting

UInt64 = NDArray[np.uint64]

# At the peak: row numbers while they are repeated and joined; ids, titles and seeds of a query.
_PAIR_BYTES, _QUERY_BYTES = 40, 100


def draw_words(
    counts: TextMatrix, idf: Float32, rows: Int32, words: int, states: UInt64
) -> TextMatrix:
    """Keep ``words`` random words of rows, of those with ``idf > 0``; all, where there are fewer.

    Parameters
    ----------
    counts : CSR (n, D)
        Counts of words.
    rows : int32 (m,)
        Rows to draw from.
    states : uint64 (m,)
        Seeds; equal seeds of one row draw the same words.

    Returns
    -------
    CSR float32 (m, D), the counts of the drawn words
    """
    ends = np.empty(len(rows) + 1, np.int64)
    entries = np.empty(len(rows) * words, np.int64)
    allowed = idf[counts.indices] > 0
    # The generator wraps around; numpy warns of it where the kernels run uncompiled.
    with np.errstate(over="ignore"):
        draw_entries(counts.indptr, allowed, rows, words, states, ends, entries)
    entries = entries[: ends[-1]]
    return sparse.csr_array(
        (counts.data[entries], counts.indices[entries], ends), shape=(len(rows), counts.shape[1])
    )


def write_keyword_queries(
    path: Path,
    documents: pl.DataFrame,
    counts: TextMatrix,
    statistics: Statistics,
    weightings: Sequence[Weighting],
    *,
    words: int,
    draws: int,
    seed: int,
    known: bool = False,
) -> dict[str, Any]:
    """Turn the documents that are queries of a task into keyword queries; returns facts.

    The pairs of the task are written anew, on the rows of the queries. Never a candidate of a query
    are its source, and what the source links to on the sides that its own may not see: for
    validation the training links, for the test these and the validation links.

    Parameters
    ----------
    path : Path
        Directory of the task, with the pairs of its documents.
    documents : DataFrame
        Id and title.
    words : int
        k.
    draws : int
        Queries of a document for training.
    seed : int
        Of the draws, together with the title of the document and the side.
    known : bool
        The source is the answer, so that every document is a candidate.

    Raises
    ------
    Refused
        So many draws do not fit into memory or on the disk.
    """
    # Copies, because the files that they are mapped from are written over.
    rows = {side: np.array(load_pairs(path, side).rows) for side in SPLITS}
    pairs = len(rows["train"]) * draws
    queries = len(np.unique(rows["train"][:, 0])) * draws
    require(
        "keyword queries",
        memory=pairs * _PAIR_BYTES + queries * _QUERY_BYTES,
        directory=path,
        disk=8 * pairs + 8 * words * queries * len(weightings),
        remedy=f"Draw fewer queries of a document ({typed('query-draws', 1)}).",
    )
    sources, states, excluded = [], [], []
    first = 0
    for number, (side, links) in enumerate(rows.items()):
        linking = np.unique(links[:, 0])
        each = draws if side == "train" else 1
        source = np.repeat(linking, each)
        query = np.arange(first, first + len(source), dtype=np.int32)
        np.save(path / "pairs" / f"{side}.npy", follow(query, source, links))
        if not known:
            excluded.append(np.column_stack([query, source]))
            excluded += [follow(query, source, rows[seen]) for seen in SPLITS[:number]]
        sources.append(source)
        states.append(_states(documents["title"][linking], each, side, seed))
        first += len(source)
    source = np.concatenate(sources)
    none = np.empty((0, 2), np.int32)
    write_exclude(path, np.concatenate([none, *excluded]), first, len(documents))
    idf = statistics.idf
    blocks = _blocks(counts, idf, source, words, np.concatenate(states))
    ids, titles = documents["id"][source], documents["title"][source]
    nonzeros = write_queries(path, ids, titles, blocks, statistics, weightings)
    held = _words_of(counts, idf, np.unique(source))
    return {
        "queries": {side: len(part) for side, part in zip(SPLITS, sources, strict=True)},
        "nonzeros": nonzeros,
        "sources": len(held),
        "sources_with_fewer_words": int(np.count_nonzero(held < words)),
        "sources_without_words": int(np.count_nonzero(held == 0)),
    }


def _states(titles: pl.Series, draws: int, side: str, seed: int) -> UInt64:
    """Seeds of the draws of documents: a document keeps its queries whatever is added later."""
    hashes = hash_titles(titles, seed, f"{side} words".encode(), "titles")
    return (hashes[:, None] ^ mix(np.arange(draws, dtype=np.uint64) + np.uint64(1))).ravel()


def _blocks(
    counts: TextMatrix, idf: Float32, source: Int32, words: int, states: UInt64
) -> Iterator[TextMatrix]:
    """Counts of the queries, in blocks whose sources fill little memory."""
    lengths = np.diff(counts.indptr)[source]
    for begin, end in row_blocks(np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])):
        rows, position = np.unique(source[begin:end], return_inverse=True)
        block = counts[rows]
        yield draw_words(block, idf, position.astype(np.int32), words, states[begin:end])


def _words_of(counts: TextMatrix, idf: Float32, rows: Int32) -> Int64:
    """Words that weigh anything, in each of some rows."""
    drawn = []
    for begin, end in row_blocks(counts.indptr):
        block = counts[begin:end]
        weighing = np.concatenate([[0], np.cumsum(idf[block.indices] > 0)])
        drawn.append(np.diff(weighing[block.indptr]))
    return np.concatenate(drawn)[rows]
