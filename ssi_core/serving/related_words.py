"""Words of documents that are not the query's, and that their scores are made of all the same.

They are the words of largest parts in `serving.explain`: in the dense part of a score, the word
``t`` of a document adds ``d_t u . V_t``, where ``u`` is the dense vector of the query.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from ssi_core.models.base import FittedModel
from ssi_core.models.combined.mixture import PRIME
from ssi_core.scoring.vectors import Inner, Vectors
from ssi_core.types import Texts

MOST = 5
"""Words of a document at most."""
LEAST = 0.04
"""Share of the score that a word adds at least."""
_LIGHT = 0.2
"""Share of the heaviest word's part that a word adds at least."""


def related_words(
    fitted: FittedModel,
    query: Vectors,
    known: Collection[str],
    documents: Texts,
    scores: Sequence[float],
) -> list[dict[str, float]]:
    """Return the words of each document that the model relates to a query, with their parts.

    There are none where the score is no inner product of dense vectors that are made of words.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    query : Vectors
        Those of one query.
    known : collection of str
        Words of the query, which are left out.
    documents : Texts
        Documents that were found.
    scores : sequence of float
        Score of each.
    """
    none: list[dict[str, float]] = [{} for _ in scores]
    if not isinstance(query, Inner) or query.dense is None or query.projection is not None:
        return none
    if (words := fitted.dense_words(documents, "document")) is None:
        return none
    columns, starts = words.weights.indices, words.weights.indptr
    parts = words.weights.data * (words.embedding[columns] @ query.dense[0])
    for row, (found, score) in enumerate(zip(none, scores, strict=True)):
        own = slice(starts[row], starts[row + 1])
        for position in np.argsort(-parts[own])[: MOST + len(known)].tolist():
            part, word = float(parts[own][position]), words.view.words[int(columns[own][position])]
            if word.rstrip(PRIME) in known:
                continue
            if part < LEAST * score or part < _LIGHT * max(found.values(), default=0):
                break
            found[word.rstrip(PRIME)] = part
            if len(found) == MOST:
                break
    return none
