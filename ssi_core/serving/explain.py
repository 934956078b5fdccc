"""Why a document was found: its score as a sum over pairs of words.

Every score here is ``f(q, d) = sum_i a_i b_i + (sum_s q_s U_s) . (sum_t d_t V_t)``, so that it is
exactly a sum of parts, one for each word ``s`` of the query and word ``t`` of the document::

    part(s, t) = q_s d_t U_s . V_t  +  [s = t] a_s b_s

with each factor of normalisation inside ``q``, ``d``, ``a``, ``b``. For a bilinear model
``U_s . V_t`` is the entry ``W_st`` and the second summand is the diagonal.

The score of a reranked document is taken apart by features: the share of a feature is what the
score loses where the feature is 0, the lowest value of the query's documents. Shares of a ranker
that adds up its features, and the rest, add up to the score.

A likelihood is a sum over the words of the query, ``q_s ln(1 + own_s + phi_s . theta)``. Each is
shared among the words of the document as they share the sum inside of the logarithm: the word
itself by ``own_s``, and each word t by the topics that it gives to theta.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from ssi_core.models.base import FittedModel, Side, require_served
from ssi_core.models.combined.mixture import PRIME
from ssi_core.scoring.vectors import Inner, Likelihood, SecondStage, TwoStage, Vectors, Words
from ssi_core.serving.popularity import Popularity, popularity_of, without
from ssi_core.serving.searcher import Searcher
from ssi_core.text.fields import HEADINGS, SHORT, TEXT, TITLE
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput, Float64, Int32, TextMatrix, Texts
from ssi_core.views.phrases import BESIDE

# Parts that are held at once; a long query against a long document has more than memory.
_PARTS = 1 << 22
# Words of a query that are mapped at once; what comes out may have every column of documents.
_MAPPED = 64


@dataclass(frozen=True)
class Part:
    """Contribution of one pair of words to a score.

    Attributes
    ----------
    query_word, document_word : str
        A word of the query, and one of the document.
    part : float
        What the two add to the score.
    fields : mapping
        Fields of the document in which its word stands (`ssi_core.text.fields.FIELDS`), with the
        share of each in the weight of the word; None for shares that the model does not tell, as
        it does not read fields apart.
    """

    query_word: str
    document_word: str
    part: float
    fields: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """Return the fields in words, the largest share first.

        >>> Part("car", "car", 1.5, {"text": 0.25, "title": 0.75}).where
        'title 75 %, text 25 %'
        >>> Part("auto", "car", 1.5, {"text": None, "title": None}).where
        'text, title'
        """
        order = sorted(self.fields.items(), key=lambda one: -(one[1] or 0))
        return ", ".join(f"{name} {100 * share:.0f} %" if share else name for name, share in order)


@dataclass(frozen=True)
class Feature:
    """A feature of a reranked pair: its value, 0..1 over the query's documents, and its share."""

    name: str
    value: float
    share: float


@dataclass(frozen=True)
class Explanation:
    """A score taken apart, all in float64: ``score = sum of parts + rest``.

    ``parts`` are the pairs of largest absolute value, the largest first; ``rest`` is the sum of all
    other pairs, added up by itself and not as a difference. ``popularity`` is the one of the pairs
    that counts links to the document; None for a model without it. Of a reranked document there are
    no parts but ``features``, by falling absolute share: ``score = sum of shares + rest``.
    """

    score: float
    parts: tuple[Part, ...]
    rest: float
    popularity: Popularity | None = None
    features: tuple[Feature, ...] = ()


@dataclass(frozen=True)
class _Words:
    """A text by words: ``sparse`` word -> weight, ``dense`` word -> row of ``vectors`` (n, N)."""

    sparse: Mapping[str, float]
    dense: Mapping[str, int]
    vectors: Float64


