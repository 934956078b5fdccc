"""Documents in a graph: a hierarchical navigable small world under the inner product.

Source: Y. Malkov and D. Yashunin, Efficient and robust approximate nearest neighbor search using
hierarchical navigable small world graphs (2018).

The graph is one file of faiss. That reads it in C++, and trusts it: see to its digest first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ssi_core.resources import Cost
from ssi_core.types import BadInput, Float32, Int32

# Neighbours of a document, and how many are weighed when it is put into the graph.
_NEIGHBOURS, _WEIGHED = 16, 64
_OF_A_DOCUMENT = 160
"""Bytes of a document in the graph, beside its vector."""


def faiss() -> Any:
    """Return the library; `BadInput` where it is not installed."""
    try:
        import faiss
    except ImportError as error:
        raise BadInput(
            "approximate search needs faiss: pip install 'ssi[approximate]'. Or search exactly."
        ) from error
    # It counts threads for each thread that calls it; a graph by one thread is always the same.
    faiss.omp_set_num_threads(1)
    return faiss


def write_graph(dense: Float32, path: Path) -> None:
    """Write the graph of some vectors; about 0.1 ms of a core each."""
    library = faiss()
    graph = library.IndexHNSWFlat(dense.shape[1], _NEIGHBOURS, library.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = _WEIGHED
    graph.add(np.ascontiguousarray(dense, np.float32))
    with path.open("wb") as file:
        library.write_index(graph, library.PyCallbackIOWriter(file.write))


def graph_cost(dense: Float32) -> Cost:
    """Return the memory that a graph takes, made or read, and its disk; 144 bytes were measured."""
    rows, dimensions = dense.shape
    size = rows * (4 * dimensions + _OF_A_DOCUMENT)
    wide = 0 if dense.dtype == np.float32 else 4 * dense.size
    return Cost(size + wide, size)


class Graph:
    """A graph that `write_graph` wrote, as a `candidates.Near`.

    Parameters
    ----------
    path : Path
        Its file.
    """

    def __init__(self, path: Path) -> None:
        library = faiss()
        with path.open("rb") as file:
            self._graph = library.read_index(library.PyCallbackIOReader(file.read))

    def __call__(self, queries: Float32, count: int) -> tuple[Int32, Float32]:
        """Return rows and inner products of nearest documents; ``count`` are looked at."""
        how = faiss().SearchParametersHNSW(efSearch=count)
        rows_of_queries = np.ascontiguousarray(queries, np.float32)
        products, rows = self._graph.search(rows_of_queries, count, params=how)
        return rows.astype(np.int32), products
