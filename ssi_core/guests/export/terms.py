"""The score of a model as a sum of weights that are never negative, as search engines keep them.

Engines of the family of Lucene multiply the weight of a term in the query with its weight in the
document, add the products up, and take no weight below zero. A score ``<q, d> + <u, v>`` with
weights of any sign becomes such a sum, up to a number that is the same for all documents:

==========  ============================  ==========================
term        weight in a document          weight in a query
==========  ============================  ==========================
``word``    ``d_i``                       ``q_i``, where above zero
``m_word``  ``most_i - d_i``              ``-q_i``, where below zero
``p_k``     ``v_k - low_k``               ``u_k``, where above zero
``n_k``     ``high_k - v_k``              ``-u_k``, where below zero
==========  ============================  ==========================

Every document carries all terms ``m_``, ``p_`` and ``n_``, so that the order of the documents is
that of the model. The bounds ``low``, ``high`` and ``most`` are taken from the documents of a first
export, with a margin: later documents are exported by themselves with the same bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from ssi_core import files, store
from ssi_core.models.base import FittedModel
from ssi_core.remedies import typed_call
from ssi_core.scoring.vectors import Inner, Likelihood, RankSum, TwoStage, Vectors
from ssi_core.types import BadInput, Float32, Int32, Int64, TextMatrix, Texts

BOUNDS = "bounds.json"
LONGEST = 32_766
"""Bytes of the longest term that Lucene keeps."""
_LEAST = 2.0**-20
"""Weight of a term that would weigh nothing, as a share of the span of its bounds."""
_BLOCK = 1024


@dataclass(frozen=True)
class Layout:
    """Columns of the terms: own words, ``m_``, ``p_`` and ``n_``.

    Attributes
    ----------
    words : sequence of str
        Columns of the sparse part.
    negative : int32
        Columns of the sparse part that a query may weigh below zero, ascending.
    latent : int
        Width of the dense part.
    """

    words: Sequence[str]
    negative: Int32
    latent: int

    @cached_property
    def names(self) -> list[str]:
        """Names of all terms; `BadInput` where an engine would refuse one."""
        words = list(self.words)
        longest = max(words, key=len, default="")
        if len(longest.encode()) + 2 > LONGEST:
            raise BadInput(
                f"the word {longest[:40]}... has {len(longest.encode()):,} bytes, and an engine "
                f"takes {LONGEST:,}. Make the task with fewer words: "
                + typed_call("data features", words=30_000)
            )
        below = [f"m_{words[column]}" for column in self.negative]
        return [*words, *below, *(f"{sign}_{k}" for sign in "pn" for k in range(self.latent))]


@dataclass(frozen=True)
class Bounds:
    """Bounds of the documents' weights, between which an export keeps them.

    Attributes
    ----------
    low, high : float32 (N,)
        Bounds of the dense part.
    most : float32
        Upper bound of the sparse part, in the columns ``Layout.negative``.
    """

    low: Float32
    high: Float32
    most: Float32

    @classmethod
    def of(cls, documents: Iterable[Vectors], layout: Layout, margin: float) -> Bounds:
        """Take the bounds of some documents, wider by ``margin`` times their span on each side."""
        low = np.full(layout.latent, np.inf, np.float32)
        high, most = -low, np.zeros(len(layout.negative), np.float32)
        for block in documents:
            if block.dense is not None:
                low = np.minimum(low, block.dense.min(axis=0))
                high = np.maximum(high, block.dense.max(axis=0))
            if block.sparse is not None and len(most):
                columns = block.sparse[:, layout.negative]
                most = np.maximum(most, columns.max(axis=0).toarray().ravel())
        room = np.maximum(margin * (high - low), np.float32(1e-6))
        return cls(low - room, high + room, most * np.float32(1 + margin) + np.float32(1e-6))

    def save(self, directory: Path) -> None:
        """Write ``bounds.json``."""
        store.write_json(directory / BOUNDS, {n: v.tolist() for n, v in vars(self).items()})

    @classmethod
    def load(cls, directory: Path, layout: Layout) -> Bounds:
        """Read the bounds of a former export; `BadInput` where they are of other terms."""
        path = directory / BOUNDS
        facts = files.read_object(path, "Export all documents anew, without former bounds.")
        with files.reading(path):
            bounds = cls(*(np.array(facts[n], np.float32) for n in ("low", "high", "most")))
        widths = (len(bounds.low), len(bounds.high), len(bounds.most))
        if widths != (layout.latent, layout.latent, len(layout.negative)):
            raise BadInput(
                f"{path}: bounds of another model. Name an export of this model, or export all "
                "documents anew."
            )
        return bounds


_WHAT = {
    Likelihood: "a logarithm of sums",
    RankSum: "a sum of ranks",
    TwoStage: "that of a ranker of its first documents",
}


def layout_of(fitted: FittedModel) -> Layout:
    """Return the terms of a model; `BadInput` where its score is no sum over terms."""
    nothing = fitted.embed_queries(_single_words(fitted, 0, 1))
    if not isinstance(nothing, Inner) or nothing.projection is not None:
        what = _WHAT.get(type(nothing), "a sum over pairs of words")
        raise BadInput(
            f"model {fitted.model.name!r}: its score is {what}, which no engine adds up term by "
            "term. Export a model whose score is <sparse, sparse> + <dense, dense>, such as "
            "'bilinear', 'lsi_mixture' or 'bm25'."
        )
    view = fitted.sparse_view("query")
    words = () if view is None else view.words
    latent = 0 if nothing.dense is None else nothing.dense.shape[1]
    return Layout(words, _negative(fitted) if len(words) else np.empty(0, np.int32), latent)


def document_terms(vectors: Vectors, layout: Layout, bounds: Bounds) -> tuple[TextMatrix, Int64]:
    """Return the terms of documents, and how many values of each lie outside of the bounds.

    Returns
    -------
    terms : CSR float32 (n, len(layout.names))
        Weights, all above zero.
    clipped : int64 (n,)
        Values of each document that lie outside of the bounds.
    """
    parts: list[Any] = []
    clipped = np.zeros(_rows(vectors), np.int64)
    if vectors.sparse is not None:
        if vectors.sparse.nnz and vectors.sparse.data.min() < 0:
            raise BadInput(
                "a document gives a word a negative weight, which no engine keeps. Export another "
                "model."
            )
        parts.append(vectors.sparse)
        if len(layout.negative):
            below = bounds.most - vectors.sparse[:, layout.negative].toarray()
            clipped += np.count_nonzero(below < 0, axis=1)
            parts.append(np.maximum(below, _LEAST * bounds.most))
    if vectors.dense is not None:
        outside = (vectors.dense < bounds.low) | (vectors.dense > bounds.high)
        clipped += np.count_nonzero(outside, axis=1)
        least = _LEAST * (bounds.high - bounds.low)
        for above in (vectors.dense - bounds.low, bounds.high - vectors.dense):
            parts.append(np.maximum(above, least))
    return joined(parts), clipped


def joined(parts: Sequence[Any]) -> TextMatrix:
    """Return matrices side by side, float32, without entries that are zero."""
    rows = [sparse.csr_array(part) for part in parts]
    terms: TextMatrix = sparse.hstack(rows, format="csr", dtype=np.float32)
    terms.eliminate_zeros()
    terms.sort_indices()
    return terms


def _rows(vectors: Vectors) -> int:
    part = vectors.dense if vectors.sparse is None else vectors.sparse
    assert part is not None
    return int(part.shape[0])


def _negative(fitted: FittedModel) -> Int32:
    """Return the columns to which a query of one word gives a negative weight."""
    width = max(len(view.words) for view in fitted.query_views.values())
    columns = []
    for begin in range(0, width, _BLOCK):
        rows = fitted.embed_queries(_single_words(fitted, begin, min(begin + _BLOCK, width))).sparse
        assert rows is not None
        columns.append(rows.indices[rows.data < 0])
    return np.unique(np.concatenate(columns)).astype(np.int32)


def _single_words(fitted: FittedModel, begin: int, end: int) -> Texts:
    """Return a query of one word for each column of a range."""
    names = pl.Series([""] * (end - begin), dtype=pl.String)
    matrices = {}
    for name, view in fitted.query_views.items():
        columns = np.arange(begin, min(end, len(view.words)), dtype=np.int32)
        lengths = np.arange(begin, end) < len(view.words)
        matrices[name] = sparse.csr_array(
            (np.ones(len(columns), np.float32), columns, np.concatenate([[0], np.cumsum(lengths)])),
            shape=(end - begin, len(view.words)),
        )
    return Texts(names, names, matrices, fitted.query_views)
