"""Scores of sparse rows: an inverted index for blocks, scatter and gather for single pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit, jit_fast
from ssi_core.kernels.vectors import widened

Floats = NDArray[np.float32]
Columns = NDArray[np.int32]
Starts = NDArray[np.int64]


@jit
def widen_rows(rows: NDArray[np.uint16], out: Floats) -> None:
    """Write rows of float16, whose bits are given as uint16, as float32."""
    for i in range(out.shape[0]):
        for r in range(out.shape[1]):
            out[i, r] = widened(rows[i, r])


@jit_fast
def products_with_half(rows: NDArray[np.uint16], query: Floats, out: Floats) -> None:
    """Write the inner products of a query with rows of float16, given as by `widen_rows`."""
    for i in range(rows.shape[0]):
        total = np.float32(0)
        for r in range(rows.shape[1]):
            total += widened(rows[i, r]) * query[r]
        out[i] = total


@jit
def add_sparse(
    query_start: Starts,
    query_column: Columns,
    query_value: Floats,
    posting_start: Starts,
    posting_document: Columns,
    posting_value: Floats,
    first: int,
    last: int,
    scores: Floats,
) -> None:
    """Add ``<q, d>`` of query rows ``first:last`` with all documents to ``scores[first:last]``.

    Queries are CSR; documents are CSC, so that a word's postings are contiguous.
    """
    for i in range(first, last):
        row = scores[i]
        for s in range(query_start[i], query_start[i + 1]):
            word = query_column[s]
            value = query_value[s]
            for t in range(posting_start[word], posting_start[word + 1]):
                row[posting_document[t]] += value * posting_value[t]


@jit
def add_pairs(
    query_start: Starts,
    query_column: Columns,
    query_value: Floats,
    document_start: Starts,
    document_column: Columns,
    document_value: Floats,
    query_row: Columns,
    document_row: Columns,
    first: int,
    last: int,
    scratch: Floats,
    scores: Floats,
) -> None:
    """Add ``<q, d>`` of the pairs ``first:last`` to ``scores[first:last]``.

    ``scratch`` is zero, one entry a column, and zero again afterwards. A query is scattered into it
    once for a run of pairs that share it.
    """
    held = -1
    for p in range(first, last):
        query = query_row[p]
        if query != held:
            if held >= 0:
                for s in range(query_start[held], query_start[held + 1]):
                    scratch[query_column[s]] = 0
            for s in range(query_start[query], query_start[query + 1]):
                scratch[query_column[s]] += query_value[s]
            held = query
        document = document_row[p]
        total = np.float32(0)
        for t in range(document_start[document], document_start[document + 1]):
            total += scratch[document_column[t]] * document_value[t]
        scores[p] += total
    if held >= 0:
        for s in range(query_start[held], query_start[held + 1]):
            scratch[query_column[s]] = 0


@jit
def add_likelihoods(
    query_start: Starts,
    query_column: Columns,
    query_value: Floats,
    document_start: Starts,
    document_column: Columns,
    document_value: Floats,
    topics: Floats,
    dense: Floats,
    query_row: Columns,
    document_row: Columns,
    first: int,
    last: int,
    scratch: Floats,
    scores: Floats,
) -> None:
    """Add ``sum_i q_i ln(1 + d_i + <topics_i, dense_d>)`` of the pairs ``first:last``.

    ``scratch`` is zero, one entry a column, and zero again afterwards; it holds a document.
    """
    for p in range(first, last):
        query, document = query_row[p], document_row[p]
        start, end = document_start[document], document_start[document + 1]
        for t in range(start, end):
            scratch[document_column[t]] += document_value[t]
        total = np.float32(0)
        for s in range(query_start[query], query_start[query + 1]):
            word = query_column[s]
            inner = scratch[word]
            for z in range(topics.shape[1]):
                inner += topics[word, z] * dense[document, z]
            total += query_value[s] * np.log1p(inner)
        scores[p] += total
        for t in range(start, end):
            scratch[document_column[t]] = 0