def explain(
    searcher: Searcher, query: str, document: str, k: int = 20, *, popularity: bool = True
) -> Explanation:
    """Explain the score of a query with a document of the index, named by title or id.

    Parameters
    ----------
    popularity : bool
        False: the score without the term that counts the links to a document.

    Raises
    ------
    BadInput
        No such document, an index without words, or a model whose score is no sum over words; or
        it has no term of popularity to leave out, or has not reranked the document.
    """
    text = searcher.document(document)
    if reason := searcher.search([query], 1, popularity=popularity)[0].reason:
        raise BadInput(f"{query!r}: {reason}. There is no score to explain; try other words.")
    queries = searcher.queries([query])
    vectors = searcher.embed(queries, "query")
    if isinstance(vectors, TwoStage):
        return _of_features(searcher, vectors, vectors.second, text.ids[0])
    explained = explain_pair(searcher.fitted, queries, text, k, popularity=popularity)
    words = {part.document_word for part in explained.parts}
    fields = _fields_of(searcher, document, words)
    fields |= {word: each for word, each in _shares(searcher.fitted, text, words).items() if each}
    parts = [replace(part, fields=fields[part.document_word]) for part in explained.parts]
    return replace(explained, parts=tuple(parts))


def _shares(
    fitted: FittedModel, document: Texts, words: Collection[str]
) -> dict[str, dict[str, float | None]]:
    """Return the share of each field in the weight of words, if the model has fields."""
    weights = fitted.model.field_weights(fitted, document)
    view = fitted.sparse_view("document")
    if weights is None or view is None:
        return {}
    added: dict[str, dict[str, float]] = {word: {} for word in words}
    for name, rows in weights.items():
        for column, weight in zip(rows.indices.tolist(), rows.data.tolist(), strict=True):
            if weight > 0 and (word := view.words[column]) in added:
                added[word][name] = weight
    return {
        word: {name: weight / math.fsum(each.values()) for name, weight in each.items()}
        for word, each in added.items()
    }


def _fields_of(
    searcher: Searcher, document: str, words: Collection[str]
) -> dict[str, dict[str, float | None]]:
    """Return the fields that contain each word, as far as the index keeps them.

    Both words of a phrase, of the title and the headings.
    """
    number, row = searcher.find(document)
    fields: dict[str, dict[str, float | None]] = {word: {} for word in words}
    of, language = searcher.ranked[number].fields(row), _language(searcher.fitted)
    for name in (*SHORT, TEXT):
        known = set(tokenize(of[name], language))
        for word in words:
            several = word.rstrip(PRIME).split(BESIDE)
            if known.issuperset(several) and (len(several) == 1 or name in (TITLE, HEADINGS)):
                fields[word][name] = None
    return fields


def _language(fitted: FittedModel) -> str:
    return next(iter(fitted.document_views.values())).language


def explain_pair(
    fitted: FittedModel, query: Texts, document: Texts, k: int = 20, *, popularity: bool = True
) -> Explanation:
    """Explain the score of one query with one document, `Texts` of one row each.

    Parameters
    ----------
    k : int
        Pairs that are named; the others are in ``rest``.
    popularity : bool
        As in `explain`.

    Raises
    ------
    BadInput
        The score of the model is no sum over words, or has no term of popularity to leave out.
    """
    require_served(fitted.model, "explanation")
    vectors = fitted.embed_queries(query)
    if not popularity:
        vectors = without(fitted, vectors)
    if isinstance(vectors, Likelihood):
        return _of_likelihood(fitted, vectors, document, k)
    if not isinstance(vectors, Inner):
        raise _unexplained(fitted)
    if (sources := fitted.model.sources(fitted, document)) is not None:
        return _of_sources(fitted, vectors, document, *sources, k)
    if vectors.projection is None:
        left = _words_of(fitted, query, "query", vectors)
        right = _words_of(fitted, document, "document", fitted.embed_documents(document))
    else:
        left, right = _projected_words(fitted, vectors, fitted.embed_documents(document))
    score = math.fsum(w * right.sparse.get(s, 0.0) for s, w in left.sparse.items())
    score += float(left.vectors.sum(axis=0) @ right.vectors.sum(axis=0))
    parts, rest = _largest(_blocks(left, right), k)
    counted = popularity_of(fitted, vectors, document) if popularity else None
    return Explanation(score, parts, rest, counted)


