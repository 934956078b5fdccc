"""The page that ads are to be found for: its text, wherever that is.

Ads are found as documents are: by a `Searcher`, and new ones by a `LiveSearcher`.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from ssi_core import files
from ssi_core.collection import Collection, open_collection
from ssi_core.types import BadInput


def page_text(page: str, pages: Path | None) -> str:
    """Return the text of a page: a file, or the title or id of a query of a collection.

    Parameters
    ----------
    page : str
        Path of a text file; else a title or an id.
    pages : Path or None
        Directory of a collection, to look the title up in.

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
    text = _look_up(open_collection(pages), page)
    if text is None:
        raise BadInput(
            f"{pages}: no page has the title or id {page!r}. Titles are compared letter by letter."
        )
    return text


def _look_up(collection: Collection, page: str) -> str | None:
    for part in collection.parts(collection.table_of("queries")):
        texts = files.read_strings([part], "id", "title", "text")
        for column in ("id", "title"):
            matches = texts.filter(pl.col(column) == page)
            if len(matches):
                return str(matches["text"][0])
    return None
