"""Japanese sentences of an article: no spaces, particles between the words."""

from __future__ import annotations

from ssi_core.sample.dice import Dice
from ssi_core.sample.draft import Anchor, Article, Sentence, Slot, Supply, bare, grouped, slots_of
from ssi_core.sample.prose import Prose
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
    "": "{title}は、{subject}の用語で、{b}や{c}と関係がある",
}
_ADJECTIVE_RATE = 0.2


def write_japanese(world: World, page: int, links: list[Link]) -> Article:
    """Write the Japanese article with a number: its own sentences, the same concepts and links."""
    dice = Dice(world.seed, 5, page)
    slots, plain_links = slots_of(world, page, links, dice)
    supply = Supply(slots, plain_links, Slot(world.own_concept(page)))
    writer = _Japanese(world, page, dice, supply)
    headings = [pair[1] for pair in world.lexicon.general["title"]]
    sections = grouped(writer.sentences(), dice.shuffled(headings), dice)
    return Article(world.title(page, JAPANESE), sections)


class _Japanese(Prose):
    language = JAPANESE
    of_persons, of_things, leads = _OF_PERSONS, _OF_THINGS, _LEADS
    comma, stop = "、", "。"

    def general(self, field: str) -> str:
        world, page = self._world, self._page
        if field == "word":
            return self._noun(world.own_concept(page))
        if field == "subject":
            return world.lexicon.subjects[world.subject(page)].japanese
        return self._dice.skewed(world.lexicon.general[field], 1.4)[1]

    def _noun(self, concept: int) -> str:
        word = self._world.word(self._page, concept, JAPANESE)
        return self._world.concept(concept).japanese[word]

    def noun_phrase(self, slot: Slot) -> Sentence:
        world = self._world
        link = slot.link
        if slot.own_name and not world.is_concept_article(self._page):
            return [world.entity(self._page, JAPANESE)]
        if link is None:
            return [self._adjective() + self._noun(slot.concept)]
        title = self.title(link.target)
        if link.label == "title":
            return [Anchor(bare(title), title, link.target)]
        return [self._adjective(), Anchor(self._noun(slot.concept), title, link.target)]

    def _adjective(self) -> str:
        return self.general("adjective") if self._dice.chance(_ADJECTIVE_RATE) else ""
