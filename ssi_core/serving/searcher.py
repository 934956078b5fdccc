"""Text in, titles out: a model, its index, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from ssi_core import store
from ssi_core.held import lacking
from ssi_core.models import load_model
from ssi_core.models.base import FittedModel, Side, require_served
from ssi_core.scoring.scorer import scores_of_parts
from ssi_core.scoring.two_stage import below, features, reorder, starts
from ssi_core.scoring.vectors import TwoStage, Vectors, first_part, refuse_nan
from ssi_core.serving.cost import require_search
from ssi_core.serving.index import Index, open_index
from ssi_core.serving.nothing import NO_DOCUMENT, NOTHING_KNOWN, no_document
from ssi_core.serving.popularity import without
from ssi_core.serving.query_words import known, weights, with_accents
from ssi_core.serving.ranked import Hit, Ranked, exactly
from ssi_core.serving.related_words import related_words
from ssi_core.serving.snippets import NOTHING
from ssi_core.strict import whole
from ssi_core.text.tokenizer import spoken
from ssi_core.types import BadInput, Float64, Texts, View
from ssi_core.views.text_view import rows_in_views

# Scores of one block of queries: 2^26 of them are 256 MiB.
_SCORES = 1 << 26


class Found(NamedTuple):
    """A document that was found: the number of a `Ranked`, the row in it, and the score."""

    part: int
    row: int
    score: float


@dataclass(frozen=True)
class Answer:
    """Hits of one query, best first; ``reason`` says why there are none, else it is None."""

    hits: tuple[Hit, ...]
    reason: str | None = None


def shown(answer: Answer) -> Answer:
    """Return an answer whose hits have read what they show, for whoever has no time to read."""
    for hit in answer.hits:
        hit.shown()
    return answer


def texts_of(raw: Sequence[str], views: Mapping[str, View]) -> Texts:
    """Put raw texts into some views; each is its own title."""
    # An argument of a command can hold bytes that are no UTF-8.
    raw = [text.encode(errors="replace").decode() for text in raw]
    titles = pl.Series("title", raw, dtype=pl.String)
    return Texts(_no_ids(len(raw)), titles, rows_in_views(views, raw), views)


@lru_cache(maxsize=8)
def _no_ids(texts: int) -> pl.Series:
    """Return ids that no document has, so that no model takes a query for one of its own."""
    return pl.Series("id", [""] * texts, dtype=pl.String)


def ranked_exactly(index: Index) -> Ranked:
    """Return the documents of an index, every one of which is scored; `Refused` without memory."""
    vectors, passages = index.vectors, index.passages
    require_search(first_part(vectors))
    how: dict[str, Any] = {"passages": passages, "words": index.words}
    return Ranked(index.ids, index.titles, vectors, exactly(vectors), **how)


class _How(NamedTuple):
    """Settings of a search, as `Searcher.search` has them."""

    k: int
    side: Side
    popularity: bool
    marked: bool
    related: bool


class Searcher:
    """Rank the documents of an index for raw text; ties by ascending document row.

    Parameters
    ----------
    ranked : sequence of Ranked or None
        Documents to rank, if they are not those of the index, in whose order ties come.
    recall : float or None
        Share of the 10 best documents that are found, as measured; None: the search is exact.
    """

    def __init__(
        self,
        fitted: FittedModel,
        index: Index,
        ranked: Sequence[Ranked] | None = None,
        recall: float | None = None,
    ) -> None:
        require_served(fitted.model, "search")
        index.check(fitted)
        self.fitted, self.index, self.recall = fitted, index, recall
        self.ranked = ranked or [ranked_exactly(index)]

    def queries(self, texts: Sequence[str]) -> Texts:
        """Put queries into the model's own copies of its views, spelled as these know them."""
        return self._read(texts, self.fitted.query_views)

    def search(
        self,
        texts: Sequence[str],
        k: int = 10,
        language: str | None = None,
        *,
        popularity: bool = True,
        marked: bool = True,
        related: bool = False,
    ) -> list[Answer]:
        """Return the k best documents of each text.

        A document that shares neither words nor latent dimensions with the query is no result, so
        there may be fewer than k.

        Parameters
        ----------
        texts : sequence of str
            Queries.
        k : int
            Largest number of results of a query.
        language : str or None
            Language code of the texts, such as "ja": that of the model's queries (the default), or
            that of its documents, as which they are then read.
        popularity : bool
            False: leave out the term of the score that counts the links to a document.
        marked : bool
            False: hits show the beginnings of their texts, whichever words the queries have.
        related : bool
            Mark, too, the words of a text that the model relates to the query
            (`serving.related_words`).

        Raises
        ------
        ValueError
            ``k`` is not positive.
        BadInput
            The model reads no texts in the language, or has no term of popularity to leave out.
        """
        k = whole("k", k)
        side = self.side_of(language)
        queries = self._read(texts, self.views(side))
        how = _How(k, side, popularity, marked, related)
        block = max(1, _SCORES // max(1, *(len(part.ids) for part in self.ranked)))
        if 0 < len(texts) <= block:
            # Nothing is taken: rows that are taken are taken anew by whoever reads them.
            return self._answer(queries, how)
        parts = (slice(start, start + block) for start in range(0, len(texts), block))
        blocks = (self._answer(queries.take(rows), how) for rows in parts)
        return [answer for block in blocks for answer in block]

    def _read(self, texts: Sequence[str], views: Mapping[str, View]) -> Texts:
        return texts_of([with_accents(text, views) for text in texts], views)

    def views(self, side: Side) -> Mapping[str, View]:
        """Return the model's own views of a side."""
        return self.fitted.query_views if side == "query" else self.fitted.document_views

    def embed(self, texts: Texts, side: Side) -> Vectors:
        """Convert texts of a side to `Vectors`; `BadInput` if they are not finite."""
        embed = self.fitted.embed_queries if side == "query" else self.fitted.embed_documents
        return refuse_nan(embed(texts), side)

    def side_of(self, language: str | None) -> Side:
        """Return the side whose texts are in a language, that of the queries first.

        Raises
        ------
        BadInput
            The model reads no texts in the language.
        """
        known = self._languages
        for side, languages in known.items():
            if language is None or spoken(language) in languages:
                return side
        raise BadInput(
            f"language {language!r}: the model reads queries in {', '.join(known['query'])} and "
            f"documents in {', '.join(known['document'])}. Ask in one of these."
        )

    @cached_property
    def _languages(self) -> dict[Side, list[str]]:
        """Languages that are read on each side."""
        return {
            "query": languages_of(self.fitted.query_views),
            "document": languages_of(self.fitted.document_views),
        }

    def _answer(self, queries: Texts, how: _How) -> list[Answer]:
        vectors = self.embed(queries, how.side)
        if not how.popularity:
            vectors = without(self.fitted, vectors)
        if isinstance(vectors, TwoStage):
            each = self._reordered(vectors, how.k)
        else:
            each = self.best(vectors, how.k)
        answers = []
        for row, (is_known, text) in enumerate(zip(known(queries), queries.titles, strict=True)):
            if is_known:
                query = vectors.take(slice(row, row + 1)) if how.related else None
                answers.append(self._answered(text, how, each[row][: how.k], query))
            else:
                answers.append(Answer((), NOTHING_KNOWN))
        return answers

    def best(self, vectors: Vectors, k: int) -> list[list[Found]]:
        """Return the k best documents for each query, best first, by vectors of one part."""
        each = [part.best(vectors, k) for part in self.ranked]
        answers = []
        for rows_of_parts in zip(*each, strict=True):
            every = [
                Found(number, row, score)
                for number, rows in enumerate(rows_of_parts)
                for row, score in rows
            ]
            answers.append(sorted(every, key=lambda one: -one.score)[:k])
        return answers

    def first_documents(self, vectors: TwoStage, k: int) -> tuple[list[list[Found]], Float64]:
        """Return the documents that the first stage finds, and features of the first ones.

        Parameters
        ----------
        vectors : TwoStage
            Queries.
        k : int
            Documents of each query at least, where there are so many.

        Returns
        -------
        list of list of Found
            Documents of each query, best first.
        float64 (pairs, features)
            Features of the first ``depth`` documents of each query, one query after the other.
        """
        depth = vectors.second.depth
        documents = self.best(first_part(vectors), max(k, depth))
        pairs = np.array(
            [
                (query, one.row, one.part)
                for query, best in enumerate(documents)
                for one in best[:depth]
            ],
            np.int32,
        ).reshape(-1, 3)
        scores = np.empty((len(pairs), len(vectors.parts)))
        for number, part in enumerate(self.ranked):
            here = pairs[:, 2] == number
            scores[here] = scores_of_parts(vectors, part.vectors, pairs[here, :2])
        sizes = [min(len(best), depth) for best in documents]
        return documents, features(scores, starts([size for size in sizes if size]))

    def _reordered(self, vectors: TwoStage, k: int) -> list[list[Found]]:
        """Return the documents of each query, the first ones ordered by the second stage."""
        depth, begin, answers = vectors.second.depth, 0, []
        documents, values = self.first_documents(vectors, k)
        scores = vectors.second(values) if len(values) else np.empty(0)
        for best in documents:
            head, rest = best[:depth], best[depth:]
            order, falls = reorder(scores[begin : begin + len(head)])
            begin += len(head)
            first = [
                head[position]._replace(score=score)
                for position, score in zip(order.tolist(), falls.tolist(), strict=True)
            ]
            lowest = float(below(falls))
            last = [one._replace(score=lowest - n) for n, one in enumerate(rest, 1)]
            answers.append(first + last)
        return answers

    def _answered(
        self, text: str, how: _How, best: Sequence[Found], query: Vectors | None
    ) -> Answer:
        view = next(iter(self.views(how.side).values()))
        words = cache(partial(weights, text if how.marked else "", view))
        beside = {} if query is None or not best else self._related(query, words(), best)
        shown = ((self.ranked[one.part], one, beside.get(one, NOTHING)) for one in best)
        hits = tuple(part.hit(one.row, one.score, words, related) for part, one, related in shown)
        return Answer(hits, None if hits else NO_DOCUMENT)

    def _related(
        self, query: Vectors, words: Mapping[str, float], best: Sequence[Found]
    ) -> dict[Found, Mapping[str, float]]:
        """Return the words that the model relates to a query, of each document that was found."""
        views, related = self.fitted.document_views, dict[Found, Mapping[str, float]]()
        for number, part in enumerate(self.ranked):
            here = [one for one in best if one.part == number]
            if here and not set(views) - set(part.words):
                texts = Texts(part.ids, part.titles, part.words, views)
                texts, scores = texts.take([one.row for one in here]), [one.score for one in here]
                each = related_words(self.fitted, query, words, texts, scores)
                related |= zip(here, map(type(words), each), strict=True)
        return related

    def texts_of(self, ids: Sequence[str]) -> list[str]:
        """Return the kept texts of documents that a search has found, without their titles.

        A document whose text is not kept has an empty one.
        """
        texts: dict[str, str] = {}
        for part in self.ranked:
            texts |= part.texts(ids)
        return [texts.get(id, "") for id in ids]

    def find(self, name: str) -> tuple[int, int]:
        """Return the number of a `Ranked` and the row in it of a document, by title or id.

        Of documents of one title the one that came last counts.

        Raises
        ------
        BadInput
            There is no such document; titles near it are named.
        """
        for number, part in reversed(list(enumerate(self.ranked))):
            if (row := part.find(name)) is not None:
                return number, row
        titles = [part.shown_titles for part in self.ranked]
        raise BadInput(f"{self.index.path}: {no_document(name, titles)}")

    def document(self, name: str) -> Texts:
        """Return the words of a document, by title or id: `Texts` of one row.

        Raises
        ------
        BadInput
            There is no such document, or the index was made without words.
        """
        index, views = self.index, self.fitted.document_views
        _, row = self.find(name)
        if set(views) - set(index.words):
            raise BadInput(
                f"{index.path} was built without the documents' words. Build it again with them."
            )
        rows = slice(row, row + 1)
        matrices = {view: index.words[view][rows] for view in views}
        return Texts(index.ids[rows], index.titles[rows], matrices, views)


def languages_of(views: Mapping[str, View]) -> list[str]:
    """Return the languages that views read, sorted."""
    return sorted({spoken(view.language) for view in views.values()})


def open_searcher(directory: Path, index: Path | None = None) -> Searcher:
    """Open a model directory and its index.

    The model lies in ``directory`` or in its ``model/``; the index is the one given, or the
    ``index/`` in or beside the model, which is how a run keeps the two.

    Raises
    ------
    BadInput
        There is no model, no index, or the two do not belong together.
    """
    path, fitted = index_of(directory, index), load_model(model_in(directory))
    if path is None:
        raise BadInput(lacking(index or directory, "index"))
    return Searcher(fitted, open_index(path))


def index_of(directory: Path, index: Path | None = None) -> Path | None:
    """Return the place of an index: the one given, else in or beside the model; None: no index."""
    beside = model_in(directory).parent / "index"
    candidates = [index] if index is not None else [directory / "index", beside]
    return next(
        (candidate for candidate in candidates if (candidate / store.MANIFEST).is_file()), None
    )


def model_in(directory: Path) -> Path:
    """Return the directory of ``model.json`` in a directory that keeps a model and an index."""
    inner = directory / "model"
    return inner if (inner / "model.json").is_file() else directory
