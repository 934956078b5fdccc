"""OpenSearch: a field ``rank_features``, searched by ``neural_sparse`` with the query's weights."""

from __future__ import annotations

from ssi_core.guests.export.targets.bulk import target_of


def _query(terms: str) -> dict[str, object]:
    return {"neural_sparse": {"ssi": {"query_tokens": terms}}}


TARGET = target_of("rank_features", _query)
