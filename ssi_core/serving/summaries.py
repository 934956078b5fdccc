"""Summaries of what a search has found: sentences of its documents that answer the query.

Who makes them is a guest; a registry has it by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from ssi_core.registry import Registry
from ssi_core.serving.searcher import Answer, Searcher
from ssi_core.types import BadInput

MOST_WORDS = 1000
"""Words of the longest summary."""


@dataclass(frozen=True)
class Quoted:
    """A sentence of a summary, and the document that it is from.

    Attributes
    ----------
    id, title : str
        Id and title of the document.
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
        Each with the document it is from.
    reason : str or None
        Why there is none; None where there is one.
    """

    sentences: tuple[Quoted, ...]
    reason: str | None = None

    @property
    def text(self) -> str:
        """Return the sentences as one text."""
        return " ".join(one.text for one in self.sentences)


class Summarise(Protocol):
    """Function that summarises an answer.

    It returns the summary, and the answer with the best sentences as its snippets. ``concepts`` are
    those that sentences and query may share, or their directory.
    """

    def __call__(
        self,
        searcher: Searcher,
        query: str,
        answer: Answer,
        words: int,
        *,
        concepts: Any = None,
        language: str | None = None,
        **settings: Any,
    ) -> tuple[Summary, Answer]:
        """Summarise an answer in so many words."""
        ...


SUMMARIES: Registry[Summarise] = Registry("summaries", {})


def summarise(name: str = "sentences") -> Summarise:
    """Return the function of a name.

    Raises
    ------
    BadInput
        Nothing of that name is installed.
    """
    if name not in SUMMARIES:
        raise BadInput(
            f"summaries by {name!r} are unknown; known are: {', '.join(SUMMARIES) or 'none'}."
        )
    return SUMMARIES[name]