def _of_features(
    searcher: Searcher, vectors: TwoStage, second: SecondStage, document: str
) -> Explanation:
    documents, values = searcher.first_documents(vectors, second.depth)
    ids = [searcher.ranked[one.part].ids[one.row] for one in documents[0][: second.depth]]
    if document not in ids:
        raise BadInput(
            f"{document!r} is not among the first {len(ids)} documents of the query, and only "
            "these are reranked. Explain one of them."
        )
    row = values[[ids.index(document)]]
    without_one = np.repeat(row, row.shape[1], axis=0)
    np.fill_diagonal(without_one, 0)
    score = float(second(row)[0])
    shares = score - second(without_one)
    order = np.argsort(-np.abs(shares), kind="stable").tolist()
    features = [Feature(second.names[n], float(row[0, n]), float(shares[n])) for n in order]
    return Explanation(score, (), score - math.fsum(shares), None, tuple(features))


def _of_likelihood(fitted: FittedModel, query: Likelihood, text: Texts, k: int) -> Explanation:
    query_view, document_view = fitted.sparse_view("query"), fitted.sparse_view("document")
    document = fitted.embed_documents(text)
    if query_view is None or document_view is None:
        raise _unexplained(fitted)
    counts, topics, theta = query.parts(document)
    words, given = fitted.model.topic_words(fitted, text)
    columns, by_topic = counts.indices, topics[counts.indices].astype(np.float64)
    inner = by_topic @ given.T.astype(np.float64)
    whole = by_topic @ theta[0].astype(np.float64)
    if document.sparse is not None:
        weights = dict(zip(document.sparse.indices.tolist(), document.sparse.data, strict=True))
        exact = np.array([float(weights.get(column, 0.0)) for column in columns.tolist()])
        inner += exact[:, None] * (columns[:, None] == words.indices)
        whole += exact
    scores = counts.data * np.log1p(whole)
    parts = inner * (scores / whole)[:, None]
    unexplained = math.fsum(scores - parts.sum(axis=1))
    names = [query_view.words[s] for s in columns.tolist()]
    largest, rest = _largest(
        iter([(names, [document_view.words[t] for t in words.indices.tolist()], parts)]), k
    )
    return Explanation(math.fsum(scores), largest, rest + unexplained)


def _of_sources(
    fitted: FittedModel, query: Vectors, text: Texts, given: Int32, shares: TextMatrix, k: int
) -> Explanation:
    """Explain a score in which words of the document stand for words of the query."""
    document, view = fitted.embed_documents(text), fitted.sparse_view("query")
    if query.sparse is None or document.sparse is None or view is None:
        raise _unexplained(fitted)
    columns, counts = query.sparse.indices, query.sparse.data.astype(np.float64)
    scores = counts * document.sparse[:, columns].toarray()[0]
    parts = scores[:, None] * shares[:, columns].toarray().T
    names = [view.words[column] for column in columns.tolist()]
    words = [view.words[word] for word in given.tolist()]
    largest, rest = _largest(iter([(names, words, parts)]), k)
    return Explanation(math.fsum(scores), largest, rest)


def _words_of(fitted: FittedModel, text: Texts, side: Side, vectors: Vectors) -> _Words:
    sparse: dict[str, float] = {}
    if vectors.sparse is not None:
        sparse = _weights(vectors.sparse, fitted.sparse_view(side), fitted)
    if vectors.dense is None:
        return _Words(sparse, {}, np.zeros((0, 1)))
    dense = fitted.dense_words(text, side)
    if dense is None:
        raise _unexplained(fitted)
    weights = _weights(dense.weights, dense.view, fitted)
    rows = dense.embedding[np.sort(dense.weights.indices)].astype(np.float64)
    rows *= np.fromiter(weights.values(), np.float64, len(weights))[:, None]
    return _Words(sparse, {word: row for row, word in enumerate(weights)}, rows)


