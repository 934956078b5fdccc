"""Why a search finds nothing, and what whoever asked can do."""

from __future__ import annotations

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
