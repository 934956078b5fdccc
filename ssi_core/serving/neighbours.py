"""Words that a model, or the documents of a task, relate to a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ssi_core.models.base import FittedModel
from ssi_core.models.combined.mixture import PRIME
from ssi_core.remedies import typed_call
from ssi_core.scoring.vectors import Likelihood
from ssi_core.serving.searcher import texts_of
from ssi_core.strict import whole
from ssi_core.types import BadInput, Float32, Int32, Task
from ssi_core.views.dice import dice
from ssi_core.views.hashing import HashedView
from ssi_core.views.names import COUNTS
from ssi_core.views.text_view import TextView

_FEW = 1000
"""Words that tell how many numbers of a vector are not 0."""


@dataclass(frozen=True)
class Neighbour:
    """A related word; ``score`` is a cosine, -1..1, or a DICE coefficient, 0..1."""

    word: str
    score: float


def neighbours(fitted: FittedModel, word: str, k: int = 10) -> list[Neighbour]:
    """Return the words nearest to the given word ``s``, which is itself left out.

    Where queries and documents have the same words, two words are related if they act alike on
    both sides: the score of ``t`` is the mean of ``cos(U_s, U_t)`` and ``cos(V_s, V_t)``. (The
    entry ``W_st`` alone says which documents a query's word asks for, and is noisy for words that
    few links trained.) Across two languages it is ``cos(U_s, V_t)``. For LSI and ``U'U`` it is the
    cosine of the words' vectors, and for a model of topics that of their topics. Several words are
    taken together as one text; ties come by ascending column.

    Raises
    ------
    BadInput
        The model relates no words to others, or knows none of these.
    """
    k = whole("k", k)
    if (by_topic := _topics(fitted, word)) is not None:
        return _best(word, k, *by_topic)
    word_query = fitted.dense_words(texts_of([word], fitted.query_views), "query")
    word_document = fitted.dense_words(texts_of([word], fitted.document_views), "document")
    if word_query is None or word_document is None:
        raise BadInput(
            f"model {fitted.model.name!r} has no vectors of words to compare: it matches equal "
            "words only, or weighs each pair of words by itself. "
            "Ask a model that learns a latent space, such as LSI or a bilinear one."
        )
    if word_query.view.space != word_document.view.space:
        scores = cosines(word_query.weights @ word_query.embedding, word_document.embedding)
    elif word_query.embedding is word_document.embedding:
        scores = cosines(word_query.weights @ word_query.embedding, word_query.embedding)
    else:
        sides = [
            cosines(word_query.weights @ side.embedding, side.embedding)
            for side in (word_query, word_document)
        ]
        scores = np.mean(sides, axis=0, dtype=np.float32)
    itself = [word_query.view.words[column] for column in word_query.weights.indices.tolist()]
    return _best(word, k, itself, scores, word_document.view.words)


def by_chance(fitted: FittedModel) -> float:
    """Return the score that the nearest of all words has where vectors are random.

    The cosines of n random vectors of N numbers with another one are at most ``sqrt(2 ln n / N)``,
    or so, and ``sqrt(ln n / N)`` as the mean of two sides. Words that no pair has trained keep the
    vectors that they were drawn with. 0 where the words of a model have no vectors.
    """
    query = fitted.dense_words(texts_of([""], fitted.query_views), "query")
    document = fitted.dense_words(texts_of([""], fitted.document_views), "document")
    if query is None or document is None:
        return 0.0
    words = document.embedding
    numbers = int(np.count_nonzero(words[:_FEW], axis=1).max(initial=1))
    sides = 1 if query.view.space != document.view.space or query.embedding is words else 2
    return float(np.sqrt(2 / sides * np.log(len(words)) / numbers))


def _topics(fitted: FittedModel, word: str) -> tuple[list[str], Float32, Sequence[str]] | None:
    """Return the known words, the similarity of all query words by topics, and these."""
    query = fitted.embed_queries(texts_of([word], fitted.query_views))
    if not isinstance(query, Likelihood) or query.sparse is None or query.topics is None:
        return None
    view = fitted.sparse_view("query")
    assert view is not None
    itself = [view.words[column] for column in query.sparse.indices.tolist()]
    return itself, cosines(query.sparse @ query.topics, query.topics), view.words


def _best(
    word: str, k: int, itself: Sequence[str], scores: Float32, words: Sequence[str]
) -> list[Neighbour]:
    """Return the k best words other than those asked for, without the primes of a sum's parts."""
    if not itself:
        raise BadInput(
            f"{word!r} is not a word that the model knows (or it is in every document). "
            "Try another spelling."
        )
    asked = {name.rstrip(PRIME) for name in itself}
    order = np.argsort(-scores, kind="stable")[: 2 * (k + len(asked))].tolist()
    related: dict[str, float] = {}
    for t in order:
        if (name := words[t].rstrip(PRIME)) not in asked:
            related.setdefault(name, float(scores[t]))
    return [Neighbour(name, score) for name, score in related.items()][:k]


def cosines(row: Float32, rows: Float32) -> Float32:
    """Return the cosine of a row (1, N) with each of rows (n, N); 0 for zero rows."""
    lengths = np.linalg.norm(rows, axis=1) * np.linalg.norm(row)
    dots = rows @ np.ravel(row)
    scores: Float32 = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
    return scores


def dice_neighbours(
    task: Task, phrase: str, k: int = 10, frequent: int = 30_000
) -> list[Neighbour]:
    """Return the frequent words that share most documents with a word, or with a run of words.

    The score is ``DICE(i, j) = 2 cooc(i, j) / (df_i + df_j)`` (Bai et al. 2010, Tables 7 and 8),
    over all documents of the task. For a run of n words it is what a hashed view of the task has
    found for n-grams: its k and its frequent words.

    Parameters
    ----------
    frequent : int
        How many of the most frequent words are looked at.

    Raises
    ------
    BadInput
        The task does not know the word, or has no such run.
    """
    base = task.documents.views[COUNTS]
    assert isinstance(base, TextView)
    (words, _), *_ = base.in_order([phrase.encode(errors="replace")])
    if len(words) == 0 or words.min() < 0:
        raise BadInput(
            f"{phrase!r}: not every word of it is in the vocabulary of {task.path}. Try another "
            "spelling, or a task of more words: " + typed_call("data features", words="all")
        )
    if len(words) > 1:
        return _of_run(task, phrase, words)[:k]
    word = int(words[0])
    counts = task.documents.matrix(COUNTS)
    pairs = dice(counts, frequent, k + 1, first=word, last=word + 1)
    matches = zip(pairs.bins[0].tolist(), pairs.values[0].tolist(), strict=True)
    return [Neighbour(base.words[j], v) for j, v in matches if j >= 0 and j != word][:k]


def _of_run(task: Task, phrase: str, words: Int32) -> list[Neighbour]:
    n = len(words)
    hashed = [view for view in task.documents.views.values() if isinstance(view, HashedView)]
    views = [view for view in hashed if n in view.ngrams]
    if not views:
        raise BadInput(
            f"{phrase!r}: {task.path} has no runs of {n} words. Make a task with a view of them: "
            + typed_call("data features", views=f"cfh:k=5,words=30000,ngrams={n}")
        )
    view = max(views, key=lambda view: view.hashing.k)
    number = view.ngrams[n].find(words.tolist())
    if number < 0:
        raise BadInput(f"{phrase!r} is in fewer than 5 documents of {task.path}. Try another.")
    matches = view.matches[n]
    rows = zip(matches.bins[number].tolist(), matches.values[number].tolist(), strict=True)
    return [Neighbour(view.words[j], value) for j, value in rows if j >= 0]
