"""Elasticsearch: a field ``sparse_vector``, searched by the query of this name, without pruning.

Pruning, the default of a new index, leaves out terms that many documents have; every document has
the terms of the latent vectors.
"""

from __future__ import annotations

from ssi_core.guests.export.targets.bulk import target_of


def _query(terms: str) -> dict[str, object]:
    return {"sparse_vector": {"field": "ssi", "query_vector": terms, "prune": False}}


TARGET = target_of("sparse_vector", _query)
