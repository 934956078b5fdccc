"""Farm Ads: the words of text ads and of the pages that they lead to.

Mesterharm and Pazzani (2011), Active learning using on-line algorithms. A line is a label and
words; those with the prefix ``ad-`` are of the ad, all others of its landing page, where
``title-`` and ``header-`` say where they stood. Here an ad is a query and its landing page the
answer; prefixes are taken off, so that one vocabulary serves both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ssi_core import collection
from ssi_core.collection import PartWriter
from ssi_core.corpus import inputs
from ssi_core.corpus.click_tables import CLICKS, IMPRESSIONS, write_clicks
from ssi_core.corpus.texts import id_of, write_texts
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.datasets.sources import FarmAds
    from ssi_core.store import Building

WORDS = "farm_ads_words.txt.gz"
_OF_PAGE = ("title-", "header-")


_RESTORE = "Restore the published file."


def sides_of(words: str) -> tuple[str, str]:
    """Return the words of the ad and those of the landing page, each word once.

    >>> sides_of("ad-cheap ad-hay title-hay hay sale")
    ('cheap hay', 'hay sale')
    """
    ad: dict[str, None] = {}
    page: dict[str, None] = {}
    for word in words.split():
        if word.startswith("ad-"):
            ad[word.removeprefix("ad-")] = None
        else:
            for prefix in _OF_PAGE:
                word = word.removeprefix(prefix)
            page[word] = None
    return " ".join(ad), " ".join(page)


def files_in(directory: Path) -> list[Path]:
    """Return the file that is read."""
    return [directory / WORDS]


def _lines(path: Path) -> Iterator[str]:
    for number, line in enumerate(inputs.text_lines(path, _RESTORE), 1):
        label, _, words = line.strip().partition(" ")
        if label not in ("1", "-1"):
            raise BadInput(
                f"{path}: line {number} begins with {label[:20]!r}, expected 1 or -1. {_RESTORE}"
            )
        yield words


def build(building: Building, source: FarmAds, progress: Progress | None) -> None:
    """Write a collection of clicks: queries are the ads, documents their landing pages.

    Ads of the same words are one query and pages of the same words one document, so that a pair is
    there once and on one side of a split.
    """
    (path,) = files_in(*source.paths)
    skipped: Counter[str] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    count = 0
    for words in _lines(path):
        count += 1
        ad, page = sides_of(words)
        if not ad or not page:
            skipped["line_without_ad" if not ad else "line_without_page"] += 1
        else:
            pairs[ad, page] += 1
    sides: dict[collection.Side, dict[str, None]] = {
        "queries": dict.fromkeys(ad for ad, _ in pairs),
        "documents": dict.fromkeys(page for _, page in pairs),
    }
    for side, texts in sides.items():
        frame = pl.DataFrame({"id": [id_of(text) for text in texts], "text": list(texts)})
        with collection.text_writer(building.path, side) as writer:
            write_texts(writer, frame.with_columns(title=pl.lit(None, pl.String)), "en")
        building.counts[side] = len(frame)
    rows = [(id_of(ad), id_of(page), n, n, float(n), None) for (ad, page), n in pairs.items()]
    names = {"query": pl.String(), "document": pl.String(), **CLICKS}
    table = pl.DataFrame(rows, schema=names, orient="row")
    write_clicks(building.path, table)
    with PartWriter(building.path / "impressions", IMPRESSIONS):
        pass
    building.counts.update(lines=count, pairs=len(table))
    skipped["line_repeated"] = pairs.total() - len(pairs)
    building.skipped.update(sorted(skipped.items()))
