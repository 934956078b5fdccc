"""Words that a model relates to a word."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ssi_core.models.base import FittedModel
from ssi_core.serving.searcher import texts_of
from ssi_core.types import BadInput


@dataclass(frozen=True)
class Neighbour:
    """A related word; ``score`` is a cosine, -1..1."""

    word: str
    score: float


def neighbours(fitted: FittedModel, word: str, k: int = 10) -> list[Neighbour]:
    """Return the words ``t`` of documents with the largest ``cos(U_s, V_t)``, ``s`` the given word.

    For a low-rank ``W = U'V`` this is ``W_st`` with rows of unit length: without that, words of
    long rows, which are the frequent ones, are near to everything. For LSI it is the cosine of the
    words' vectors. Several words are taken together as one text. The words themselves are left
    out; ties come by ascending column.

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
    vector = np.asarray(asked.weights @ asked.embedding)[0]
    lengths = np.sqrt(np.einsum("ij,ij->i", there.embedding, there.embedding))
    dots = there.embedding @ vector
    scores = np.divide(
        dots, lengths * np.linalg.norm(vector), out=np.zeros_like(dots), where=lengths > 0
    )
    itself = {asked.view.words[column] for column in asked.weights.indices.tolist()}
    order = np.argsort(-scores, kind="stable")[: k + len(itself)].tolist()
    words = there.view.words
    found = [Neighbour(words[t], float(scores[t])) for t in order if words[t] not in itself]
    return found[:k]
