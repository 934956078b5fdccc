"""Words of a query: what each weighs, and what those are read as that a model does not know.

Who types "cafe" means "café" where no text has the word without its accent, and the other way
round. A word that the model knows is never read as another.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ssi_core.text.occurrences import Stemmed
from ssi_core.text.tokenizer import spoken, tokenize
from ssi_core.types import Texts, View
from ssi_core.views.text_view import TextView

_SHORTEST, _OTHER_LETTERS, _ALIKE = 4, 2, 0.8
_COMPARED = 5_000
_ACCENTED = "[\u00c0-\u052f\u1e00-\u1fff]"
"""Letters of the Latin, Greek and Cyrillic scripts that may have an accent."""
_ACCENTS = re.compile("[\u0300-\u036f]")
_LETTERS = str.maketrans(
    {"ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "þ": "th", "ı": "i"}
)
_WORD = re.compile(r"\w+")
_plain_words: WeakKeyDictionary[TextView, Mapping[str, str]] = WeakKeyDictionary()


def weights(text: str, view: View) -> dict[str, float]:
    """Return the words of a text with the weights that a view gives them.

    A word that the view does not know is as heavy as its heaviest one; of a view that is no plain
    one of words all are alike.
    """
    words = tokenize(text, view.language)
    kind = dict[str, float] if spoken(view.language) == view.language else Stemmed
    if not isinstance(view, TextView) or not words:
        return kind(dict.fromkeys(words, 1.0))
    columns, _ = next(view.in_order([text.encode(errors="replace")]))
    idf = view.idf[columns]
    if (unknown := columns < 0).any():
        idf[unknown] = view.idf.max()
    return kind(zip(words, idf.tolist(), strict=True))


def known(queries: Texts) -> NDArray[np.bool_]:
    """Tell the queries with a word that weighs something in some view: bool (n,)."""
    has_words = np.zeros(len(queries), np.bool_)
    for matrix in map(queries.matrix, queries.views):
        rows = np.repeat(np.arange(len(queries)), np.diff(matrix.indptr))
        has_words[rows[matrix.data != 0]] = True
    return has_words


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
    plain = _views_of_words(views)
    if not plain or len(plain) < len(views):
        return []
    unknown = [_unknown(text, view) for view in plain]
    return [word for word in dict.fromkeys(unknown[0]) if all(word in one for one in unknown)]


def spelled_like(words: Sequence[str], views: Mapping[str, View]) -> dict[str, str | None]:
    """Return each word with the known one that is spelled most like it; None where none is near."""
    known = _views_of_words(views)[0].vocabulary.series if words else pl.Series()
    return {word: _near(word, known) for word in words}


def without_accents(word: str) -> str:
    """Return a word in lower case without its accents.

    >>> without_accents("café"), without_accents("straße"), without_accents("ガ")
    ('cafe', 'strasse', 'ガ')
    """
    if word.isascii():
        return word
    apart = unicodedata.normalize("NFKD", word.translate(_LETTERS))
    return unicodedata.normalize("NFKC", _ACCENTS.sub("", apart))


def known_spellings(text: str, views: Mapping[str, View]) -> dict[str, str]:
    """Return the words of a query that no view knows, each with the known one of its letters.

    Words that no known one is spelled like, accents aside, are left out.
    """
    plain = _views_of_words(views)
    if not plain or len(plain) < len(views):
        return {}
    view, near = plain[0], dict[str, str]()
    accented = _accented(view)
    if text.isascii() and not accented:
        return {}
    words, stems = tokenize(text, spoken(view.language)), tokenize(text, view.language)
    for word, stem in dict(zip(words, stems, strict=True)).items():
        letters = without_accents(stem)
        known = accented.get(letters, letters)
        if known != stem and _knows(view, known):
            near[word] = known
    unknown = unknown_words(text, views) if near else ()
    return {word: near[word] for word in unknown if word in near}


def meant(text: str, words: Sequence[str], views: Mapping[str, View]) -> dict[str, str | None]:
    """Return the unknown words of a query, each with what it is read as, or may have meant."""
    return spelled_like(words, views) | known_spellings(text, views)


def with_accents(text: str, views: Mapping[str, View]) -> str:
    """Return a query in which unknown words are spelled as the views know them."""
    spellings = known_spellings(text, views)
    if not spellings:
        return text
    language = spoken(_views_of_words(views)[0].language)

    def spelled(found: re.Match[str]) -> str:
        words = tokenize(found[0], language)
        if spellings.keys().isdisjoint(words):
            return found[0]
        return " ".join(spellings.get(word, word) for word in words)

    return _WORD.sub(spelled, unicodedata.normalize("NFKC", text))


def _views_of_words(views: Mapping[str, View]) -> list[TextView]:
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


def _accented(view: TextView) -> Mapping[str, str]:
    """Return the accented words of a view by their letters; of several the most frequent."""
    known = _plain_words.get(view)
    if known is None:
        words = view.vocabulary.series
        accented = words.filter(words.str.contains(_ACCENTED)).to_list()
        known = {without_accents(word): word for word in reversed(accented)}
        _plain_words[view] = known
    return known


def _knows(view: TextView, word: str) -> bool:
    columns, _ = next(view.in_order([word.encode()]))
    return len(columns) == 1 and bool(columns[0] >= 0)
