"""Japanese sentences of an article: no spaces, particles between the words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ssi_core.sample.dice import Dice
from ssi_core.sample.draft import (
    STYLE_RATE,
    Anchor,
    Article,
    Markup,
    Sentence,
    Slot,
    Supply,
    bare,
    favourites,
    grouped,
    slots_of,
)
from ssi_core.sample.world import JAPANESE, Link, World

_OF_PERSONS = (
    "{a}は{place}で{b}を{did}",
    "{period}に{a}は{b}と{c}を{did}",
    "{adjective}{place}の{a}は{c}とともに{b}を{did}",
    "{a}は{c}から{b}について学んだ",
    "{a}は{place}の近くで{b}とともに働いた",
    "{b}がなければ、{a}は{place}で働けなかった",
    "{place}の人々は{a}が{b}を{did}ことを覚えている",
    "{a}は{adverb}{b}を{did}",
    "{period}の{a}は{c}の前に{b}を{did}",
)
_OF_THINGS = (
    "{place}では{a}が{b}を{linked}",
    "{b}がなければ、{a}はあまり役に立たない",
    "{a}は{b}とともに{place}から来た",
    "{period}に{a}は{b}と{c}を{linked}",
    "多くの人々は{b}より{a}を好んだ",
    "{a}の歴史は{b}から始まる",
    "{b}のように、{a}は{adverb}{c}の近くに現れた",
    "{a}を持つ者は{b}も持っていた",
    "{a}の値段は{b}と{c}によって決まった",
    "{place}では{b}より{a}のほうがよく話題になった",
    "{a}と{b}の間には{c}があった",
    "{adjective}記録によれば、{a}は{b}を{linked}",
)
_LEADS = {
    "n": "{title}は、{adjective}{place}にある{adjective}{word}で、{b}と{c}によって知られる",
    "m": "{title}は、{place}の{adjective}{word}で、{b}や{c}とともに知られる",
    "p": "{title}は、{place}の{adjective}{word}で、{b}と{c}を{did}",
}
_CONCEPT_LEAD = "{title}は、{subject}の用語で、{b}や{c}と関係がある"
_ADJECTIVE_RATE = 0.2
_FIELD = re.compile(r"{(\w+)}")


def write_japanese(world: World, page: int, links: list[Link]) -> Article:
    """Write the Japanese article with a number: its own sentences, the same concepts and links."""
    dice = Dice(world.seed, 5, page)
    slots, plain_links = slots_of(world, page, links, dice)
    supply = Supply(slots, plain_links, Slot(world.own_concept(page)))
    writer = _Writer(world, page, dice, supply)
    headings = [pair[1] for pair in world.lexicon.general["title"]]
    sections = grouped(writer.sentences(), dice.shuffled(headings), dice)
    return Article(world.title(page, JAPANESE), sections)


class _Writer:
    def __init__(self, world: World, page: int, dice: Dice, supply: Supply) -> None:
        self._world, self._page, self._dice, self._supply = world, page, dice, supply
        self._favourites = favourites(world, page, JAPANESE)

    def sentences(self) -> Iterator[Sentence]:
        supply, subject = self._supply, Slot(self._world.own_concept(self._page))
        yield [*self._filled(self._lead(), [subject, *supply.take(2)]), "。"]
        pattern = ""
        while supply:
            of_person = self._world.concept(supply.peek().concept).kind == "p"
            patterns = _OF_PERSONS if of_person else _OF_THINGS
            pattern = self._dice.pick([p for p in patterns if p != pattern])
            slots = supply.take(3 if "{c}" in pattern else 2)
            opening: Sentence = []
            if self._dice.chance(STYLE_RATE):
                opening = [self._dice.skewed(self._favourites, 1.5) + "、"]
            yield [*opening, *self._filled(pattern, slots), "。"]

    def _lead(self) -> str:
        world, page = self._world, self._page
        if world.is_concept_article(page):
            return _CONCEPT_LEAD
        return _LEADS[world.concept(world.own_concept(page)).kind]

    def _filled(self, pattern: str, slots: list[Slot]) -> Sentence:
        named = dict(zip("abc", slots, strict=False))
        sentence: Sentence = []
        for n, part in enumerate(_FIELD.split(pattern)):
            if n % 2 == 0:
                sentence.append(part)
            elif part in named:
                sentence += self._noun_phrase(named[part])
            elif part == "title":
                title = bare(self._world.title(self._page, JAPANESE))
                sentence.append(Markup(title, f"'''{title}'''"))
            elif part == "place":
                sentence.append(self._place())
            else:
                sentence.append(self._general(part))
        return [chunk for chunk in sentence if chunk != ""]

    def _general(self, field: str) -> str:
        world, page = self._world, self._page
        if field == "word":
            return self._noun(world.own_concept(page))
        if field == "subject":
            return world.lexicon.subjects[world.subject(page)].japanese
        return self._dice.skewed(world.lexicon.general[field], 1.4)[1]

    def _place(self) -> str | Anchor:
        word = self._general("place")
        if not self._supply.links:
            return word
        target = self._supply.links.pop().target
        return Anchor(word, self._world.title(target, JAPANESE), target)

    def _noun(self, concept: int) -> str:
        word = self._world.word(self._page, concept, JAPANESE)
        return self._world.concept(concept).japanese[word]

    def _noun_phrase(self, slot: Slot) -> Sentence:
        world = self._world
        link = slot.link
        if slot.own_name and not world.is_concept_article(self._page):
            return [world.entity(self._page, JAPANESE)]
        if link is None:
            return [self._adjective() + self._noun(slot.concept)]
        title = world.title(link.target, JAPANESE)
        if link.label == "title":
            return [Anchor(bare(title), title, link.target)]
        return [self._adjective(), Anchor(self._noun(slot.concept), title, link.target)]

    def _adjective(self) -> str:
        return self._general("adjective") if self._dice.chance(_ADJECTIVE_RATE) else ""
