"""The term of a score that no word of the query has a part in: links to the document, counted.

A mixture with `in_degree` scores ``f(q, d) + b ln(1 + n_d)``. The term is a column of the sparse
vectors, so that a query without an entry there is ranked without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from ssi_core.models.base import FittedModel, Side
from ssi_core.models.in_degree import WORD
from ssi_core.scoring.vectors import Vectors
from ssi_core.types import BadInput, Int64, Texts


@dataclass(frozen=True)
class Popularity:
    """The term ``b ln(1 + n_d)`` of a score: ``weight`` is b, ``part`` all of it."""

    weight: float
    part: float


def _columns(fitted: FittedModel, side: Side) -> Int64:
    """Return the columns of the popularity term; most models have none."""
    view = fitted.sparse_view(side)
    if view is None or not any(kind.name == "in_degree" for kind in fitted.model.kinds()):
        return np.empty(0, np.int64)
    # A mixture marks the words of its second model by a prime.
    return np.array([n for n, word in enumerate(view.words) if word.rstrip("′") == WORD], np.int64)


def counts_links(fitted: FittedModel) -> bool:
    """Tell whether the score of a model has the term."""
    return bool(len(_columns(fitted, "query")))


def without(fitted: FittedModel, queries: Vectors) -> Vectors:
    """Return queries that rank without the term; `BadInput` where the model has none."""
    columns = _columns(fitted, "query")
    if not len(columns) or queries.sparse is None:
        raise BadInput(
            f"model {fitted.model.name!r} has no term of popularity to turn off. Only a mixture "
            "with in_degree has one."
        )
    rows = queries.sparse
    weights = np.where(np.isin(rows.indices, columns), np.float32(0), rows.data)
    plain = sparse.csr_array((weights, rows.indices, rows.indptr), rows.shape)
    return replace(queries, sparse=plain)


def popularity_of(fitted: FittedModel, queries: Vectors, document: Texts) -> Popularity | None:
    """Return the term of one query and one document; None where the model has none."""
    columns = _columns(fitted, "query")
    if not len(columns) or queries.sparse is None:
        return None
    counted = fitted.embed_documents(document).sparse
    assert counted is not None
    given = queries.sparse[:, columns].toarray().astype(float)
    links = counted[:, _columns(fitted, "document")].toarray().astype(float)
    # Both sides of a mixture's second model have the root of its weight.
    return Popularity(float((given * given).sum()), float((given * links).sum()))
