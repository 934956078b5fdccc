r"""Fields of a document: what stands in it, and where.

A document is carried as one string, its text followed by the other fields in the order of `FIELDS`,
each behind a `SEPARATOR`, a control character that no tokenizer takes for a part of a word. A plain
text is a document whose other fields are empty. ``headings`` and ``anchors`` have an entry a line.

>>> document = join(text="It has four wheels.", title="Car", anchors="automobile\nmotor car")
>>> take(document, ("title", "text"))
'It has four wheels.\nCar'
>>> split(document)["anchors"]
'automobile\nmotor car'
"""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import unquote, urlsplit

TEXT, TITLE, HEADINGS, URL, ANCHORS = "text", "title", "headings", "url", "anchors"
FIELDS = (TEXT, TITLE, HEADINGS, URL, ANCHORS)
"""Running text, title, headings, words of the address, words of links that lead here."""
OWN = (TEXT, TITLE, HEADINGS, URL)
"""Fields that the document itself has; what others call it is no part of its bag of words."""
SHORT = FIELDS[1:]
"""All fields but the text."""
SEPARATOR = "\x1f"

_SUFFIX = re.compile(r"\.(md|mdx|markdown|html?|xhtml|txt|php|aspx?)$", re.IGNORECASE)


def join(
    *, text: str = "", title: str = "", headings: str = "", url: str = "", anchors: str = ""
) -> str:
    """Return a document as one string."""
    parts = (text, title, headings, url, anchors)
    return SEPARATOR.join(plain(part) for part in parts).rstrip(SEPARATOR)


def plain(text: str) -> str:
    """Return a text without separators of fields."""
    return text.replace(SEPARATOR, " ") if SEPARATOR in text else text


def split(document: str) -> dict[str, str]:
    """Return the fields of a document by their names; those that it lacks are empty."""
    parts = document.split(SEPARATOR)
    return dict(zip(FIELDS, [*parts, *[""] * (len(FIELDS) - len(parts))], strict=False))


def take(document: str, fields: Collection[str]) -> str:
    """Return some fields of a document as a text, one behind the other."""
    if SEPARATOR not in document:
        return document if TEXT in fields else ""
    return "\n".join(part for name, part in split(document).items() if name in fields and part)


def url_words(url: str) -> str:
    """Return the path of an address, without its suffix, for its words.

    >>> url_words("https://example.org/docs/error-codes/E0425.html?q=1#top")
    'docs/error-codes/E0425'
    """
    try:
        path = unquote(urlsplit(url).path)
    except ValueError:
        return ""
    return _SUFFIX.sub("", path).strip("/")
