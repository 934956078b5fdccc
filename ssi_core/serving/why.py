"""Why a document is not among the first for a query, and the smallest change that brings it there.

A change adds a few words to one field of the document: another name, a heading, or words in its
text. Nothing is estimated: the changed document is read, embedded and scored as the model reads any
document, with the statistics of words that the model was made with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import polars as pl

from ssi_core.scoring.vectors import TwoStage, Vectors
from ssi_core.serving.explain import explain_pair
from ssi_core.serving.neighbours import by_chance, neighbours
from ssi_core.serving.passages import whole_fields
from ssi_core.serving.query_words import weights, with_accents
from ssi_core.serving.ranked import Ranked, exactly
from ssi_core.serving.searcher import Found, Searcher
from ssi_core.text.fields import FIELDS, HEADINGS, TEXT, TITLE, join
from ssi_core.text.occurrences import Stemmed, stems_of
from ssi_core.text.tokenizer import spoken, tokenize
from ssi_core.types import BadInput, Float64, Texts
from ssi_core.views.text_view import rows_in_views

MOST_WORDS = 3
"""Words that a change adds at most; never all of the query's."""
_OF_QUERY, _RELATED = 6, 8
_PAIRS = 100_000
_CHANGED = (TEXT, HEADINGS, TITLE)
"""Fields that a change adds words to, the least conspicuous first."""


@dataclass(frozen=True)
class WordGap:
    """Share of a word of the query in the score of the document, and in that of a better one."""

    word: str
    here: float
    there: float


@dataclass(frozen=True)
class Change:
    """Words that are added to a field of a document, and what that makes of it.

    Attributes
    ----------
    field : str
        "title": another name of the document; "headings": a further heading; "text": words at the
        end of its text.
    words : tuple of str
        Added words.
    rank : int
        Place of the changed document, from 1; of equal scores the last.
    score : float
        Score of the changed document.
    """

    field: str
    words: tuple[str, ...]
    rank: int
    score: float


@dataclass(frozen=True)
class Why:
    """What keeps a document from the first k places.

    Attributes
    ----------
    id, title : str
        The document.
    rank : int or None
        Its place, from 1; None: it shares no word with the query, and meets it in no latent space.
    score : float
        Its score; 0 without a rank.
    k : int
        Places that are asked for.
    above : str or None
        Title of the document in place k, or in the last place before that; None: there is none.
    place : int
        Place of that document; 0: there is none.
    needed : float
        Score of that document.
    holding : tuple of WordGap
        Words of the query that give more to that document, those of the largest difference first;
        empty where the score is no sum over words.
    missing : tuple of str
        Words of the query that the document has in no field, the heaviest first.
    change : Change or None
        The smallest change that brings the document among the first k; None: it is there already,
        or none was found.
    """

    id: str
    title: str
    rank: int | None
    score: float
    k: int
    above: str | None
    place: int
    needed: float
    holding: tuple[WordGap, ...]
    missing: tuple[str, ...]
    change: Change | None

    @property
    def gap(self) -> float:
        """Return what the score lacks to that of the document in place k."""
        return 0.0 if self._is_there else self.needed - self.score

    @property
    def _is_there(self) -> bool:
        """Tell whether the document is among the first k."""
        return self.rank is not None and self.rank <= self.k

    def lines(self) -> list[str]:
        """Return all of it as sentences."""
        if self.rank is None:
            said = [f"{self.title}: no place. It shares no word with the query."]
        else:
            said = [f"{self.title}: place {self.rank}, score {self.score:.4f}."]
        if self._is_there:
            return [*said, f"It is among the first {self.k} already."]
        said.append(f"{self.above} in place {self.place} has a score of {self.needed:.4f}.")
        if self.holding:
            gaps = (f"{gap.word} ({gap.there:.3f} against {gap.here:.3f})" for gap in self.holding)
            said.append(f"Words that hold it above: {', '.join(gaps)}.")
        if self.missing:
            said.append(f"Words of the query that the document lacks: {', '.join(self.missing)}.")
        said.append(self._proposal())
        return said

    def _proposal(self) -> str:
        if self.change is None:
            return f"No change of up to {MOST_WORDS} words brings it there."
        words = " ".join(self.change.words)
        added = {
            TITLE: f"As another name, “{words}” would bring",
            HEADINGS: f"A heading “{words}” would bring",
            TEXT: f"“{words}” in its text would bring",
        }[self.change.field]
        return f"{added} it to place {self.change.rank}."


def why(searcher: Searcher, query: str, document: str, k: int = 10) -> Why:
    """Tell why a document is not among the first k for a query, and what would bring it there.

    Parameters
    ----------
    query : str
        What is searched.
    document : str
        Id or title.
    k : int
        Places.

    Raises
    ------
    BadInput
        There is no such document, the index keeps no texts, the query has no known word, or the
        model reranks.
    """
    searcher = _exact(searcher)
    number, row = searcher.find(document)
    part = searcher.ranked[number]
    if any(one.passages is None for one in searcher.ranked):
        raise BadInput(
            f"{searcher.index.path}: the index keeps no texts, so no change of a document can be "
            "computed. Build it again with texts."
        )
    if reason := searcher.search([query], 1)[0].reason:
        raise BadInput(f"{query!r}: {reason}. Try other words.")
    query = with_accents(query, searcher.fitted.query_views)
    vectors = searcher.embed(searcher.queries([query]), "query")
    if isinstance(vectors, TwoStage):
        raise BadInput(
            f"model {searcher.fitted.model.name!r} reranks the first documents, which is not "
            "taken apart here. Ask its first stage."
        )
    case = _Case(searcher, query, k, number, row)
    ranking = searcher.best(vectors, sum(len(one.ids) for one in searcher.ranked))[0]
    here = [one for one in ranking if (one.part, one.row) == (number, row)]
    others = [one for one in ranking if (one.part, one.row) != (number, row)]
    rank = 1 + ranking.index(here[0]) if here else None
    place = min(k, len(others))
    last = others[place - 1] if place else None
    is_there = rank is not None and rank <= k
    return Why(
        part.ids[row],
        part.titles[row],
        rank,
        here[0].score if here else 0.0,
        k,
        None if last is None else searcher.ranked[last.part].titles[last.row],
        place,
        0.0 if last is None else last.score,
        () if is_there or last is None else case.holding(last),
        case.missing(),
        None if is_there else case.change(np.array([one.score for one in others])),
    )


