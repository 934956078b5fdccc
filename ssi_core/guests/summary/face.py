"""Summaries in Python: concepts of a wiki, and the sentences of texts that answer a query."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ssi_core.face import progress
from ssi_core.face.documents import Documents, read
from ssi_core.face.frames import Texts
from ssi_core.guests.summary.concepts import ConceptBase
from ssi_core.guests.summary.relatedness import relatedness
from ssi_core.guests.summary.summariser import Summariser, sentences_of, summariser_of
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput


class Concepts:
    """Pages of a wiki as concepts: what they are called, and how related they are.

    Attributes
    ----------
    base : ConceptBase
        Titles, phrases, links.

    Examples
    --------
    >>> import ssi_core as ssi
    >>> texts = ["Car", "Engine", "A car has an engine.", "The engine of a car."]
    >>> names = ["Car", "Engine", "Road", "Traffic"]
    >>> frame = {"id": list("0123"), "title": names, "text": texts}
    >>> docs = ssi.read(frame, links=[("2", "0"), ("2", "1"), ("3", "0"), ("3", "1")])
    >>> concepts = ssi.Concepts.of(docs)
    >>> concepts.find("An old car stood there.")
    ['Car']
    >>> concepts.related("Car", "Engine")
    1.0
    """

    def __init__(self, base: ConceptBase) -> None:
        self.base = base

    @classmethod
    def of(cls, documents: Documents | Texts) -> Concepts:
        """Make the concepts of documents with links.

        Parameters
        ----------
        documents : Documents
            What `read` returned, or what it takes.

        Raises
        ------
        BadInput
            There are no links, several languages, or no text has the title of a page it links to.
        """
        docs = documents if isinstance(documents, Documents) else read(documents)
        with progress.shown("concepts") as on_progress:
            return cls(ConceptBase.of(docs.path, on_progress))

    def find(self, text: str, least: float = Summariser.keyphrase) -> list[str]:
        """Return the titles of the concepts that a text names, in its order, each once.

        Parameters
        ----------
        text : str
            Any text.
        least : float, optional
            Keyphrase probability that a phrase must have.
        """
        words = tokenize(text, self.base.language)
        return [self.base.titles[row] for row in self.base.wikify(words, least)]

    def related(self, one: str, other: str) -> float:
        """Return how related two concepts are by the pages that link to both (WLM): 0 to 1.

        Parameters
        ----------
        one, other : str
            Titles.

        Raises
        ------
        BadInput
            No concept has such a title.
        """
        rows = []
        for title in (one, other):
            if title not in self.base.titles:
                raise BadInput(f"no concept {title!r}. Titles are compared letter by letter.")
            rows.append(self.base.titles.index(title))
        if rows[0] == rows[1]:
            return 1.0
        matrix = relatedness(self.base.links_in, np.array(rows, np.int64), 0.0)
        return float(matrix[0, 1])

    def save(self, directory: str | Path) -> None:
        """Write the concepts to a directory, which ``--concepts`` takes.

        Parameters
        ----------
        directory : str or Path
            Directory to write; concepts that are there are replaced.
        """
        self.base.save(directory)

    @classmethod
    def load(cls, directory: str | Path) -> Concepts:
        """Read concepts that ``save`` or ``ssi rank summary concepts`` has written.

        Parameters
        ----------
        directory : str or Path
            Directory of the concepts.
        """
        return cls(ConceptBase.load(directory))

    def __repr__(self) -> str:
        return f"Concepts: {len(self.base.titles):,} pages, {len(self.base.phrases):,} phrases"


def summarise(
    query: str,
    texts: str | Sequence[str],
    words: int = 100,
    *,
    concepts: Concepts | None = None,
    language: str = "en",
    **settings: Any,
) -> list[str]:
    """Return the sentences of texts that answer a query, in the order of the texts.

    Parameters
    ----------
    query : str
        What is asked.
    texts : str, or sequence of str
        Plain texts; an empty line ends a sentence.
    words : int, optional
        Words of the summary at most, unless its only sentence has more.
    concepts : Concepts, optional
        Concepts that sentences and query may share.
    language : str, optional
        Code of the language of the texts.
    **settings
        ``weighting`` ("bm25", "tfidf" or "graph"), ``similarity`` ("word", "concept" or "matrix"),
        ``k1``, ``b``, ``alpha``, ``bias``, ``redundancy``, ``confidence``, ``keyphrase``,
        ``shortest``.

    Raises
    ------
    BadInput
        There is no such setting, or the similarity needs concepts.
    ValueError
        A setting is out of its bounds.

    Examples
    --------
    >>> import ssi_core as ssi
    >>> text = "The ship had two engines. It sank in a storm near the cape. Nobody knows the cook."
    >>> ssi.summarise("why did it sink in the storm", text, words=9)
    ['It sank in a storm near the cape.']
    """
    base = None if concepts is None else concepts.base
    summariser = summariser_of(base, settings)
    given = [texts] if isinstance(texts, str) else list(texts)
    listed = sentences_of(given, language, summariser.shortest)
    chosen, _ = summariser.answer(listed, query, words, language, base)
    return [listed[position].text for position in chosen]
