"""Words of a query: those that weigh something, and what each weighs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ssi_core.text.occurrences import Stemmed
from ssi_core.text.tokenizer import spoken, tokenize
from ssi_core.types import Texts, View
from ssi_core.views.text_view import TextView


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
