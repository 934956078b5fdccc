"""Targets of links on a MediaWiki site: the title of a page, or a reason why there is none."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from ssi_core.text.wikinames import CATEGORIES, FILES, HIDDEN, LANGUAGES, PROJECTS

MAIN = 0
FILE = 6
CATEGORY = 14
_CANONICAL = {
    "media": -2,
    "special": -1,
    "talk": 1,
    "user": 2,
    "user talk": 3,
    "project": 4,
    "project talk": 5,
    "wp": 4,
    "wt": 5,
    "file": FILE,
    "file talk": 7,
    "image talk": 7,
    "mediawiki": 8,
    "mediawiki talk": 9,
    "template": 10,
    "template talk": 11,
    "help": 12,
    "help talk": 13,
    "category": CATEGORY,
    "category talk": 15,
    "portal": 100,
    "portal talk": 101,
    "module": 828,
    "module talk": 829,
    **dict.fromkeys(FILES, FILE),
    **dict.fromkeys(CATEGORIES, CATEGORY),
}

# "1984", "AD 50", "44 BC", and the same in the larger languages.
_YEAR = re.compile(
    r"(?:AD |前|紀元前|公元前|기원전 )?\d{1,4}"
    r"(?: (?:AD|CE|BCE?)| (?:a|av|v|p)\. ?(?:J\.-)?(?:C|Chr)\.| a\.C\.| v\.Chr\.| p\.n\.e\."
    r"| f\.Kr\.| год(?: до н\. э\.)?| рік(?: до н\. е\.)?|年|년)?"
)
_BIDI = re.compile("[\u200e\u200f\u202a-\u202e]")
_FORBIDDEN = re.compile(r"[<>\[\]{}|\x00-\x1f\x7f\ufffd]|~~~")
# Titles that are written as they are: ASCII, single blanks, none of the characters with a meaning.
_PLAIN = re.compile(r"[A-Za-z0-9'(),.!-]++(?: [A-Za-z0-9'(),.!-]++)*+")
# Of these, titles that begin with a capital and don't end as a year may: most targets of links.
_SETTLED = re.compile(rf"(?=[A-Z]){_PLAIN.pattern}(?<![0-9CDE.])")
_PERCENT = re.compile("%[0-9A-Fa-f]{2}")
_AS_IT_IS = ";:@$!*(),/~"


@dataclass(frozen=True)
class Site:
    """A MediaWiki site as far as its titles go.

    Attributes
    ----------
    language : str
        Code of the language of its texts, such as ``en``.
    first_letter : bool
        The first letter of a title is always a capital.
    namespaces : mapping
        Name, lower case with blanks -> number; canonical names and aliases included.
    base : str
        What precedes a title in the address of its page; "" where nobody says.
    """

    language: str = "en"
    first_letter: bool = True
    namespaces: Mapping[str, int] = field(default_factory=dict)
    base: str = ""

    @property
    def hidden(self) -> frozenset[str]:
        """Prefixes of links that leave no word in a text: files, categories, languages."""
        prefixes = {name for name, key in self.namespaces.items() if key in (FILE, CATEGORY)}
        return HIDDEN | prefixes

    def namespace(self, prefix: str) -> int | None:
        """Return the number of the namespace of that name (lower case, blanks), or None."""
        namespace = self.namespaces.get(prefix)
        return _CANONICAL.get(prefix) if namespace is None else namespace

    def url(self, title: str) -> str | None:
        """Return the address of a page; None where the base is not known.

        >>> Site(base="https://en.wikipedia.org/wiki/").url("AC/DC (café)")
        'https://en.wikipedia.org/wiki/AC/DC_(caf%C3%A9)'
        """
        return f"{self.base}{quote(title.replace(' ', '_'), _AS_IT_IS)}" if self.base else None

    def first_up(self, title: str) -> str:
        """Return a title as the site writes it: the first letter a capital where it says so."""
        first = title[:1]
        if not self.first_letter or first.isupper() or not first or "\u10d0" <= first <= "\u10ff":
            return title
        upper = "İ" if first == "i" and self.language in ("tr", "az") else first.upper()
        return upper + title[1:] if len(upper) == 1 else title


def is_year(title: str) -> bool:
    """Tell whether a title is a calendar year: ``1984``, ``44 BC``, ``1984年``.

    >>> is_year("44 BC"), is_year("1984年"), is_year("1984 (novel)")
    (True, True, False)
    """
    return title[-1:] in "0123456789CDE.年년дк" and _YEAR.fullmatch(title) is not None


def clean_title(raw: str) -> str:
    """Undo what may be written for a title: entities, per cent codes, underscores, blanks.

    >>> clean_title(" Caf%C3%A9_&amp;__Bar ")
    'Café & Bar'
    """
    if "&" in raw:
        raw = html.unescape(raw)
    if "%" in raw and _PERCENT.search(raw):
        raw = unquote(raw, errors="replace")
    title = " ".join(raw.replace("_", " ").split())
    if title.isascii():
        return title
    return unicodedata.normalize("NFC", _BIDI.sub("", title)).strip()


def _too_long(title: str) -> bool:
    return len(title.encode(errors="replace")) > 255


def read_target(raw: str, site: Site) -> tuple[str, str]:
    """Return (category, title) of a link's target.

    The category is ``page`` or ``calendar_year`` for a title of the main namespace, else what the
    link is instead, with an empty title: ``section_only``, ``malformed``, ``other_namespace``,
    ``interwiki``. Prefixes are read as MediaWiki reads them: a namespace of the site first,
    then languages and sister projects; any other prefix belongs to the title.

    >>> read_target("foo_bar#baz", Site()), read_target("Image:X.jpg", Site())
    (('page', 'Foo bar'), ('other_namespace', ''))
    """
    if len(raw) < 256:
        if _SETTLED.fullmatch(raw):
            return "page", raw
        if _PLAIN.fullmatch(raw):
            return _of_main(site.first_up(raw))
    title = clean_title(raw)
    if title.startswith("#"):
        return "section_only", ""
    title = title.partition("#")[0].lstrip(": ").rstrip()
    if not title or _FORBIDDEN.search(title) or (len(title) > 63 and _too_long(title)):
        return "malformed", ""
    prefix, colon, rest = title.partition(":")
    if colon:
        prefix = prefix.strip().lower()
        key = site.namespace(prefix)
        if key is not None and key != MAIN:
            return "other_namespace", ""
        if key is None and (prefix in LANGUAGES or prefix in PROJECTS):
            return ("interwiki", "") if rest.strip() else ("malformed", "")
    return _of_main(site.first_up(title))


def _of_main(title: str) -> tuple[str, str]:
    return ("calendar_year" if is_year(title) else "page"), title
