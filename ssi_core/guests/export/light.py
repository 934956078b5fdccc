"""The light mode: a document carries the words that it would be found by, in place of 2N terms.

``q' U'V d`` is the sum over words of the query of ``q_i (U'V d)_i``: the ``m`` heaviest of these
weights become terms ``w_word`` of the document, and the rest is left out. It keeps a part of what
the latent vectors gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from ssi_core.guests.export.documents import Documents
from ssi_core.guests.export.parts import Latent, Part, Words
from ssi_core.guests.export.terms import Layout, joined
from ssi_core.models.base import FittedModel
from ssi_core.remedies import typed
from ssi_core.scoring.vectors import Inner, Vectors
from ssi_core.types import BadInput, Float32, TextMatrix

_BEFORE = "w_"
_ROWS = 256
"""Documents whose weights of all words are held at a time."""


def lightened(
    fitted: FittedModel, parts: Sequence[Part], documents: Documents, layout: Layout, most: int
) -> tuple[list[Part], Documents, Layout]:
    """Put the heaviest ``most`` words into documents, for the latent vectors.

    Raises
    ------
    BadInput
        The model has no latent vector, or one whose length is that of all words together.
    """
    latent = [part for part in parts if isinstance(part, Latent)]
    if len(latent) != 1 or latent[0].unit:
        raise BadInput(
            f"model {fitted.model.name!r}: {typed('expand')} needs a model with U'V, in which the "
            "latent vector of a query is a sum over its words. Export it without it."
        )
    [part] = latent
    words = list(fitted.view(part.view, "query").words)
    embedding = part.scale * part.embedding

    def vectors(rows: slice) -> Vectors:
        block = documents.vectors(rows)
        assert block.dense is not None
        added = heaviest(block.dense, embedding, most)
        sparse_part = [] if block.sparse is None else [block.sparse]
        return Inner(joined([*sparse_part, added]), None)

    others: list[Part] = [one for one in parts if one is not part]
    names = [*layout.words, *(f"{_BEFORE}{word}" for word in words)]
    return (
        [*others, Words(part.view, before=_BEFORE)],
        replace(documents, vectors=vectors),
        Layout(names, layout.negative, 0),
    )


def heaviest(dense: Float32, embedding: Float32, most: int) -> TextMatrix:
    """Return the ``most`` heaviest words of each row of ``dense @ embedding.T``, above zero."""
    width = len(embedding)
    blocks = [sparse.csr_array((0, width), dtype=np.float32)]
    for start in range(0, len(dense), _ROWS):
        weights = dense[start : start + _ROWS] @ embedding.T
        if most < width:
            least = np.partition(weights, width - most, axis=1)[:, width - most, None]
            weights[weights < least] = 0
        blocks.append(sparse.csr_array(np.maximum(weights, 0)))
    rows: TextMatrix = sparse.vstack(blocks, format="csr", dtype=np.float32)
    return rows
