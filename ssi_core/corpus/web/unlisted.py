"""Pages of a built site that a search should not find: their generator wrote them for programs.

These are pages that lead on to another at once, pages that ask search engines to leave them out
(unless most of a site do), the page of an address that does not exist, ``robots.txt``, licences
of scripts, the indexes and copies of sources that Sphinx writes beside its pages, search pages of
Sphinx and MkDocs, and the lists of posts and tags of Docusaurus and Hugo.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ssi_core.corpus import inputs

HTML = (".html", ".htm", ".xhtml")
_HEAD = 1 << 14
"""Bytes of a page in which its ``<meta>`` stand."""
_NOT_READ = re.compile(rb"<!--.*?-->|<noscript\b.*?</noscript>|<script\b.*?</script>", re.I | re.S)
_META = re.compile(rb"<meta\b[^>]*>", re.I)
_REFRESH = re.compile(rb"""\bhttp-equiv\s*=\s*["']?refresh\b""", re.I)
_TARGET = re.compile(rb"""\burl\s*=\s*["']?([^"'>]+)""", re.I)
_ROBOTS = re.compile(rb"""\b(?:name|property)\s*=\s*["']?robots\b""", re.I)
_NO_INDEX = re.compile(rb"\b(?:noindex|none)\b", re.I)
_LIST = re.compile(rb"\bdocusaurus_tag\b[^>]*\b(?:blog|doc)_\w+_(?:list|posts)\b")
_FEED = re.compile(r"(?:.*/)?(?:tags|categories)/(?:[^/]+/)?index\.html")
"""Pages of Hugo that are lists where a feed lies beside them."""
_SEARCH = re.compile(r"(?:.*/)?search\.html")
_RESULTS = re.compile(rb'<div id="(?:search-results">|mkdocs-search-results" class=)')
_NOT_FOUND = ("/404.html", "/404/index.html")
_COPIES = re.compile(r"(?:\.(?:rst|md|ipynb)\.txt$)|^(?:.*/)?_modules/.*\.html", re.I)
_INDEX = re.compile(r"(?:.*/)?(?:genindex(?:-\w+)?|\w+-modindex)(?:/index)?\.html")
_FOR_PROGRAMS = re.compile(r"robots\.txt|.*\.LICENSE\.txt|.*_static/webpack-macros\.html")
_MOST = 0.5
"""Share of a site's pages from which on a wish not to be found tells none of them apart."""


class Unlisted(NamedTuple):
    """Pages that are left out, each with its reason, and where those lead that lead on."""

    reasons: Mapping[str, str]
    targets: Mapping[str, str]


def unlisted(directory: Path, pages: Sequence[str]) -> Unlisted:
    """Return the pages of a folder that a search should not find.

    Parameters
    ----------
    directory : Path
        The folder.
    pages : sequence of str
        Paths in it.
    """
    reasons: dict[str, str] = {}
    targets: dict[str, str] = {}
    hidden: list[str] = []
    html = [page for page in pages if PurePosixPath(page).suffix.lower() in HTML]
    for page in html:
        if f"/{page}".endswith(_NOT_FOUND):
            reasons[page] = "page_of_no_address"
            continue
        with inputs.open_input(directory / page) as file:
            head = file.read(_HEAD)
            metas = _META.findall(_NOT_READ.sub(b"", head))
            searches = _SEARCH.fullmatch(page) and _RESULTS.search(head + file.read())
        listed = _FEED.fullmatch(page) and (directory / page).with_suffix(".xml").is_file()
        if searches or listed or _INDEX.fullmatch(page) or any(map(_LIST.search, metas)):
            reasons[page] = "page_that_is_an_index"
            continue
        if target := _target(metas):
            reasons[page], targets[page] = "page_that_leads_on", target
        elif any(_ROBOTS.search(meta) and _NO_INDEX.search(meta) for meta in metas):
            hidden.append(page)
    if len(hidden) <= _MOST * (len(html) - len(reasons)):
        reasons |= dict.fromkeys(hidden, "page_not_to_be_indexed")
    if html:
        copies = [page for page in pages if _COPIES.search(page)]
        reasons |= dict.fromkeys(copies, "copy_of_a_source")
        reasons |= {page: "file_for_programs" for page in pages if _FOR_PROGRAMS.fullmatch(page)}
    return Unlisted(reasons, targets)


def _target(metas: Sequence[bytes]) -> str:
    for meta in metas:
        if _REFRESH.search(meta) and (found := _TARGET.search(meta)):
            return found[1].decode(errors="replace").strip()
    return ""
