"""Texts as vectors whose inner products are the scores of a model, for another engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from ssi_core.collection import open_collection
from ssi_core.face.documents import Documents
from ssi_core.models.base import FittedModel, Side, require_served
from ssi_core.scoring.vectors import Inner, Likelihood, TwoStage, Vectors, refuse_nan
from ssi_core.serving.searcher import texts_of
from ssi_core.strict import strings
from ssi_core.tasks.unseen import documents_of, texts_in_views
from ssi_core.types import BadInput, Float32, TextMatrix

TextsToEncode: TypeAlias = Sequence[str] | Documents


class Encoded(NamedTuple):
    """Texts as vectors, a row each; a part that a model does not have is 0 columns wide.

    The scores of queries and documents are
    ``queries.sparse @ documents.sparse.T + queries.dense @ documents.dense.T``.

    Attributes
    ----------
    sparse : CSR float32 (texts, words)
        Weights of words, or of what else the model counts.
    dense : float32 (texts, dimensions)
        Latent vectors.
    """

    sparse: TextMatrix
    dense: Float32


def encode(fitted: FittedModel, texts: TextsToEncode, side: Side) -> Encoded:
    """Return texts of one side as vectors; `BadInput` where the score is no inner product."""
    _require_products(fitted)
    views = fitted.query_views if side == "query" else fitted.document_views
    if isinstance(texts, Documents):
        read = texts_in_views(documents_of(open_collection(texts.path)), views)
    else:
        read = texts_of(strings(texts), views)
    embed = fitted.embed_queries if side == "query" else fitted.embed_documents
    vectors = refuse_nan(embed(read), side)
    words, rows = vectors.sparse, len(vectors)
    none: TextMatrix = sparse.csr_array(np.empty((rows, 0), np.float32))
    if words is not None and isinstance(vectors, Inner) and vectors.projection is not None:
        words = vectors.projection(words)
    return Encoded(
        none if words is None else words,
        np.empty((rows, 0), np.float32) if vectors.dense is None else vectors.dense,
    )


def _require_products(fitted: FittedModel) -> None:
    """Refuse a model whose score is no sum of inner products, as its queries say."""
    require_served(fitted.model, "vectors of texts")
    vectors = fitted.embed_queries(texts_of([""], fitted.query_views))
    if not isinstance(vectors, Inner):
        raise BadInput(
            f"model {fitted.model.name!r}: {_what(vectors)}, so that no vectors of texts have its "
            "scores as inner products. Search with model.index(documents).search(text), or encode "
            "with a model such as SSI, BM25 or Ranker('lsi_mixture')."
        )


def _what(vectors: Vectors) -> str:
    if isinstance(vectors, Likelihood):
        return "its score is the likelihood of a query"
    if isinstance(vectors, TwoStage):
        return "a second stage puts its first documents into another order"
    return "its score adds up the ranks of several models"
