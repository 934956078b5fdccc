"""Documents in a graph, so that a query looks at a part of them only.

The score is ``<u, v> + <a, b>`` with ``u, v`` dense and ``a, b`` sparse. A query looks at documents
of large ``<u, v>``, which it finds on a hierarchical navigable small world (Malkov and Yashunin,
2018) of the dense vectors under their inner product, and at those of largest ``<a, b>``, which the
inverted index of words knows exactly. Both parts of the score are exact for whatever it looks at.

The graph is one file of faiss. That reads it in C++, and trusts it: see to its digest first.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ssi_core.evaluation.scorer import Scorer, length
from ssi_core.kernels.topk import top_k
from ssi_core.types import BadInput, Float32, Vectors

# Neighbours of a document, and how many are weighed when it is put into the graph.
_NEIGHBOURS, _WEIGHED = 16, 64
# A graph is no help, and may miss some, where a share of 1 / _SHARE or more is asked for.
_SHARE = 4
# Documents that are looked at for their words alone.
_BY_WORDS = 64


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
    graph.add(np.ascontiguousarray(dense))
    path.write_bytes(library.serialize_index(graph).tobytes())


def read_graph(path: Path) -> Any:
    """Read what `write_graph` wrote."""
    return faiss().deserialize_index(np.frombuffer(path.read_bytes(), np.uint8))


class GraphScores:
    """Scores of the documents nearest to a query in a graph, and of those with its words.

    Parameters
    ----------
    graph : object
        Of the documents' dense vectors.
    documents : Vectors
        Their `Vectors`.
    ef : int
        Documents that a query looks at in the graph.
    """

    def __init__(self, graph: Any, documents: Vectors, ef: int) -> None:
        assert documents.dense is not None
        self._graph, self._dense, self.ef = graph, documents.dense, ef
        sparse = documents.sparse
        self._words = None if sparse is None else Scorer(Vectors(sparse, None))

    def __call__(self, queries: Vectors, least: int) -> Float32:
        """Return float32 (m, n), ``-inf`` for what is not looked at; see `ranked.Scores`."""
        assert queries.dense is not None
        m, n = length(queries), len(self._dense)
        count = max(self.ef, least)
        if _SHARE * count >= n:
            scores = queries.dense @ self._dense.T
        else:
            scores = self._near(queries.dense, count)
        if self._words is None:
            return scores
        by_words = self._words.score(Vectors(queries.sparse, None, queries.through))
        best = np.empty((m, min(_BY_WORDS, n)), np.int32)
        top_k(by_words, best, np.empty(best.shape, np.float32))
        for row, query, document in zip(scores, queries.dense, best, strict=True):
            row[document] = self._dense[document] @ query
        scores += by_words
        return scores

    def _near(self, queries: Float32, count: int) -> Float32:
        """Inner products with the nearest documents, the rest ``-inf``."""
        scores = np.full((len(queries), len(self._dense)), -np.inf, np.float32)
        how = faiss().SearchParametersHNSW(efSearch=count)
        near, rows = self._graph.search(
            np.ascontiguousarray(queries, np.float32), count, params=how
        )
        query, place = np.nonzero(rows >= 0)
        scores[query, rows[query, place]] = near[query, place]
        return scores