def _exact(searcher: Searcher) -> Searcher:
    """Return a searcher that scores every document."""
    if searcher.recall is None:
        return searcher
    ranked = [replace(part, scores=exactly(part.vectors)) for part in searcher.ranked]
    return Searcher(searcher.fitted, searcher.index, ranked)


class _Case:
    """A query and a document that is read anew, as it is and with changes."""

    def __init__(self, searcher: Searcher, query: str, k: int, part: int, row: int) -> None:
        self._searcher, self._query, self._k = searcher, query, k
        self._fields = self._fields_of(part, row)
        self._weights = weights(query, next(iter(searcher.fitted.query_views.values())))

    def _fields_of(self, part: int, row: int) -> dict[str, str]:
        """Return all fields of a document as the model reads them."""
        passages = self._searcher.ranked[part].passages
        assert passages is not None
        return whole_fields(passages, row)

    def _read(self, documents: Sequence[Mapping[str, str]]) -> Texts:
        whole = [join(**fields) for fields in documents]
        views = self._searcher.fitted.document_views
        nameless = pl.Series("id", [""] * len(whole), dtype=pl.String)
        return Texts(nameless, nameless.alias("title"), rows_in_views(views, whole), views)

    def holding(self, other: Found) -> tuple[WordGap, ...]:
        """Return the words of the query that give more to another document."""
        here = self._by_word(self._fields)
        there = self._by_word(self._fields_of(other.part, other.row))
        gaps = [WordGap(word, here.get(word, 0.0), there.get(word, 0.0)) for word in here | there]
        gaps.sort(key=lambda gap: gap.here - gap.there)
        return tuple(gap for gap in gaps if gap.there > gap.here)

    def _by_word(self, fields: Mapping[str, str]) -> dict[str, float]:
        queries = self._searcher.queries([self._query])
        try:
            explained = explain_pair(self._searcher.fitted, queries, self._read([fields]), _PAIRS)
        except BadInput:  # the score of the model is no sum over words
            return {}
        shares: dict[str, float] = {}
        for part in explained.parts:
            shares[part.query_word] = shares.get(part.query_word, 0.0) + part.part
        return shares

    def missing(self) -> tuple[str, ...]:
        """Return the words of the query that no field has, the heaviest first."""
        whole = "\n".join(self._fields[name] for name in FIELDS)
        if isinstance(self._weights, Stemmed):
            present = {stem for _, stem in stems_of(whole)}
        else:
            view = next(iter(self._searcher.fitted.document_views.values()))
            present = set(tokenize(whole, view.language))
        heaviest = sorted(self._weights, key=lambda word: -self._weights[word])
        return tuple(word for word in heaviest if word not in present)

    def change(self, others: Float64) -> Change | None:
        """Return the smallest change by which at most k - 1 of some scores are as high, or None."""
        queries = self._searcher.embed(self._searcher.queries([self._query]), "query")
        for size in range(1, MOST_WORDS + 1):
            proposed = list(self._proposed(size))
            if not proposed:
                continue
            texts = self._read([_with(self._fields, field, words) for field, words in proposed])
            found = self._scores(queries, texts)
            ranks = 1 + (others[:, None] >= found[None, :]).sum(axis=0)
            for field in _CHANGED:
                best = max(
                    (n for n, (name, _) in enumerate(proposed) if name == field),
                    key=lambda n: float(found[n]),
                )
                if found[best] > -np.inf and ranks[best] <= self._k:
                    words = proposed[best][1]
                    return Change(field, words, int(ranks[best]), float(found[best]))
        return None

    def _scores(self, queries: Vectors, texts: Texts) -> Float64:
        """Return the scores of some documents, -inf where nothing is shared."""
        vectors = self._searcher.embed(texts, "document")
        best = Ranked(texts.ids, texts.titles, vectors, exactly(vectors)).best(queries, len(texts))
        scores = np.full(len(texts), -np.inf)
        for row, score in best[0]:
            scores[row] = score
        return scores

    def _proposed(self, size: int) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield fields and words to add: some of the query's, but never all, and related ones."""
        own = dict.fromkeys(tokenize(self._query, self._language()))
        weighed = self._weights
        heavy = sorted(own, key=lambda word: -weighed.get(word, 0.0))[:_OF_QUERY]
        related = self._related() if size == 1 else self._related()[:2]
        for words in combinations([*heavy, *related], size):
            if not set(own) <= set(words):
                for field in _CHANGED:
                    yield field, words

    def _language(self) -> str:
        view = next(iter(self._searcher.fitted.query_views.values()))
        return spoken(view.language)

    def _related(self) -> list[str]:
        try:
            near = neighbours(self._searcher.fitted, self._query, _RELATED)
        except BadInput:  # the model relates no words
            return []
        least = by_chance(self._searcher.fitted)
        return [one.word for one in near if one.score > least]


def _with(fields: Mapping[str, str], field: str, words: Sequence[str]) -> dict[str, str]:
    """Return fields of which one has a further line of some words."""
    return {**fields, field: f"{fields[field]}\n{' '.join(words)}".lstrip("\n")}
