"""Names of the files of a task directory."""

from __future__ import annotations

DOCUMENTS, POOL, VALID_POOL, COLD = "documents.parquet", "pool.npy", "valid_pool.npy", "cold.npy"
MATRICES, VIEW, PAIRS, RAW = "matrices", "view", "pairs", "texts"
PHRASE_VIEW = "phrase_view"
SHOWN, AUXILIARY, ANCHORED = "shown", "auxiliary", "anchored.parquet"
FIELDS = "fields"
"""Short fields of the documents, aligned with the parts of their texts."""
