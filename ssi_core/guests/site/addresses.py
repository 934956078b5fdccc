"""Addresses of a site's pages, as its generator writes them."""

from __future__ import annotations

from pathlib import PurePath, PurePosixPath
from typing import Literal, get_args
from urllib.parse import quote

Addresses = Literal["html", "folders", "bare", "files"]
STYLES: tuple[Addresses, ...] = get_args(Addresses)
"""Of ``guide/intro.md``: ``guide/intro.html``, ``guide/intro/``, ``guide/intro``, and the path."""
_INDEX = ("index", "readme", "_index")


def address_of(page: str, url: str | None, style: str) -> str:
    """Return the address of a page, relative to the root of the site.

    A page of Markdown has the address that its front matter gives it, or one by the style; any
    other file that of its path.

    Parameters
    ----------
    page : str
        Path in the folder.
    url : str or None
        Address that the page was read with.
    style : str
        One of `STYLES`.

    >>> address_of("guide/intro.md", None, "html"), address_of("guide/index.md", None, "folders")
    ('guide/intro.html', 'guide/')
    >>> address_of("a b.html", "https://example.org/a", "html")
    'a%20b.html'
    """
    from ssi_core.corpus.web.folder import MARKDOWN  # which loads much, and a help nothing
    from ssi_core.corpus.web.unlisted import HTML

    path = PurePosixPath(page)
    suffix = path.suffix.lower()
    if suffix in HTML:
        return quote(page)
    if url and url != quote(page):
        return url if "//" in url[:8] else url.lstrip("/")
    if suffix not in MARKDOWN or style == "files":
        return quote(page)
    if path.stem.lower() in _INDEX:
        folder = "" if path.parent == PurePosixPath() else f"{quote(str(path.parent))}/"
        return f"{folder}index.html" if style == "html" else folder
    end = {"html": ".html", "folders": "/", "bare": ""}[style]
    return quote(str(path.with_suffix(""))) + end


def root_of(folder: PurePath, out: PurePath) -> str:
    """Return the address of a folder of pages, relative to the directory of its search.

    >>> root_of(PurePath("site"), PurePath("site/assets/search"))
    '../../'
    >>> root_of(PurePath("docs"), PurePath("public/search"))
    '../'
    """
    depth = len(out.relative_to(folder).parts) if out.is_relative_to(folder) else 1
    return "../" * max(1, depth)
