"""A searcher that looks at a part of the documents, and knows how many of the best it finds."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np

from ssi_core import files, store
from ssi_core.evaluation.scorer import length, take
from ssi_core.kernels.topk import top_k
from ssi_core.serving.graph import GraphScores, faiss, read_graph, write_graph
from ssi_core.serving.ranked import Scores
from ssi_core.serving.searcher import Searcher, known, texts_of
from ssi_core.types import BadInput, Int32, Vectors

KIND = "graph"
_FILE = "graph.faiss"
_log = logging.getLogger(__name__)

# Titles that recall is measured on, and the fewest that tell anything.
_ASKED, _FEWEST = 200, 20
_K = 10
_BLOCK = 16
_EFS = (16, 32, 64, 128, 256, 512, 1024)


def approximate(base: Searcher, place: Path, recall: float) -> Searcher:
    """Return a searcher that looks at as few documents as give the recall, or ``base`` itself.

    Recall is the share of the 10 best documents that are found, on average over titles of up to 200
    documents drawn at random, asked as queries. It is measured for several numbers of documents to
    look at when the graph is made, kept in its manifest, and is `Searcher.recall` of what comes
    back: that of the largest number where none is enough. A graph that is damaged is made again.

    The search stays exact, and a warning says why, where the model has no dense vectors, or knows
    the words of too few titles to measure anything.

    Parameters
    ----------
    base : Searcher
        Exact searcher.
    place : Path
        Directory that keeps graphs, by key.
    recall : float
        Wanted share, 0..1.

    Raises
    ------
    BadInput
        The library of graphs is not installed.
    Refused
        The graph cannot be written.
    """
    faiss()
    dense = base.index.vectors.dense
    if dense is None:
        return _exact(base, "it has no vectors of documents to be put into a graph")
    queries = _titles(base)
    if queries.topics is not None:
        return _exact(base, "its scores are logarithms of sums, and no inner products")
    if length(queries) < _FEWEST:
        return _exact(base, f"it knows words of {length(queries)} of the titles to measure it by")
    parents = {
        "index": base.index.artefact.key,
        "dense": store.digest_file(base.index.path / "dense.npy"),
    }
    configuration = {"titles": _ASKED, "efs": list(_EFS)}
    key = store.key_of(KIND, configuration, parents)
    path = place / key
    try:
        return _opened(base, path, recall)
    except BadInput as error:
        if path.exists():
            _log.warning("%s It is done now.", error)
    with store.create(
        path, kind=KIND, key=key, configuration=configuration, parents=parents
    ) as building:
        file = building.path / _FILE
        write_graph(dense, file)
        building.counts["sha256"] = store.digest_file(file)
        building.counts["titles"] = length(queries)
        building.counts["recall"] = _recalls(base, file, queries)
    return _opened(base, path, recall)


def _exact(base: Searcher, why: str) -> Searcher:
    _log.warning("model %r is searched exactly: %s", base.fitted.model.name, why)
    return base


def _opened(base: Searcher, path: Path, recall: float) -> Searcher:
    counts = store.read(path, KIND).counts
    with files.reading(path / store.MANIFEST):
        measured = {int(ef): float(share) for ef, share in counts["recall"].items()}
        digest = counts["sha256"]
    with files.reading(path / _FILE):
        if store.digest_file(path / _FILE) != digest:
            raise ValueError("not what was written")
        graph = read_graph(path / _FILE)
    ef = min((ef for ef, share in measured.items() if share >= recall), default=max(measured))
    ranked = [replace(base.ranked[0], scores=GraphScores(graph, base.index.vectors, ef))]
    return Searcher(base.fitted, base.index, ranked, recall=measured[ef])


def _titles(base: Searcher) -> Vectors:
    """Return titles of random documents as queries in the documents' language."""
    rows = np.random.default_rng(0).permutation(len(base.index))[:_ASKED]
    side = base.side_of(next(iter(base.fitted.document_views.values())).language)
    queries = texts_of(base.index.titles[np.sort(rows)].to_list(), base.views(side))
    return base.embed(queries.take(np.flatnonzero(known(queries))), side)


def _recalls(base: Searcher, file: Path, queries: Vectors) -> dict[str, float]:
    """Return number of documents that are looked at -> recall."""
    best, recalls = _best(base.ranked[0].scores, queries), {}
    scores = GraphScores(read_graph(file), base.index.vectors, 0)
    for ef in _EFS:
        scores.ef = ef
        met = (best[:, :, None] == _best(scores, queries)[:, None, :]).any(axis=2)
        recalls[str(ef)] = float(met.mean())
    return recalls


def _best(scores: Scores, queries: Vectors) -> Int32:
    """Rows of the best documents of each query."""
    rankings = []
    for start in range(0, length(queries), _BLOCK):
        block = scores(take(queries, slice(start, start + _BLOCK)), _K)
        rows = np.empty((len(block), min(_K, block.shape[1])), np.int32)
        top_k(block, rows, np.empty(rows.shape, np.float32))
        rankings.append(rows)
    return np.concatenate(rankings)
