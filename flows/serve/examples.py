"""Queries to begin with, for somebody who does not know the documents."""

from __future__ import annotations

import re

import numpy as np

from ssi_core.serving.query_words import known
from ssi_core.serving.searcher import Searcher

_LOOKED_AT = 200
_LONGEST, _WORDS = 30, 3
_WHICH = re.compile(r"\s*\([^()]*\)$")


def examples(searcher: Searcher, count: int = 6) -> list[str]:
    """Return titles of documents that many links in different words lead to, the most first.

    They are chosen among documents spread evenly over the index, and the same each time. Titles
    that are long, or of which the model knows no word, are left out, and so is what stands in
    brackets at the end of one.

    Parameters
    ----------
    searcher : Searcher
        Searcher of an index.
    count : int
        Titles at most.
    """
    index = searcher.index
    rows = np.linspace(0, len(index) - 1, min(len(index), _LOOKED_AT)).astype(int).tolist()
    wordings: dict[str, int] = {}
    for row in rows:
        title = _WHICH.sub("", index.titles[row]).strip()
        if 0 < len(title) <= _LONGEST and len(title.split()) <= _WORDS:
            anchors = "" if index.passages is None else index.passages[row].anchors
            wordings.setdefault(title, len(anchors.split("\n")))
    titles = sorted(wordings, key=lambda title: -wordings[title])
    readable = known(searcher.queries(titles))
    return [title for title, is_known in zip(titles, readable, strict=True) if is_known][:count]
