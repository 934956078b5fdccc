"""The queries of a task whose queries are not its documents: texts, views, exclusions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from ssi_core import files
from ssi_core.arrays import load_csr, save_csr
from ssi_core.types import Float32, TextMatrix, Texts, View
from ssi_core.views.counting import matrix_path
from ssi_core.views.csr_writer import CsrWriter
from ssi_core.views.hashing import parse_view
from ssi_core.views.rewriting import Rewriting
from ssi_core.views.rewriting import load_view as load_rewritten
from ssi_core.views.text_view import load_view
from ssi_core.views.tfidf import Weighting, weigh

TEXTS, MATRICES, QUERY_VIEW = "queries.parquet", "queries", "query_view"
_EXCLUDE = "exclude"


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
    path : Path
        Directory of the task.
    ids, titles : Series
        Of n queries.
    counts : iterable of CSR matrix
        Their counts, in blocks of rows.
    """
    pl.DataFrame({"id": ids, "title": titles}).write_parquet(path / TEXTS)
    return write_weighted(path, counts, idf, {str(one): one for one in weightings})


def write_weighted(
    path: Path, counts: Iterable[TextMatrix], idf: Float32, views: Mapping[str, Weighting]
) -> dict[str, int]:
    """Write the matrices of queries, one for each view by its name; returns their non-zeros."""
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(
                CsrWriter(matrix_path(path / MATRICES, name), weighting.width(len(idf)))
            )
            for name, weighting in views.items()
        }
        for block in counts:
            for name, writer in writers.items():
                rows = weigh(block, idf, views[name])
                writer.append(rows.indptr, rows.indices, rows.data)
    return {name: writer.nonzeros for name, writer in writers.items()}


def load_queries(path: Path, documents: Texts) -> Texts:
    """Open the queries of a task: its documents, unless queries of their own were written."""
    if not (path / TEXTS).exists():
        return documents
    texts = files.read_strings([path / TEXTS], "id", "title")
    views = _own_views(path, documents) if (path / QUERY_VIEW).exists() else documents.views
    matrices = {name: load_csr(matrix_path(path / MATRICES, name)) for name in views}
    return Texts(texts["id"], texts["title"], matrices, views)


def _own_views(path: Path, documents: Texts) -> dict[str, View]:
    """Views of queries in a language of their own, by the names of those of the documents."""
    base = load_view(path / QUERY_VIEW)
    return {
        name: load_rewritten(rewritten_path(path, name))
        if isinstance(parse_view(name), Rewriting)
        else base.named(name)
        for name in documents.views
    }


def rewritten_path(task: Path, view: str) -> Path:
    """Return the directory where a task keeps a view of rewritten queries."""
    return matrix_path(task / "rewritten", view)


def write_exclude(path: Path, pairs: Any, queries: int, documents: int) -> None:
    """Write what is never a candidate: (n, 2) rows of query and document."""
    ones = np.ones(len(pairs), np.bool_)
    exclude = sparse.csr_array((ones, (pairs[:, 0], pairs[:, 1])), shape=(queries, documents))
    exclude.sort_indices()
    save_csr(path / _EXCLUDE, exclude)


def load_exclude(path: Path, documents: int) -> sparse.csr_array:
    """Open what is never a candidate: the query itself, unless something else was written."""
    if (path / _EXCLUDE).exists():
        return load_csr(path / _EXCLUDE)
    rows = np.arange(documents + 1, dtype=np.int32)
    return sparse.csr_array(
        (np.ones(documents, np.bool_), rows[:-1], rows), shape=(documents, documents)
    )
