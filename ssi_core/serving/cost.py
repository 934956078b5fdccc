"""Memory and disk of an index."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ssi_core import resources
from ssi_core.arrays import CSR_PARTS
from ssi_core.models.base import FittedModel
from ssi_core.resources import Cost
from ssi_core.scoring.vectors import Several, Vectors
from ssi_core.serving.index import Storage
from ssi_core.types import Texts

_BLOCK = 16_384
"""Documents that are embedded at a time."""
_LOOKED_AT = 64
"""Documents that are embedded to see what the vectors of a model weigh."""
_BASE = 30_000_000
"""Bytes of compiled kernels and libraries."""
_ROW = 24
"""Bytes of a document beside its words, numbers, id and title."""
_POSTING = 12
"""Bytes of a word of a document in an inverted index while it is made; 11 were measured."""


def index_cost(
    fitted: FittedModel, documents: Texts, *, words: bool = True, storage: Storage = "float32"
) -> Cost:
    """Bytes of memory and disk that an index of documents takes; vectors of some tell of all.

    A block of documents takes its rows of words, sparse vectors four times (while they are
    weighed in float64), and dense ones twice.
    """
    if not (n := len(documents)):
        return Cost(0, 0)
    some = documents.take(np.unique(np.linspace(0, n - 1, _LOOKED_AT, dtype=np.int64)))
    vectors = fitted.embed_documents(some)
    parts = vectors.parts if isinstance(vectors, Several) else (vectors,)
    dense = n * sum(part.dense.shape[1] for part in parts if part.dense is not None)
    read = sum(documents.matrix(view).nnz for view in fitted.document_views)
    seen = sum(some.matrix(view).nnz for view in fitted.document_views)
    kept = sum(part.sparse.nnz for part in parts if part.sparse is not None)
    sparse = int(kept / max(1, seen) * read)
    other = words and not _are_words(parts, some, [*fitted.document_views])
    names = sum(int(one.str.len_bytes().sum()) for one in (some.ids, some.titles))
    rest = n * (_ROW + names // len(some))
    size = 2 if storage == "float16" else 4
    block = min(1.0, _BLOCK / n)
    memory = int(block * (8 * read + 4 * 8 * sparse + 2 * 4 * dense + rest))
    return Cost(memory, size * dense + 8 * (sparse + other * read) + rest)


def _are_words(parts: Sequence[Vectors], texts: Texts, views: Sequence[str]) -> bool:
    """Tell whether the sparse vectors are the words themselves, which are not kept again."""
    if len(parts) != 1 or len(views) != 1 or parts[0].sparse is None:
        return False
    sparse, words = parts[0].sparse, texts.matrix(views[0])
    return sparse.shape == words.shape and all(
        np.array_equal(getattr(sparse, one), getattr(words, one)) for one in CSR_PARTS
    )


def require_index(
    fitted: FittedModel,
    documents: Texts,
    out: Path,
    *,
    words: bool,
    texts: Sequence[Path] = (),
    storage: Storage = "float32",
) -> None:
    """Check that there is room for an index."""
    cost = index_cost(fitted, documents, words=words, storage=storage)
    disk = cost.disk + sum(part.stat().st_size for part in texts)
    fewer = "Leave the words out (--without-words)." if words else ""
    memory = _BASE + cost.memory
    resources.require("index", memory=memory, directory=out, disk=disk, remedy=fewer)


def require_search(documents: Vectors) -> None:
    """Refuse an exact search whose inverted index does not fit the memory."""
    nonzeros = 0 if documents.sparse is None else documents.sparse.nnz
    memory = _POSTING * nonzeros
    if memory > resources.memory_available():
        remedy = (
            "Run it where there is more memory, or make the index without words (--without-words)."
        )
        resources.require("search", memory=memory, remedy=remedy)
