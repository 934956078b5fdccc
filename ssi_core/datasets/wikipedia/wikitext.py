"""Wikitext to plain words and to links, in time linear in the length of the text.

No grammar of MediaWiki is built: a page is a few passes of compiled regular expressions, and what
nests (templates, tables, files with captions) is found by one scan with a stack, so that neither
depth nor a missing bracket costs more than the text is long. Every quantifier is bounded by a
character that it can't take, or is possessive.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from urllib.parse import quote

from ssi_core.text.wikinames import HIDDEN

_KEPT_RAW = ("nowiki", "pre", "source", "syntaxhighlight")
_CUT_RAW = ("math", "ce", "chem", "score", "timeline", "hiero", "graph", "mapframe", "maplink")
_CUT_HIDDEN = ("templatedata", "templatestyles", "categorytree", "inputbox", "includeonly")
_CUT = ("ref", "references", "gallery", "imagemap", "style", "script")


def _tags(names: Iterable[str]) -> str:
    return rf"<(/?)({'|'.join(names)})(?=[\s/>])([^<>]*+)>"


_RAW_TAG = re.compile("<!--|" + _tags(_KEPT_RAW + _CUT_RAW + _CUT_HIDDEN), re.IGNORECASE)
_CUT_TAG = re.compile(_tags((*_CUT, "table")), re.IGNORECASE)
_CUT_TAG_IN_CELLS = re.compile(_tags(_CUT), re.IGNORECASE)
_REF = re.compile(r"<ref(?:\s[^<>]*+)?+(?<!/)>[^<]*+</ref\s*+>")
_TEMPLATE = re.compile(r"\{\{[^{}]*+\}\}")
# Templates within templates: one pass for each level, and the scan for what is deeper.
_QUICK_PASSES = 4
_BRACES = re.compile(r"(\{\{)|\}\}")
_TABLE = re.compile(r"\n[ \t:]*+(?:(\{\|)|\|\})")
_TABLE_LINE = re.compile(r"\n[ \t:]*+(?:\{\|[^\n]*+|\|-[^\n]*+|\|\})")
# The mark of a cell or of a caption, with the attributes that end at a single bar. Python before
# 3.11.5 matches possessive repeats of groups that backtrack wrongly, so there is none around them.
_CELL = re.compile(r"(?:\n[ \t:]*+(?:\|\+?+|!)|\|\||!!)(?:(?:[^\n|!\[]|!(?!!))*\|(?!\|))?")
_PREFIXED = re.compile(r"\[\[([^\[\]|:\n]*+):")
_BRACKETS = re.compile(r"(\[\[)|\]\]")
# A target, an anchor if there is one, and letters that run on behind the link.
_LINK = re.compile(r"\[\[([^\[\]|\n]*+)(?:\]\]|\|([^\[\]]*+)(?:\]\])?+)([a-z]*+)")
# What makes the words of an anchor other than its characters.
_MARKS = ("''", "<", "&", "{", "}")
_BREAK = re.compile(
    r"</?(?:br|p|div|li|ul|ol|dl|dt|dd|tr|td|th|hr|blockquote|center|h[1-6]|poem)\b[^<>]*+>",
    re.IGNORECASE,
)
_HEADING = re.compile(r"\n==++([^\n]++)")
_IN_URL = r"""[^\s\[\]<>{}|"]*+"""

# What goes, by the mark without which it can't be there; a pattern that starts with a literal is
# searched several times faster than one that starts with a choice.
_GOES: tuple[tuple[str, re.Pattern[str], str], ...] = (
    ("[[", re.compile(r"\[\[[^\[\]|\n]*+\|"), ""),
    ("[", re.compile(r"\[(?:mailto:|[a-z]{0,6}+:?//)" + _IN_URL), ""),
    ("://", re.compile(r"https?://" + _IN_URL), " "),
    ("<", _BREAK, " "),
    ("<", re.compile(r"</?[A-Za-z][^<>]*+>"), ""),
    ("''", re.compile(r"''++"), ""),
    ("==", re.compile(r"==++"), ""),
    ("----", re.compile(r"----++"), ""),
    ("__", re.compile(r"__[A-Z]++__"), ""),
)
_LINE_START = re.compile(r"\n[\s*#:;]*+")
# A bar at the start of a line is a cell or an argument of what was never closed.
_BAR_LINE = re.compile(r"\n\|[^\n]*+")
_BLANKS = re.compile("  ++")

# Markup inside nowiki is text: as entities it passes every later step and comes back at the end.
_ESCAPED = str.maketrans({c: f"&#{ord(c)};" for c in "[]{}|'=<>*#:;_-"})
_ESCAPED_TITLE = {**_ESCAPED, ord("&"): "&amp;"}
# Articles have no subpages: the names of their base, their root and so on are their own.
_PAGE_NAME = re.compile(r"\{\{\s*+(?:FULL|BASE|ROOT|SUB|ARTICLE|SUBJECT)?+PAGENAME(E?+)\s*+\}\}")

Span = tuple[int, int]


def _tagged(text: str, token: re.Pattern[str]) -> Iterator[tuple[Span, str, Span]]:
    """Yield (whole span, tag name or "!--", inner span) of elements; the first to open wins."""
    tokens = list(token.finditer(text))
    last_closer = {m[2].lower(): m.start() for m in tokens if m[1]}
    end = 0
    opened: re.Match[str] | None = None
    for match in tokens:
        if match.start() < end:
            continue
        if match[2] is None:
            if opened is None:
                close = text.find("-->", match.end())
                end = close + 3 if close >= 0 else len(text)
                yield (match.start(), end), "!--", (end, end)
            continue
        name = match[2].lower()
        if opened is None:
            alone = match[1] or match[3].endswith("/")
            if not alone and last_closer.get(name, -1) > match.start():
                opened = match
        elif match[1] and name == opened[2].lower():
            end = match.end()
            yield (opened.start(), end), name, (opened.end(), match.start())
            opened = None


def _nested(
    text: str,
    token: re.Pattern[str],
    start: int = 0,
    wanted: Callable[[int], bool] = lambda opened: True,
) -> list[Span]:
    """Return the outermost balanced spans; group 1 of ``token`` opens, other matches close."""
    opened: list[int] = []
    spans: list[Span] = []
    for match in token.finditer(text, start):
        if match.lastindex:
            opened.append(match.start())
        elif opened:
            first = opened.pop()
            if wanted(first):
                while spans and spans[-1][0] > first:
                    spans.pop()
                spans.append((first, match.end()))
    return spans


def _without(text: str, spans: Iterable[Span], instead: str = " ") -> str:
    pieces, last = [], 0
    for start, end in spans:
        pieces.append(text[last:start])
        last = end
    if not last:
        return text
    pieces.append(text[last:])
    return instead.join(pieces)


def _hidden_links(text: str, hidden: Set[str]) -> Iterator[Span]:
    """Yield the outermost ``[[prefix:...]]`` with a hidden prefix, captions included."""

    def is_hidden(start: int) -> bool:
        prefix = _PREFIXED.match(text, start)
        return prefix is not None and prefix[1].replace("_", " ").strip().lower() in hidden

    end = 0
    for match in _PREFIXED.finditer(text):
        start = match.start()
        if start < end or not is_hidden(start):
            continue
        depth = 0
        for bracket in _BRACKETS.finditer(text, start):
            depth += 1 if bracket.lastindex else -1
            if not depth:
                end = bracket.end()
                yield start, end
                break
        else:
            # Never closed: one scan finds all that close inside it, not one scan for each.
            yield from _nested(text, _BRACKETS, start, is_hidden)
            return


def _visible(text: str) -> str:
    """Remove comments, formulas and the like; protect nowiki's content by entities."""
    if "<" not in text:
        return text
    pieces, last = [], 0
    for (start, end), name, inner in _tagged(text, _RAW_TAG):
        pieces.append(text[last:start])
        if name in _KEPT_RAW:
            pieces.append(text[slice(*inner)].translate(_ESCAPED))
        elif name != "!--":
            pieces.append(" ")
        last = end
    pieces.append(text[last:])
    return "".join(pieces)


def _named(text: str, title: str) -> str:
    """Replace the variables of a page's title, quoted for URLs."""
    if not title or "PAGENAME" not in text:
        return text
    names = {"": title.translate(_ESCAPED_TITLE), "E": quote(title.replace(" ", "_"))}
    return _PAGE_NAME.sub(lambda name: names[name[1]], text)


def _cut_tags(text: str, tag: re.Pattern[str] = _CUT_TAG) -> str:
    # As with templates below: what holds no other goes in a quick pass, the scan takes the rest.
    text = _REF.sub(" ", text)
    return _without(text, (whole for whole, _, _ in _tagged(text, tag)))


def _cut_templates(text: str) -> str:
    for _ in range(_QUICK_PASSES):
        text, cut = _TEMPLATE.subn(" ", text)
        if not cut or "{{" not in text:
            break
    return _without(text, _nested(text, _BRACES)) if "{{" in text else text


def _cut_tables(text: str) -> str:
    text = "\n" + text
    return _without(text, _nested(text, _TABLE), "\n")


def _open_tables(text: str) -> str:
    """Put each cell of the tables on its own line."""
    return _CELL.sub("\n", _TABLE_LINE.sub("\n", "\n" + text))


_Cuts = Sequence[tuple[str, Callable[[str], str]]]
_CUTS: _Cuts = (("<", _cut_tags), ("{{", _cut_templates), ("{|", _cut_tables))
_CUTS_IN_CELLS: _Cuts = (
    ("<", lambda text: _cut_tags(text, _CUT_TAG_IN_CELLS)),
    ("{{", _cut_templates),
    ("{|", _open_tables),
)


def _words(text: str, hidden: Set[str], cuts: _Cuts = _CUTS) -> str:
    for mark, cut in cuts:
        if mark in text:
            text = cut(text)
    if "[[" in text:
        text = _without(text, _hidden_links(text, hidden))
    for mark, pattern, instead in _GOES:
        if mark in text:
            text = pattern.sub(instead, text)
    for bracket in "[]{}":
        if bracket in text:
            text = text.replace(bracket, "")
    text = _BAR_LINE.sub("", _LINE_START.sub("\n", "\n" + text))
    if "&" in text:
        text = html.unescape(text)
    text = _BLANKS.sub(" ", text.replace("\t", " ").replace("\xa0", " "))
    return text.replace(" \n", "\n").strip()


def strip_markup(text: str, *, hidden: Set[str] = HIDDEN) -> str:
    r"""Return the plain text of an article, as a reader sees it.

    Kept are headings, list items, the text of links and labels of external links, and what
    ``nowiki``, ``pre`` and code blocks hold. Dropped are templates, tables, references, galleries,
    files with their captions, categories, links to other languages, comments, formulas, URLs.
    Entities are decoded. Lines are kept, blank lines and runs of blanks are not.

    Parameters
    ----------
    text : str
        Wikitext, as it stands in a dump after XML is decoded.
    hidden : Set
        Prefixes, lower case with blanks, whose links leave no text.

    Examples
    --------
    >>> strip_markup("'''A''' [[b|c]]{{d|{{e}}}} &amp; [http://f g]<ref>h</ref>")
    'A c & g'
    """
    return _words(_visible(text), hidden)


def links(text: str) -> Iterator[tuple[str, str]]:
    """Yield (target, anchor) of each ``[[target]]`` or ``[[target|anchor]]``, in order.

    Small letters that run on behind a link belong to its anchor, as a reader sees it.

    Links in templates' arguments, references, tables and captions count, as they do for MediaWiki;
    those in comments, nowiki, pre, code and formulas are no links. Targets are raw. An anchor that
    holds brackets itself ends at the first.

    >>> list(links("[[A]] [[b|c]] <!-- [[d]] --> {{e|[[f]]s}}"))
    [('A', 'A'), ('b', 'c'), ('f', 'fs')]
    """
    yield from _links(_visible(text))


def _links(visible: str) -> list[tuple[str, str]]:
    return [(target, (anchor or target) + rest) for target, anchor, rest in _LINK.findall(visible)]


def strip_anchor(anchor: str) -> str:
    """Return the plain words of an anchor.

    >>> strip_anchor("the ''Apollo'' &amp; {{nowrap|moon}} landing")
    'the Apollo & landing'
    """
    for mark in _MARKS:
        if mark in anchor:
            return strip_markup(anchor)
    return anchor


def read_wikitext(
    text: str, *, title: str = "", hidden: Set[str] = HIDDEN
) -> tuple[str, list[tuple[str, str]]]:
    """Return `strip_markup` of a text and its `links`, at less than both cost.

    Parameters
    ----------
    text : str
        Wikitext, as it stands in a dump after XML is decoded.
    title : str
        Title of the page, which ``{{PAGENAME}}`` and its like stand for.
    hidden : Set
        Prefixes, lower case with blanks, whose links leave no text.

    Examples
    --------
    >>> read_wikitext("{{PAGENAME}} is a [[city]].", title="Lyon")
    ('Lyon is a city.', [('city', 'city')])
    """
    visible = _named(_visible(text), title)
    return _words(visible, hidden), _links(visible)


def headings(text: str, *, hidden: Set[str] = HIDDEN) -> str:
    r"""Return the headings of a wikitext as plain words, one a line.

    >>> headings("A\n== B ''c'' ==\nD\n=== [[e|F]] ===\n== {{g}} ==")
    'B c\nF'
    """
    if "\n==" not in text and not text.startswith("=="):
        return ""
    begun = map(str.rstrip, _HEADING.findall("\n" + _visible(text)))
    lines = [heading.rstrip("= \t") for heading in begun if heading.endswith("==")]
    return _words("\n".join(lines), hidden)


def count_links(text: str, *, title: str = "") -> int:
    """Return how many `links` a text has, without reading its words; see `read_wikitext`.

    >>> count_links("#REDIRECT [[Lyon]] <!-- [[Paris]] -->")
    1
    """
    return len(_LINK.findall(_named(_visible(text), title)))


def read_cells(text: str, *, title: str = "", hidden: Set[str] = HIDDEN) -> str:
    r"""Return the plain words of a text with its tables, each cell on a line.

    For pages that are nothing but tables; the parameters are those of `read_wikitext`.

    Examples
    --------
    >>> read_cells("{| class=a\n|-\n! Year !! City\n|-\n| id=b | 1896 || [[Athens]]\n|}")
    'Year\nCity\n1896\nAthens'
    """
    return _words(_named(_visible(text), title), hidden, _CUTS_IN_CELLS)
