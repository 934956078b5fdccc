"""Ads for pages: those of an index, whose vectors are kept, and new ones, matched at once.

A new ad is read through the model's own words; nothing is trained again, and the index stays as it
is. What the index has of an ad with the id of a new one is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from ssi_core import files
from ssi_core.evaluation.scorer import Scorer
from ssi_core.serving.ranked import Hit
from ssi_core.serving.searcher import NOTHING_KNOWN, Answer, Searcher
from ssi_core.types import BadInput, Texts


@dataclass(frozen=True)
class NewAds:
    """Ads that the index does not have: ids, titles and texts, row by row."""

    ids: Sequence[str]
    titles: Sequence[str]
    texts: Sequence[str]


class Matcher:
    """Rank the ads of a searcher's index, and new ones, for pages."""

    def __init__(self, searcher: Searcher) -> None:
        self.searcher = searcher
        self._ads = NewAds((), (), ())
        self._scorer: Scorer | None = None

    def add(self, ads: NewAds) -> None:
        """Take new ads in the place of those that were added before."""
        self._ads = ads
        if not len(ads.ids):
            self._scorer = None
            return
        views = self.searcher.fitted.document_views
        matrices = {name: view.transform(ads.texts) for name, view in views.items()}
        texts = Texts(pl.Series("id", ads.ids), pl.Series("title", ads.titles), matrices, views)
        self._scorer = Scorer(self.searcher.fitted.embed_documents(texts))

    def match(self, pages: Sequence[str], k: int = 10) -> list[Answer]:
        """Return the k best ads of each page, best first; see `Searcher.search`.

        Raises
        ------
        ValueError
            ``k`` is not positive.
        """
        replaced = set(self._ads.ids)
        found = self.searcher.search(pages, k + len(replaced))
        if self._scorer is None:
            return found
        vectors = self.searcher.fitted.embed_queries(self.searcher.queries(pages))
        scores = self._scorer.score(vectors)
        if vectors.dense is None:
            scores[scores == 0] = -np.inf
        return [
            self._joined(answer, scores[page], replaced, k) for page, answer in enumerate(found)
        ]

    def _joined(
        self, answer: Answer, scores: np.ndarray[tuple[int], np.dtype[np.float32]],
        replaced: set[str], k: int,
    ) -> Answer:  # fmt: skip
        if answer.reason == NOTHING_KNOWN:
            return answer
        new = [
            Hit(self._ads.ids[ad], self._ads.titles[ad], float(scores[ad]))
            for ad in np.flatnonzero(np.isfinite(scores)).tolist()
        ]
        hits = [hit for hit in answer.hits if hit.id not in replaced] + new
        best = tuple(sorted(hits, key=lambda hit: -hit.score)[:k])
        return Answer(best, None if best else answer.reason)


def page_text(page: str, pages: Path | None) -> str:
    """Return the text of a page: a file, or the title or id of a document of a corpus.

    Parameters
    ----------
    page : path of a text file; else a title or an id
    pages : corpus directory, or a directory of clicks, to look the title up in

    Raises
    ------
    BadInput
        There is neither such a file nor such a document, or the file is no UTF-8.
    """
    path = Path(page)
    with files.reading(path, "Check the path, or give a title."):
        is_file = len(page) < 4096 and "\n" not in page and path.is_file()
        if is_file:
            return path.read_text(encoding="utf-8")
    if pages is None:
        raise BadInput(
            f"{page!r} is no file. Give the text of a page in a file or on standard input (-), or "
            "the title of a page and the corpus that has it (--pages)."
        )
    corpus = pages / "pages" if (pages / "pages").is_dir() else pages
    found = _look_up(corpus, page)
    if found is None:
        raise BadInput(
            f"{corpus}: no page has the title or id {page!r}. Titles are compared letter by letter."
        )
    return found


def _look_up(corpus: Path, page: str) -> str | None:
    for part in sorted((corpus / "documents").glob("part-*.parquet")):
        texts = files.read_strings([part], "id", "title", "text")
        for column in ("id", "title"):
            own = texts.filter(pl.col(column) == page)
            if len(own):
                return str(own["text"][0])
    return None
