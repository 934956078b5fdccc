"""OpenSearch: a field ``rank_features``, searched by ``neural_sparse`` with the query's weights."""

from __future__ import annotations

from pathlib import Path

from ssi_core import store
from ssi_core.export.targets.bulk import LONGEST_ID, write_bulk
from ssi_core.export.terms import Layout
from ssi_core.export.writing import Target

INDEX = {
    "mappings": {
        "dynamic": "strict",
        "properties": {"title": {"type": "text"}, "ssi": {"type": "rank_features"}},
    },
}


def _query(terms: str) -> dict[str, object]:
    return {"neural_sparse": {"ssi": {"query_tokens": terms}}}


BODIES = {
    "query": {"size": "$k", "_source": ["title"], "query": _query("$terms")},
    "rescore": {
        "size": "$k",
        "_source": ["title"],
        "query": _query("$words"),
        "rescore": {"window_size": 1000, "query": {"rescore_query": _query("$latent")}},
    },
}


def _first(place: Path, layout: Layout) -> None:
    store.write_json(place / "index.json", INDEX)


TARGET = Target(BODIES, write_bulk, _first, LONGEST_ID)
