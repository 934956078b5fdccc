"""Why a search finds nothing, or no such document, and what whoever asked can do."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

import polars as pl

NOTHING_KNOWN = (
    "none of the query's words is one that the model knows (or all of them are in every document)"
)
NO_DOCUMENT = "no document of the index has a word of the query"

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


_LOOKED_AT, _NAMED = 1000, 5


def no_document(name: str, titles: Sequence[pl.Series]) -> str:
    """Return what a person is told who names a document that is not there, with titles near it.

    >>> no_document("automobil", [pl.Series(["Automobile", "Moon"])])
    "no document has the title or id 'automobil'. Titles near it: 'Automobile'."
    """
    close = [title for series in titles for title in _near(name, series)]
    close.sort(key=lambda title: -_likeness(name, title))
    if close:
        named = ", ".join(map(repr, dict.fromkeys(close[:_NAMED])))
        hint = f"Titles near it: {named}."
    else:
        hint = "A search lists titles (ssi search MODEL TEXT); they are compared letter by letter."
    return f"no document has the title or id {name!r}. {hint}"


def _near(name: str, titles: pl.Series) -> list[str]:
    """Return titles that begin as a name does, or have a word of it; those of its length first."""
    lower, wanted = titles.str.to_lowercase(), name.lower()
    parts = [part for part in (wanted, *wanted.split()) if len(part) > 2]
    is_near = lower.str.starts_with(wanted[:3]) if wanted else lower.is_null()
    for part in parts:
        is_near |= lower.str.contains(part, literal=True)
    near = titles.filter(is_near)
    lengths = (near.str.len_chars().cast(pl.Int64) - len(name)).abs()
    return near.gather(lengths.arg_sort().head(_LOOKED_AT)).to_list()


def _likeness(name: str, title: str) -> float:
    return SequenceMatcher(None, name.lower(), title.lower()).ratio()
