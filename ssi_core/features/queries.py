"""The queries of a task whose queries are not its documents: texts, views, exclusions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from ssi_core import files, store
from ssi_core.features.counting import matrix_path
from ssi_core.features.csr_writer import CsrWriter
from ssi_core.features.tfidf import Weighting, weigh
from ssi_core.types import Float32, TextMatrix, Texts

_TEXTS, MATRICES, _EXCLUDE = "queries.parquet", "queries", "exclude"


def write_queries(
    path: Path,
    ids: pl.Series,
    titles: pl.Series,
    counts: Iterable[TextMatrix],
    idf: Float32,
    weightings: Sequence[Weighting],
) -> dict[str, int]:
    """Write the queries of a task, in the views of its documents; returns non-zeros of each.

    Parameters
    ----------
    path : directory of the task
    ids, titles : of n queries
    counts : their counts, in blocks of rows
    """
    pl.DataFrame({"id": ids, "title": titles}).write_parquet(path / _TEXTS)
    with ExitStack() as stack:
        writers = {
            weighting: stack.enter_context(
                CsrWriter(matrix_path(path / MATRICES, str(weighting)), weighting.width(len(idf)))
            )
            for weighting in weightings
        }
        for block in counts:
            for weighting, writer in writers.items():
                rows = weigh(block, idf, weighting)
                writer.append(rows.indptr, rows.indices, rows.data)
    return {str(weighting): writer.nonzeros for weighting, writer in writers.items()}


def load_queries(path: Path, documents: Texts) -> Texts:
    """Open the queries of a task: its documents, unless queries of their own were written."""
    if not (path / _TEXTS).exists():
        return documents
    texts = files.read_strings([path / _TEXTS], "id", "title")
    matrices = {
        name: store.load_csr(matrix_path(path / MATRICES, name)) for name in documents.matrices
    }
    return Texts(texts["id"], texts["title"], matrices, documents.views)


def write_exclude(path: Path, pairs: Any, queries: int, documents: int) -> None:
    """Write what is never a candidate: (n, 2) rows of query and document."""
    ones = np.ones(len(pairs), np.bool_)
    exclude = sparse.csr_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(queries, documents))
    exclude.sort_indices()
    store.save_csr(path / _EXCLUDE, exclude)


def load_exclude(path: Path, documents: int) -> sparse.csr_array:
    """Open what is never a candidate: the query itself, unless something else was written."""
    if (path / _EXCLUDE).exists():
        return store.load_csr(path / _EXCLUDE)
    rows = np.arange(documents + 1, dtype=np.int32)
    return sparse.csr_array(
        (np.ones(documents, np.bool_), rows[:-1], rows), shape=(documents, documents)
    )
