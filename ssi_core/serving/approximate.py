"""A searcher that looks at a part of the documents, and knows how many of the best it finds."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import numpy as np

from ssi_core import files, resources, store
from ssi_core.scoring.inner import best_of
from ssi_core.scoring.vectors import Inner, Vectors
from ssi_core.serving.candidates import PartScores, SignCodes, signs_cost, write_signs
from ssi_core.serving.query_words import known
from ssi_core.serving.ranked import Scores
from ssi_core.serving.searcher import Searcher, texts_of
from ssi_core.types import BadInput, Int32

_log = logging.getLogger(__name__)

# Titles that recall is measured on, and the fewest that tell anything.
_ASKED, _FEWEST = 200, 20
_K = 10
_BLOCK = 16
_SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
"""Numbers of documents to look at."""
_KIND, _FILE = "codes", "codes.npy"


def approximate(base: Searcher, directory: Path, recall: float) -> Searcher:
    """Return a searcher that looks at as few documents as give the recall, or ``base`` itself.

    Recall is the share of the 10 best documents that are found, on average over titles of up to 200
    documents drawn at random, asked as queries. It is measured for several numbers of documents to
    look at when the codes of the documents (`candidates.SignCodes`) are made, kept in their
    manifest, and is `Searcher.recall` of what comes back: that of the largest number where none is
    enough. What is damaged is made again.

    The search stays exact, and a warning says why, where the model has no dense vectors, or knows
    the words of too few titles to measure anything.

    Parameters
    ----------
    base : Searcher
        Exact searcher.
    directory : Path
        Directory that keeps codes, by key.
    recall : float
        Wanted share, 0..1.

    Raises
    ------
    Refused
        The codes do not fit the memory or cannot be written.
    """
    dense = base.index.vectors.dense
    if dense is None:
        return _exact(base, "it has no vectors of documents to look among")
    queries = _titles(base)
    if not isinstance(queries, Inner):
        return _exact(base, "its scores are logarithms of sums, and no inner products")
    if len(queries) < _FEWEST:
        return _exact(base, f"it knows words of {len(queries)} of the titles to measure it by")
    parents = {
        "index": base.index.artefact.key,
        "dense": store.digest_file(base.index.path / "dense.npy"),
    }
    configuration = {"titles": _ASKED, "sizes": list(_SIZES)}
    key = store.key_of(_KIND, configuration, parents)
    path = directory / key
    cost = signs_cost(dense)
    # What is kept already takes memory alone.
    disk = 0 if path.exists() else cost.disk
    resources.require("approximate search", memory=cost.memory, directory=directory, disk=disk)
    try:
        return _opened(base, path, recall)
    except BadInput as error:
        if path.exists():
            _log.warning("%s It is done now.", error)
    with store.create(
        path, kind=_KIND, key=key, configuration=configuration, parents=parents
    ) as building:
        file = building.path / _FILE
        write_signs(dense, file)
        building.counts["sha256"] = store.digest_file(file)
        building.counts["titles"] = len(queries)
        building.counts["recall"] = _recalls(base, file, queries)
    return _opened(base, path, recall)


def _exact(base: Searcher, why: str) -> Searcher:
    _log.warning("model %r is searched exactly: %s", base.fitted.model.name, why)
    return base


def _opened(base: Searcher, path: Path, recall: float) -> Searcher:
    vectors, file = base.index.vectors, path / _FILE
    assert vectors.dense is not None
    counts = store.read(path, _KIND).counts
    with files.reading(path / store.MANIFEST):
        measured = {int(size): float(share) for size, share in counts["recall"].items()}
        digest = counts["sha256"]
    with files.reading(file):
        if store.digest_file(file) != digest:
            raise ValueError("not what was written")
        near = SignCodes(vectors.dense, file)
    size = min((size for size, share in measured.items() if share >= recall), default=max(measured))
    ranked = [replace(base.ranked[0], scores=PartScores(near, vectors, size))]
    return Searcher(base.fitted, base.index, ranked, recall=measured[size])


def _titles(base: Searcher) -> Vectors:
    """Return titles of random documents as queries."""
    rows = np.random.default_rng(0).permutation(len(base.index))[:_ASKED]
    side = base.side_of(next(iter(base.fitted.document_views.values())).language)
    queries = texts_of(base.index.titles[np.sort(rows)].to_list(), base.views(side))
    return base.embed(queries.take(np.flatnonzero(known(queries))), side)


def _recalls(base: Searcher, file: Path, queries: Vectors) -> dict[str, float]:
    """Return the recall by number of documents looked at."""
    vectors, recalls = base.index.vectors, {}
    assert vectors.dense is not None
    best = _best(base.ranked[0].scores, queries)
    scores = PartScores(SignCodes(vectors.dense, file), vectors, 0)
    for scores.size in _SIZES:
        met = (best[:, :, None] == _best(scores, queries)[:, None, :]).any(axis=2)
        recalls[str(scores.size)] = float(met.mean())
    return recalls


def _best(scores: Scores, queries: Vectors) -> Int32:
    rankings = []
    for start in range(0, len(queries), _BLOCK):
        candidates, block = scores(queries.take(slice(start, start + _BLOCK)), _K)
        rankings.append(best_of(candidates, block, _K)[0])
    return np.concatenate(rankings)
