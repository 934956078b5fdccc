"""Pages of a site by the ways in which a link may write them, as generators of sites settle them.

A link leads to the page at its path, with or without the suffix, or to the index of a folder; where
no page is there, in this order: by the path in other letter case, without the numbers before names
(``01-intro.md`` is ``intro``), by an alias of a page, from the root of the site (and without the
first folder of a path from there: sites lie below a prefix), and by its name alone. ``xref:`` names
a page by its ``uid``, or by its folder and name with a point between them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

SUFFIXES = (".md", ".mdx", ".markdown", ".html", ".htm", ".xhtml", ".txt")
"""Suffixes that a page, and a link to it, may have."""

_INDEX = ("index", "readme", "_index")
"""Pages that stand for their folder."""
_NUMBER = re.compile(r"^\d+\s*[-_.]+\s*(?=[^-_.\s])")
_INNER = ("about",)
"""Folders that a name of a page leaves out."""

OTHER_SITE, WITHIN, NO_PAGE, MALFORMED = (
    "to_another_site",
    "within_the_page",
    "to_no_page",
    "malformed",
)


class Site:
    """Pages by their paths in a folder.

    Parameters
    ----------
    pages : sequence of str
        Paths, with / between their parts; of equal ways the first page counts.
    """

    def __init__(self, pages: Sequence[str]) -> None:
        self._pages: dict[str, str] = {}
        self._lower: dict[str, str] = {}
        self._unnumbered: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._uids: dict[str, str] = {}
        # The page itself comes before one that only shares its stem.
        for ways in (_itself, _stem, _folder):
            for page in pages:
                for way in ways(PurePosixPath(page)):
                    self._pages.setdefault(way, page)
        for way, page in self._pages.items():
            self._lower.setdefault(way.lower(), page)
            self._unnumbered.setdefault(_without_numbers(way).lower(), page)
        for page in pages:
            path = PurePosixPath(page)
            stem = _without_numbers(path.stem).lower()
            self._names.setdefault(path.stem.lower(), page)
            self._names.setdefault(stem, page)
            parents = [parent.name.lower() for parent in path.parents][:2]
            for parent in parents[: 2 if parents and parents[0] in _INNER else 1]:
                self._uids.setdefault(f"{parent}.{stem}", page)

    def add(self, page: str, aliases: Sequence[str], uid: str = "") -> None:
        """Give a page further paths, from the root or from its folder, and a name for xref."""
        for alias in aliases:
            path = unquote(urlsplit(alias).path)
            self._aliases.setdefault(_normal(_address(page, path)).lower(), page)
        if uid:
            self._uids[uid.lower()] = page

    def find(self, source: str, href: str) -> tuple[str, str | None]:
        """Return why a link leads to no page, or the page.

        Parameters
        ----------
        source : str
            Page with the link.
        href : str
            Target as it is written.
        """
        try:
            url = urlsplit(href.strip())
        except ValueError:
            return MALFORMED, None
        if url.scheme == "xref":
            page = self._uids.get(unquote(url.path).lower())
            return (NO_PAGE if page else OTHER_SITE), page
        if url.scheme or url.netloc:
            return OTHER_SITE, None
        path = unquote(url.path)
        if not path:
            return WITHIN, None
        target = _address(source, path)
        page = self._at(target)
        if page is None and path.startswith("/") and target.count("/"):
            page = self._pages.get(target.partition("/")[2])
        if page is None and "/" not in path:
            page = self._names.get(PurePosixPath(path).stem.lower())
        return NO_PAGE, page

    def _at(self, path: str) -> str | None:
        normal = _normal(path)
        return (
            self._pages.get(path)
            or self._lower.get(path.lower())
            or self._unnumbered.get(_without_numbers(path).lower())
            or self._aliases.get(normal.lower())
        )


def _address(source: str, path: str) -> str:
    """Return the path from the root of the site, of one that may be from a page's folder."""
    base = "" if path.startswith("/") else posixpath.dirname(source)
    return posixpath.normpath(posixpath.join(base, path.lstrip("/") or "."))


def _normal(address: str) -> str:
    """Return a path without a suffix of a page, and without the index of a folder."""
    path = PurePosixPath(address)
    if path.suffix.lower() in SUFFIXES:
        path = path.with_suffix("")
    return str(path.parent if path.name.lower() in _INDEX else path)


def _without_numbers(path: str) -> str:
    return "/".join(_NUMBER.sub("", part) for part in path.split("/"))


def _itself(page: PurePosixPath) -> list[str]:
    return [str(page)]


def _stem(page: PurePosixPath) -> Iterator[str]:
    """A generated site has a.html, or a/, where its source has a.md."""
    stem = str(page.with_suffix(""))
    yield stem
    yield from (f"{stem}{suffix}" for suffix in SUFFIXES)


def _folder(page: PurePosixPath) -> Iterator[str]:
    if page.stem.lower() in _INDEX:
        yield str(page.parent)
        yield from (str(page.parent / f"index{suffix}") for suffix in SUFFIXES)
