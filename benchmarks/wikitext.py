"""Wikitext to words: token-multiset F1 of each article against mwparserfromhell."""

from __future__ import annotations

import bz2
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from lxml import etree

from benchmarks.dumps import dump
from benchmarks.timing import PeerMissing, Row, peer
from ssi_core.datasets.wikipedia.wikitext import strip_markup
from ssi_core.text.wikinames import CATEGORIES, FILES, LANGUAGES

_HIDDEN = FILES | CATEGORIES | LANGUAGES
_TAGS = ("table", "ref", "references", "gallery", "math", "timeline", "imagemap")
_MOST = 120


def articles(path: Path) -> dict[str, str]:
    """Title -> wikitext of the articles of a small dump."""
    root = etree.fromstring(bz2.decompress(path.read_bytes()))
    return {
        page.findtext("{*}title") or "": page.findtext("{*}revision/{*}text") or ""
        for page in root.iterfind("{*}page")
        if page.find("{*}redirect") is None and page.findtext("{*}ns") == "0"
    }


def reference(text: str) -> str:
    """Plain text by mwparserfromhell without templates, tables, references and files."""
    code = peer("mwparserfromhell").parse(text)

    def goes(node: object) -> bool:
        kind = type(node).__name__
        if kind == "Wikilink":
            prefix, colon, _ = str(getattr(node, "title", "")).partition(":")
            return bool(colon) and prefix.strip().lower() in _HIDDEN
        tag = str(getattr(node, "tag", "")).lower()
        return kind == "Template" or (kind == "Tag" and tag in _TAGS)

    for node in code.filter(matches=goes, recursive=code.RECURSE_OTHERS):
        try:
            code.remove(node)
        except ValueError:
            continue  # it went with a node around it
    plain: str = code.strip_code()
    return plain


def f1(ours: str, theirs: str) -> float:
    """``2 |A & B| / (|A| + |B|)`` of the multisets of words of two texts, in lower case."""
    a, b = (Counter(re.findall(r"[^\W_]+", text.lower())) for text in (ours, theirs))
    return 2 * sum((a & b).values()) / max(sum(a.values()) + sum(b.values()), 1)


def scores(path: Path, most: int = _MOST) -> dict[str, float]:
    """F1 of articles of a dump, by title; the worst first."""
    texts = sorted(articles(path).items())[:most]
    found = {title: f1(strip_markup(text), reference(text)) for title, text in texts}
    return dict(sorted(found.items(), key=lambda item: item[1]))


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as name:
        kind, path = dump(Path(name))
        title = f"words of an article, {kind} / mwparserfromhell, mean F1"
        try:
            found = scores(path)
        except PeerMissing as missing:
            yield Row(title, "F1", note=str(missing))
            return
        mean = sum(found.values()) / len(found)
        worst = ", ".join(f"{article} {score:.3f}" for article, score in list(found.items())[:3])
        note = f"{len(found)} articles; the worst: {worst}"
        yield Row(title, "F1", mean, 1.0, mean, floor=0.98, note=note)
