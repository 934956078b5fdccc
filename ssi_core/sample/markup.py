"""Wikitext of an article, with everything that the pages of a real dump contain.

Running text is that of the article plus a few sentences that exercise the syntax. Templates,
tables, captions, references, galleries and comments carry links too, but only to years, to missing
pages and to articles that the running text links as well: the true links of a page do not depend on
what a reader makes of them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ssi_core.sample.dice import Dice
from ssi_core.sample.draft import Anchor, Article, Markup, Sentence
from ssi_core.sample.names import name_of
from ssi_core.sample.world import ENGLISH, World

_TRAIL = re.compile(r"[a-z]+")
_MISSING_NAMES = 10_000_000


@dataclass(frozen=True)
class Words:
    """Words that the markup of a language uses."""

    gap: str
    year: str
    file: str
    category: str
    history: str
    references: str
    sentences: dict[str, str]


WORDS = {
    "en": Words(
        " ", "{}", "File", "Category", "History", "References",
        {
            "year": "The first records are from {year}.",
            "missing": "The {missing} was lost.",
            "external": "There are {external} about it.",
            "nowiki": "Editors write {nowiki} here.",
            "math": "The size is {math} at most.",
            "self": "More is said {self}.",
            "entity": "It has {entity}.",
            "style": "It is {style}.",
            "foreign": "There is {foreign} for it.",
            "inline": "It was found {inline} from here.",
            "external label": "public records", "self label": "above", "foreign label": "a word",
            "name": "name", "strong": "very", "old": "old", "works": "works",
            "caption": "A picture of the",
        },
    ),
    "ja": Words(
        "", "{}年", "ファイル", "Category", "歴史", "出典",
        {
            "year": "最初の記録は{year}のものである。",
            "missing": "{missing}は失われた。",
            "external": "これについての{external}がある。",
            "nowiki": "編集者はここに{nowiki}と書く。",
            "math": "大きさは最大で{math}である。",
            "self": "詳しくは{self}に述べた。",
            "entity": "これには{entity}がある。",
            "style": "これは{style}である。",
            "foreign": "これには{foreign}がある。",
            "inline": "これはここから{inline}のところにある。",
            "external label": "公開記録", "self label": "上", "foreign label": "外国語",
            "name": "名前", "strong": "とても", "old": "古風", "works": "工場", "caption": "写真：",
        },
    ),
}  # fmt: skip
_RATES = {
    "year": 0.5, "missing": 0.25, "external": 0.15, "nowiki": 0.05, "math": 0.05, "self": 0.1,
    "entity": 0.15, "style": 0.15, "foreign": 0.05, "inline": 0.08,
}  # fmt: skip


def year_title(year: int, language: str) -> str:
    """Return the title of a year's page; years before our era are negative.

    >>> year_title(1984, "en"), year_title(-44, "en"), year_title(-44, "ja")
    ('1984', '44 BC', '紀元前44年')
    """
    if year > 0:
        return WORDS[language].year.format(year)
    return f"{-year} BC" if language == ENGLISH else f"紀元前{-year}年"


def some_year(dice: Dice) -> int:
    """Draw a year, now and then one before our era."""
    return -44 - dice.below(3) if dice.chance(0.1) else 1800 + dice.below(200)


def add_sentences(article: Article, world: World, page: int, language: str, dice: Dice) -> None:
    """Add the sentences that exercise the syntax to an article, each at the end of a section."""
    words = WORDS[language]
    for name, rate in _RATES.items():
        if dice.chance(rate):
            before, after = words.sentences[name].split("{" + name + "}")
            chunk = _chunk(name, world, page, language, dice)
            dice.pick(article.sections)[1].append([before, chunk, after])


def _chunk(name: str, world: World, page: int, language: str, dice: Dice) -> Anchor | Markup:
    words = WORDS[language]
    sentences = words.sentences
    if name == "year":
        title = year_title(some_year(dice), language)
        return Anchor(title, title)
    if name == "missing":
        side = 0 if language == ENGLISH else 1
        title = f"{name_of(_MISSING_NAMES + page)[side]}{words.gap}{sentences['works']}"
        return Anchor(sentences["works"], title)
    label = sentences.get(f"{name} label", "")
    number = str(dice.below(90) + 10)
    return {
        "external": Markup(label, f"[https://example.org/r/{number}?a=1&b=2 {label}]"),
        "nowiki": Markup(f"[[{sentences['name']}]]", f"<nowiki>[[{sentences['name']}]]</nowiki>"),
        "math": Markup("", "<math>x^{2} < \\alpha y_{[1]}</math>"),
        "self": Markup(label, f"[[#{words.history}|{label}]]"),
        "entity": Markup(f"{number}\u00a0kg – & 7", f"{number}&nbsp;kg &ndash; &amp; 7"),
        "style": Markup(
            f"{sentences['strong']}{words.gap}{sentences['old']}",
            f"'''{sentences['strong']}'''{words.gap}''{sentences['old']}''",
        ),
        "foreign": Markup(label, f"[[:fr:Chose|{label}]]"),
        "inline": Markup("", "{{convert|" + number + "|km|abbr=on}}"),
    }[name]


def wikitext(article: Article, world: World, page: int, language: str, dice: Dice) -> str:
    """Write an article as wikitext."""
    words = WORDS[language]
    links = [
        chunk
        for _, sentences in article.sections
        for sentence in sentences
        for chunk in sentence
        if isinstance(chunk, Anchor) and chunk.page >= 0
    ]
    safe = dice.pick(links).target if links else year_title(some_year(dice), language)
    writer = _Writer(world, language, dice)
    parts = [*_top(article.title, safe, words, dice)]
    for number, (heading, sentences) in enumerate(article.sections):
        if heading:
            marks = "==" if number % 3 else "==="
            parts.append(f"{marks} {heading} {marks}")
        lines = [writer.sentence(sentence) for sentence in sentences]
        if lines and dice.chance(0.3):
            lines[-1] += _reference(safe, number, language, dice)
        parts.append(words.gap.join(lines) + "\n")
    parts += [f"* {writer.link(anchor)}" for anchor in article.listed]
    parts += _bottom(safe, words, dice)
    subject = world.lexicon.subjects[world.subject(page)]
    name = subject.english.capitalize() if language == ENGLISH else subject.japanese
    parts.append(f"[[{words.category}:{name}]]")
    if dice.chance(0.1):
        parts.append(f"[[fr:{article.title}]]")
    return "\n".join(parts)


class _Writer:
    def __init__(self, world: World, language: str, dice: Dice) -> None:
        self._world, self._language, self._dice = world, language, dice

    def sentence(self, sentence: Sentence) -> str:
        return "".join([
            chunk if isinstance(chunk, str)
            else self.link(chunk) if isinstance(chunk, Anchor)
            else chunk.wikitext
            for chunk in sentence
        ])  # fmt: skip

    def link(self, anchor: Anchor) -> str:
        """Write a link in one of the ways in which editors do."""
        dice, label, target = self._dice, anchor.label, anchor.target
        if anchor.page >= 0:
            others = self._world.other_words(anchor.page, self._language)
            if others and dice.chance(0.25):
                target = self._world.title(anchor.page, self._language, dice.pick(others))
            if dice.chance(0.04):
                return f"[[{target}#{WORDS[self._language].history}|{label}]]"
        lower = target[0].lower() + target[1:]
        if label in (target, lower):
            return f"[[{label}]]"
        if label.startswith(lower) and _TRAIL.fullmatch(label[len(lower) :]):
            return f"[[{lower}]]{label[len(lower) :]}"
        way = dice.uniform()
        if way < 0.1:
            target = target.replace(" ", "_")
        elif way < 0.3:
            target = lower
        return f"[[{target}|{label}]]"


def _top(title: str, safe: str, words: Words, dice: Dice) -> list[str]:
    year = some_year(dice)
    parts = []
    if dice.chance(0.15):
        parts.append("<!-- Please keep [[links that are comments]] out of the text. -->")
    if dice.chance(0.05):
        parts.append("__NOTOC__")
    if dice.chance(0.4):
        parts.append(
            f"{{{{Infobox\n| name = {title}\n| near = [[{safe}]]\n"
            f"| founded = {{{{start date|{abs(year)}|note={{{{small|[[{abs(year)}]]}}}}}}}}\n}}}}"
        )
    if dice.chance(0.3):
        caption = f"{words.sentences['caption']} [[{safe}]], [[{abs(year)}]]"
        parts.append(f"[[{words.file}:{title}.jpg|thumb|220px|{caption}.]]")
    return parts


def _reference(safe: str, number: int, language: str, dice: Dice) -> str:
    if dice.chance(0.4):
        return f'<ref name="r{number}" />'
    year = year_title(some_year(dice), language)
    return f'<ref name="r{number}">{{{{cite book|title=[[{safe}]]|year={year}}}}}</ref>'


def _bottom(safe: str, words: Words, dice: Dice) -> list[str]:
    parts = []
    if dice.chance(0.15):
        parts.append(
            '{| class="wikitable"\n! 1 !! 2\n|-\n'
            f"| [[{safe}]] || {dice.below(100)}\n|-\n"
            f"| colspan=2 | [[{1800 + dice.below(200)}]]\n|}}"
        )
    if dice.chance(0.06):
        parts.append(f"<gallery>\n{words.file}:A.jpg|[[{safe}]]\n{words.file}:B.jpg\n</gallery>")
    if dice.chance(0.4):
        parts.append(f"== {words.references} ==\n<references />")
    if dice.chance(0.2):
        parts.append(
            f"{{{{Navbox\n|list1 = {{{{flatlist|\n* [[{safe}]]\n* [[Lost list]]\n}}}}\n}}}}"
        )
    if dice.chance(0.1):
        parts.append("{{DEFAULTSORT:" + str(dice.below(1000)) + "}}")
    return parts
