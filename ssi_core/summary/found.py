"""The summary of what a search has found: sentences of its documents that answer the query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ssi_core.serving.ranked import Hit
from ssi_core.serving.searcher import Answer, Searcher, weights
from ssi_core.serving.snippets import snippet
from ssi_core.summary.concepts import ConceptBase
from ssi_core.summary.summariser import Sentence, Summariser, sentences_of, summariser_for
from ssi_core.text.tokenizer import spoken
from ssi_core.types import BadInput, Float64

DOCUMENTS = 5
"""Documents of an answer, the first ones, of which a summary is made."""
MOST_WORDS = 1000
"""Words of the longest summary."""

NO_TEXTS = "the index keeps no texts of these documents (ssi index --texts)"


@dataclass(frozen=True)
class Quoted:
    """A sentence of a summary, and the document that it is from.

    Attributes
    ----------
    id, title : str
        Of the document.
    url : str or None
        Its address; None: nobody knows.
    text : str
        The sentence.
    score : float
        By which it was chosen.
    marks : tuple of tuple of int
        Start and end, in characters, of each word of the query in it.
    """

    id: str
    title: str
    url: str | None
    text: str
    score: float
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Summary:
    """Sentences that answer a query, in the order of the documents and of their texts.

    Attributes
    ----------
    sentences : tuple of Quoted
        The sentences.
    reason : str or None
        Why there is none; None where there is one.
    """

    sentences: tuple[Quoted, ...]
    reason: str | None = None

    @property
    def text(self) -> str:
        """Return the sentences as one text."""
        return " ".join(one.text for one in self.sentences)


def summarised(
    searcher: Searcher,
    query: str,
    answer: Answer,
    words: int,
    *,
    summariser: Summariser | None = None,
    base: ConceptBase | None = None,
    language: str | None = None,
) -> tuple[Summary, Answer]:
    """Return the summary of an answer, and the answer with the best sentences as its snippets.

    The sentences are those of the first `DOCUMENTS` documents. The summary has ``words`` words at
    most, unless its only sentence has more. A document whose text is not kept keeps its snippet.

    Parameters
    ----------
    searcher : Searcher
        What has found the documents.
    query : str
        What was asked.
    answer : Answer
        What was found.
    words : int
        Words of the summary, from 1 to `MOST_WORDS`.
    summariser : Summariser, optional
        How sentences are chosen; by default by BM25, and by a walk over related concepts where
        there are any.
    base : ConceptBase, optional
        Concepts.
    language : str, optional
        Of the query, as in `Searcher.search`.

    Raises
    ------
    BadInput
        The number of words is out of its bounds, or the concepts are those of another language.
    """
    if not 1 <= words <= MOST_WORDS:
        raise BadInput(f"a summary of {words} words: ask for 1 to {MOST_WORDS}.")
    if summariser is None:
        summariser = summariser_for(base)
    hits = answer.hits[:DOCUMENTS]
    of_documents = spoken(next(iter(searcher.fitted.document_views.values())).language)
    texts = searcher.texts_of([hit.id for hit in hits])
    listed = sentences_of(texts, of_documents, summariser.shortest)
    if not listed:
        return Summary((), NO_TEXTS if hits else answer.reason), answer
    chosen, scores = summariser.answer(listed, query, words, of_documents, base)
    view = next(iter(searcher.views(searcher.side_of(language)).values()))
    marked = weights(query, view)
    quoted = tuple(_quoted(listed[n], float(scores[n]), hits, marked) for n in chosen)
    shown = _with_best(hits, listed, scores, marked)
    return Summary(quoted), replace(answer, hits=(*shown, *answer.hits[DOCUMENTS:]))


def _quoted(
    sentence: Sentence, score: float, hits: tuple[Hit, ...], words: Mapping[str, float]
) -> Quoted:
    hit = hits[sentence.document]
    # Wide enough to show all of it.
    marks = snippet(sentence.text, words, 4 * len(sentence.text) + 4).marks
    return Quoted(hit.id, hit.title, hit.url, sentence.text, score, marks)


def _with_best(
    hits: tuple[Hit, ...], listed: list[Sentence], scores: Float64, words: Mapping[str, float]
) -> list[Hit]:
    """Return hits that show the best sentence of each document."""
    documents = np.array([one.document for one in listed])
    shown = []
    for place, hit in enumerate(hits):
        places = np.flatnonzero(documents == place)
        if len(places):
            best = snippet(listed[int(places[np.argmax(scores[places])])].text, words)
            hit = replace(hit, snippet=best.text, marks=best.marks)
        shown.append(hit)
    return shown
