"""Japanese sentences of an article: no spaces, particles between the words."""

from __future__ import annotations

from ssi_core.sample.dice import Dice
from ssi_core.sample.draft import Anchor, Article, Sentence, Slot, Supply, bare, grouped, slots_of
from ssi_core.sample.prose import Prose
from ssi_core.sample.world import JAPANESE, World

_OF_PERSONS = (
    "{a}は{place}で{b}とともに働いた",
    "{a}は{adverb}{b}と{c}を{did}",
    "{period}に{a}は{place}の近くで{b}を{did}",
    "{b}がなければ、{a}は{place}で働けなかった",
    "{place}の{a}は{b}と{c}を知っていた",
    "{place}の人々は{a}が{b}を{did}ことを覚えている",
    "{a}の仕事は{b}と{c}から始まる",
)
_OF_THINGS = (
    "{b}がなければ、{a}はあまり役に立たない",
    "{place}の人々は{a}を{b}とともに使った",
    "{period}に{a}は{b}や{c}とともに現れた",
    "{a}の歴史は{b}から始まる",
    "{a}を知る者は{b}も知っていた",
    "{a}の値段は{b}と{c}によって決まった",
    "{place}の{adjective}記録は{b}より先に{a}を挙げている",
    "{place}の{a}は{adverb}{b}と{c}を必要とした",
    "{place}では{a}のそばに{b}があった",
)
_LEADS = {
    "n": "{title}は、{adjective}{place}にある{adjective}{word}で、{b}と{c}によって知られる",
    "m": "{title}は、{place}の{adjective}{word}で、{b}や{c}とともに知られる",
    "p": "{title}は、{place}の{adjective}{word}で、{b}と{c}を{did}",
    "": "{title}は、{subject}の用語で、{b}や{c}と関係がある",
}
_ADJECTIVE_RATE = 0.1


def write_japanese(world: World, page: int, links: list[int]) -> Article:
    """Write the Japanese article with a number: its own sentences, the same concepts and links."""
    dice = Dice(world.seed, 5, page)
    spare = [Slot(concept) for concept in world.things(page)]
    supply = Supply(slots_of(world, page, links, dice), spare)
    writer = _Japanese(world, page, dice, supply)
    headings = [pair[1] for pair in world.lexicon.general["title"]]
    sections = grouped(writer.sentences(), dice.shuffled(headings), dice)
    return Article(world.title(page, JAPANESE), sections)


class _Japanese(Prose):
    language = JAPANESE
    of_persons, of_things, leads = _OF_PERSONS, _OF_THINGS, _LEADS
    stop = "。"

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
        world, target = self._world, slot.target
        if slot.own_name and not world.is_concept_article(self._page):
            return [bare(self.title(self._page))]
        if target is None:
            return [self._adjective() + self._noun(slot.concept)]
        if world.is_concept_article(target):
            label = self._noun(slot.concept)
            return [self._adjective(), Anchor(label, self.title(target), target)]
        title = self.title(target)
        return [Anchor(bare(title), title, target)]

    def _adjective(self) -> str:
        return self.general("adjective") if self._dice.chance(_ADJECTIVE_RATE) else ""