def _projected_words(fitted: FittedModel, query: Inner, document: Vectors) -> tuple[_Words, _Words]:
    """Map each word of both sides by itself if their columns differ."""
    left_words, right_words = query.sparse, document.sparse
    asked_view, there_view = fitted.sparse_view("query"), fitted.sparse_view("document")
    if asked_view is None or there_view is None or query.dense is not None:
        raise _unexplained(fitted)
    assert left_words is not None
    assert right_words is not None
    assert query.projection is not None
    n, columns = left_words.nnz, right_words.indices
    alone = sparse.csr_array(
        (left_words.data, left_words.indices, np.arange(n + 1)), (n, left_words.shape[1])
    )
    met = np.zeros((n, len(columns)))
    for start in range(0, n, _MAPPED):
        rows = slice(start, min(start + _MAPPED, n))
        met[rows] = sparse.csc_array(query.projection(alone[rows]))[:, columns].toarray()
    left = _by_name([asked_view.words[s] for s in left_words.indices.tolist()], met)
    weights = np.diag(right_words.data.astype(np.float64))
    return left, _by_name([there_view.words[t] for t in columns.tolist()], weights)


def _by_name(names: Sequence[str], rows: Float64) -> _Words:
    """Add up the rows of columns with the same name."""
    words = {name: position for position, name in enumerate(dict.fromkeys(names))}
    vectors = np.zeros((len(words), rows.shape[1]))
    np.add.at(vectors, [words[name] for name in names], rows)
    return _Words({}, words, vectors)


def _weights(matrix: Any, view: Words | None, fitted: FittedModel) -> dict[str, float]:
    """Return word -> weight of a matrix of one row."""
    if view is None:
        raise _unexplained(fitted)
    order = np.argsort(matrix.indices, kind="stable")
    columns, values = matrix.indices[order].tolist(), matrix.data[order].tolist()
    return {view.words[column]: value for column, value in zip(columns, values, strict=True)}


def _unexplained(fitted: FittedModel) -> BadInput:
    return BadInput(
        f"the score of model {fitted.model.name!r} is not a sum over words, so it cannot be "
        "explained. Explain another model, such as a bilinear one."
    )


def _blocks(left: _Words, right: _Words) -> Iterator[tuple[list[str], list[str], Float64]]:
    """Yield the products of some query words with all words of the document."""
    documents = list(dict.fromkeys([*right.dense, *right.sparse]))
    column = {word: position for position, word in enumerate(documents)}
    queries = list(dict.fromkeys([*left.dense, *left.sparse]))
    size = max(1, _PARTS // max(1, len(documents)))
    for start in range(0, len(queries), size):
        words = queries[start : start + size]
        parts = np.zeros((len(words), len(documents)))
        # Both mappings start with the words of the dense part, in the order of its rows.
        dense = left.vectors[start : start + size]
        parts[: len(dense), : len(right.vectors)] = dense @ right.vectors.T
        for row, word in enumerate(words):
            if word in left.sparse and word in right.sparse:
                parts[row, column[word]] += left.sparse[word] * right.sparse[word]
        yield words, documents, parts


def _largest(
    blocks: Iterator[tuple[list[str], list[str], Float64]], k: int
) -> tuple[tuple[Part, ...], float]:
    best: list[Part] = []
    rests: list[float] = []
    for queries, documents, parts in blocks:
        flat = parts.ravel()
        chosen = np.argsort(-np.abs(flat), kind="stable")[:k]
        best += [
            Part(queries[at // len(documents)], documents[at % len(documents)], float(flat[at]))
            for at in chosen.tolist()
            if flat[at] != 0
        ]
        flat[chosen] = 0
        rests.append(float(flat.sum()))
        best.sort(key=lambda part: -abs(part.part))
        rests += [part.part for part in best[k:]]
        del best[k:]
    return tuple(best), math.fsum(rests)
