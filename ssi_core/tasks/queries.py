"""The queries of a task whose queries are not its documents: texts, views, exclusions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from ssi_core import files
from ssi_core.arrays import load_csr, save_csr
from ssi_core.types import DERIVED_VIEWS, TextMatrix, Texts, View
from ssi_core.views.counting import matrix_path
from ssi_core.views.csr_writer import CsrWriter
from ssi_core.views.hashing import parse_view
from ssi_core.views.rewriting import Rewriting
from ssi_core.views.rewriting import load_view as load_rewritten
from ssi_core.views.statistics import Statistics
from ssi_core.views.text_view import TextView, load_view
from ssi_core.views.weighting import Weighting, weigh_side

TEXTS, MATRICES, QUERY_VIEW = "queries.parquet", "queries", "query_view"
_EXCLUDE = "exclude"


def write_queries(
    path: Path,
    ids: pl.Series,
    titles: pl.Series,
    counts: Iterable[TextMatrix],
    statistics: Statistics,
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
    return write_weighted(path, counts, statistics, {str(one): one for one in weightings})


def write_weighted(
    path: Path,
    counts: Iterable[TextMatrix],
    statistics: Statistics,
    views: Mapping[str, Weighting],
) -> dict[str, int]:
    """Write the matrices of queries, one for each view by its name; returns their non-zeros."""
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(
                CsrWriter(matrix_path(path / MATRICES, name), weighting.width(len(statistics.idf)))
            )
            for name, weighting in views.items()
        }
        for block in counts:
            for name, writer in writers.items():
                rows = weigh_side(block, statistics, views[name], "query")
                writer.append(rows.indptr, rows.indices, rows.data)
    return {name: writer.nonzeros for name, writer in writers.items()}


def load_queries(path: Path, documents: Texts) -> Texts:
    """Open the queries of a task: its documents, unless queries of their own were written."""
    if not (path / TEXTS).exists():
        return _as_queries(path, documents)
    texts = files.read_strings([path / TEXTS], "id", "title")
    separate = (path / QUERY_VIEW).exists()
    views = _own_views(path, documents) if separate else _of_queries(documents.views)
    if set(views) & {*DERIVED_VIEWS}:
        views = {name: view for name, view in views.items() if name not in DERIVED_VIEWS}
    matrices = {name: load_csr(matrix_path(path / MATRICES, name)) for name in views}
    return Texts(texts["id"], texts["title"], matrices, views)


def _as_queries(path: Path, documents: Texts) -> Texts:
    """Return documents as queries: the same object, unless a view reads queries otherwise."""
    views = _of_queries(documents.views)
    if views is documents.views:
        return documents
    matrices = {
        name: documents.matrices[name]
        if view is documents.views[name]
        else load_csr(matrix_path(path / MATRICES, name))
        for name, view in views.items()
    }
    return replace(documents, matrices=matrices, views=views)


def _of_queries(views: Mapping[str, View]) -> Mapping[str, View]:
    """Return views as queries are read: the same mapping, unless one reads them otherwise."""
    of_queries = {
        name: view.of_queries() if isinstance(view, TextView) else view
        for name, view in views.items()
        if name not in DERIVED_VIEWS
    }
    same = all(views[name] is view for name, view in of_queries.items())
    return views if same else of_queries


def _own_views(path: Path, documents: Texts) -> dict[str, View]:
    """Views of queries in a language of their own, by the names of those of the documents."""
    base = load_view(path / QUERY_VIEW)
    return {
        name: load_rewritten(rewritten_path(path, name))
        if isinstance(parse_view(name), Rewriting)
        else base.named(name).of_queries()
        for name in documents.views
        if name not in DERIVED_VIEWS
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
