"""Why a search finds nothing, or no such document, and what whoever asked can do."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

import polars as pl

from ssi_core.remedies import typed_call

NOTHING_KNOWN = (
    "the query has no word that the model knows (or its words are all in every document)"
)
NO_DOCUMENT = "no document of the index has a word of the query"
NO_OTHER = "no other document of the index has a word of this one"

_ADVICE = {
    NOTHING_KNOWN: "Check the spelling, or try other words; fit the model on texts that have them.",
    NO_DOCUMENT: "Try other words, or index documents that have these.",
}


def nothing_found(reason: str | None) -> str:
    """Return what a person is told where nothing was found: the reason, and what to do.

    >>> nothing_found(NO_DOCUMENT).partition(". ")[2]
    'Try other words, or index documents that have these.'
    """
    advice = _ADVICE.get(reason or "")
    return f"nothing found: {reason}" + (f". {advice}" if advice else "")


_LOOKED_AT, _NAMED, _ALIKE = 1000, 5, 0.5


def no_document(name: str, titles: Sequence[pl.Series]) -> str:
    """Return what a person is told who names a document that is not there, with titles near it.

    >>> no_document("automobil", [pl.Series(["Automobile", "Moon"])])
    "no document has the title or id 'automobil'. Titles near it: 'Automobile'."
    """
    likely = {title: _likeness(name, title) for series in titles for title in _some(name, series)}
    close = [title for title, likeness in likely.items() if likeness >= _ALIKE]
    close.sort(key=lambda title: -likely[title])
    if close:
        hint = f"Titles near it: {', '.join(map(repr, close[:_NAMED]))}."
    else:
        hint = (
            f"A search lists titles ({typed_call('search')}); they are compared letter by letter."
        )
    return f"no document has the title or id {name!r}. {hint}"


def _some(name: str, titles: pl.Series) -> list[str]:
    """Return titles that share a name's first letter, those of its length first."""
    lower, wanted = titles.str.to_lowercase(), name.lower()
    some = titles.filter(
        lower.str.starts_with(wanted[:1]) | lower.str.contains(wanted, literal=True)
    )
    lengths = (some.str.len_chars().cast(pl.Int64) - len(name)).abs()
    return some.gather(lengths.arg_sort().head(_LOOKED_AT)).to_list()


def _likeness(name: str, title: str) -> float:
    """Return the similarity of two names, 0..1; a part of a name counts as alike."""
    one, other = name.lower(), title.lower()
    likeness = SequenceMatcher(None, one, other).ratio()
    return max(likeness, _ALIKE) if one in other else likeness
