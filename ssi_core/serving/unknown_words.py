"""Words of a query that a model does not know, and known words that are spelled like them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

import polars as pl

from ssi_core.text.tokenizer import spoken, tokenize
from ssi_core.types import View
from ssi_core.views.text_view import TextView

_SHORTEST, _OTHER_LETTERS, _ALIKE = 4, 2, 0.8
_COMPARED = 5_000


def unknown_words(text: str, views: Mapping[str, View]) -> list[str]:
    """Return the words of a query that no view of a model knows.

    Views of other columns than words, such as hashed ones, tell of none.

    Parameters
    ----------
    text : str
        The query.
    views : mapping of View
        Views that the model reads queries in.
    """
    plain = views_of_words(views)
    if not plain or len(plain) < len(views):
        return []
    unknown = [_unknown(text, view) for view in plain]
    return [word for word in dict.fromkeys(unknown[0]) if all(word in one for one in unknown)]


def spelled_like(words: Sequence[str], views: Mapping[str, View]) -> dict[str, str | None]:
    """Return each word with the known one that is spelled most like it; None where none is near."""
    known = views_of_words(views)[0].vocabulary.series if words else pl.Series()
    return {word: _near(word, known) for word in words}


def views_of_words(views: Mapping[str, View]) -> list[TextView]:
    """Return the views whose columns are words."""
    return [view for view in views.values() if isinstance(view, TextView)]


def _unknown(text: str, view: TextView) -> list[str]:
    columns, _ = next(view.in_order([text.encode(errors="replace")]))
    # Of stems people are told the words that they have typed.
    words = tokenize(text, spoken(view.language))
    return [word for word, column in zip(words, columns.tolist(), strict=True) if column < 0]


def _near(word: str, known: pl.Series) -> str | None:
    if len(word) < _SHORTEST:
        return None
    lengths = known.str.len_chars().cast(pl.Int64)
    alike = known.str.starts_with(word[0]) & ((lengths - len(word)).abs() <= _OTHER_LETTERS)
    near = get_close_matches(word, known.filter(alike).head(_COMPARED).to_list(), 1, _ALIKE)
    return near[0] if near else None
