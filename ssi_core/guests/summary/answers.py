"""The summary of what a search has found: sentences of its documents that answer the query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ssi_core.guests.summary.concepts import ConceptBase
from ssi_core.guests.summary.summariser import Sentence, sentences_of, summariser_of
from ssi_core.serving.query_words import weights
from ssi_core.serving.ranked import Hit
from ssi_core.serving.searcher import Answer, Searcher
from ssi_core.serving.snippets import snippet
from ssi_core.serving.summaries import MOST_WORDS, Quoted, Summary
from ssi_core.text.tokenizer import spoken
from ssi_core.types import BadInput, Float64

DOCUMENTS = 5
"""Documents of an answer, the first ones, of which a summary is made."""
NO_TEXTS = "the index keeps no texts of these documents (ssi data index --with-texts)"


def summarised(
    searcher: Searcher,
    query: str,
    answer: Answer,
    words: int,
    *,
    concepts: Any = None,
    language: str | None = None,
    **settings: Any,
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
    concepts : ConceptBase, Concepts or Path, optional
        Concepts that sentences and query may share, or their directory.
    language : str, optional
        Of the query, as in `Searcher.search`.
    **settings
        Fields of `Summariser`; by default sentences are chosen by BM25, and by a walk over related
        concepts where there are any.

    Raises
    ------
    BadInput
        The number of words is out of its bounds, the concepts are those of another language, or
        there is no such setting.
    """
    if not 1 <= words <= MOST_WORDS:
        raise BadInput(f"a summary of {words} words: ask for 1 to {MOST_WORDS}.")
    base = base_of(concepts)
    summariser = summariser_of(base, settings)
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


def base_of(concepts: Any) -> ConceptBase | None:
    """Return the base of concepts, which may be held by `Concepts` or lie in a directory."""
    if isinstance(concepts, str | Path):
        return ConceptBase.load(Path(concepts))
    base: ConceptBase | None = getattr(concepts, "base", concepts)
    return base


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
    for position, hit in enumerate(hits):
        positions = np.flatnonzero(documents == position)
        if len(positions):
            best = snippet(listed[int(positions[np.argmax(scores[positions])])].text, words)
            hit = replace(hit, snippet=best.text, marks=best.marks)
        shown.append(hit)
    return shown
