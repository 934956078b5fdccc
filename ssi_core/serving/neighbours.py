"""Words that a model relates to a word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ssi_core.models.base import FittedModel
from ssi_core.serving.searcher import texts_of
from ssi_core.types import BadInput, Float32


@dataclass(frozen=True)
class Neighbour:
    """A related word; ``score`` is a cosine, -1..1."""

    word: str
    score: float


def neighbours(fitted: FittedModel, word: str, k: int = 10) -> list[Neighbour]:
    """Return the words nearest to the given word ``s``, which is itself left out.

    Where queries and documents have the same words, two words are related if they act alike on
    both sides: the score of ``t`` is the mean of ``cos(U_s, U_t)`` and ``cos(V_s, V_t)``. (The
    entry ``W_st`` alone says which documents a query's word asks for, and is noisy for words that
    few links trained.) Across two languages it is ``cos(U_s, V_t)``. For LSI and ``U'U`` it is the
    cosine of the words' vectors. Several words are taken together as one text; ties come by
    ascending column.

    Raises
    ------
    BadInput
        The model relates no words to others, or knows none of these.
    """
    asked = fitted.dense_words(texts_of([word], fitted.query_views), "query")
    there = fitted.dense_words(texts_of([word], fitted.document_views), "document")
    if asked is None or there is None:
        raise BadInput(
            f"model {fitted.model.name!r} relates no word to another: it matches equal words only. "
            "Ask a model that learns a latent space, such as LSI or a bilinear one."
        )
    if asked.weights.nnz == 0:
        raise BadInput(
            f"{word!r} is not a word that the model knows (or it is in every document). "
            "Try another spelling."
        )
    if asked.view.space != there.view.space:
        scores = cosines(asked.weights @ asked.embedding, there.embedding)
    elif asked.embedding is there.embedding:
        scores = cosines(asked.weights @ asked.embedding, asked.embedding)
    else:
        sides = [cosines(asked.weights @ side.embedding, side.embedding) for side in (asked, there)]
        scores = np.mean(sides, axis=0, dtype=np.float32)
    itself = {asked.view.words[column] for column in asked.weights.indices.tolist()}
    order = np.argsort(-scores, kind="stable")[: k + len(itself)].tolist()
    words = there.view.words
    found = [Neighbour(words[t], float(scores[t])) for t in order if words[t] not in itself]
    return found[:k]


def cosines(row: Float32, rows: Float32) -> Float32:
    """Cosine of a row (1, N) with each of rows (n, N); 0 where one is all zeros."""
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(row)
    dots = rows @ np.ravel(row)
    scores: Float32 = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
    return scores
