"""English sentences of an article."""

from __future__ import annotations

from ssi_core.sample.dice import Dice
from ssi_core.sample.draft import Anchor, Article, Sentence, Slot, Supply, bare, grouped, slots_of
from ssi_core.sample.prose import Prose
from ssi_core.sample.world import ENGLISH, Link, World

_OF_PERSONS = (
    "{a} {did} {b} in the {place}",
    "in the {period}, {a} {did} {b} and {did} {c}",
    "{a} from the {adjective} {place} {did} {b} with {c}",
    "after the {period}, {a} {adverb} {did} {b}",
    "{a} worked with {b} near the {place}",
    "{a} learned about {b} from {c}",
    "{a} talked of {b} and of {c} in the {period}",
    "without {b}, {a} could not work in the {place}",
    "in the {adjective} {place}, {a} {did} {b} before {c}",
    "{a} {adverb} {did} {b} for {c}",
    "people in the {place} often saw {a} with {b}",
    "every {period} {a} {did} {b} and {c}",
)
_OF_THINGS = (
    "{a} {linked} {b} in the {place}",
    "without {b}, {a} would be of little use",
    "{a} came from the {place} together with {b}",
    "in the {period}, {a} {linked} {b} and {c}",
    "many people preferred {a} to {b}",
    "most visitors to the {place} noticed {a} before {b}",
    "the history of {a} begins with {b}",
    "like {b}, {a} {adverb} appeared near {c}",
    "those who owned {a} also owned {b}",
    "the price of {a} depended on {b} and {c}",
    "there was more talk of {a} than of {b} in the {place}",
    "according to {adjective} records, {a} {adverb} {linked} {b}",
    "nobody in the {place} spoke of {a} without {b}",
    "visitors {did} {a}, {b} and {c} during the {period}",
    "by the end of the {period}, {a} had reached the {adjective} {place} with {b}",
)
_LEADS = {
    "n": "{title} is {an} {word} in the {adjective} {place}, known for {b} and {c}",
    "m": "{title} is {adjective} {word} from the {place}, known together with {b} and {c}",
    "p": "{title} was {an} {word} from the {place}, who {did} {b} and {c}",
    "": "{title} is a term of {subject}, and belongs with {b} and {c}",
}
_ADJECTIVE_RATE = 0.2
_LIST_RATE = 0.35
_PLURAL_LIKED, _PLURAL_ELSE = 0.8, 0.15


def write_english(world: World, page: int, links: list[Link]) -> Article:
    """Write the English article with a number."""
    dice = Dice(world.seed, 4, page)
    slots, plain_links = slots_of(world, page, links, dice)
    listed: list[Slot] = []
    if dice.chance(_LIST_RATE):
        listed = [s for s in slots if s.link and s.link.label == "title"][:3]
        slots = [slot for slot in slots if slot not in listed]
    supply = Supply(slots, plain_links, Slot(world.own_concept(page)))
    writer = _English(world, page, dice, supply)
    headings = [pair[0].capitalize() for pair in world.lexicon.general["title"]]
    sections = grouped(writer.sentences(), dice.shuffled(headings), dice)
    targets = [slot.link.target for slot in listed if slot.link]
    anchors = [Anchor(world.title(target), world.title(target), target) for target in targets]
    return Article(world.title(page), sections, anchors)


class _English(Prose):
    language = ENGLISH
    of_persons, of_things, leads = _OF_PERSONS, _OF_THINGS, _LEADS
    comma, stop = ", ", "."

    def general(self, field: str) -> str:
        world, page = self._world, self._page
        if field == "an":
            adjective = self.general("adjective")
            return _indefinite(adjective) + adjective
        if field == "word":
            return self._noun(world.own_concept(page), False)
        if field == "subject":
            return world.lexicon.subjects[world.subject(page)].english
        return self._dice.skewed(world.lexicon.general[field], 1.4)[0]

    def _noun(self, concept: int, plural: bool) -> str:
        noun = self._world.concept(concept).english[self._world.word(self._page, concept, ENGLISH)]
        return noun.plural if plural else noun.singular

    def noun_phrase(self, slot: Slot) -> Sentence:
        world, dice = self._world, self._dice
        link = slot.link
        if slot.own_name and not world.is_concept_article(self._page):
            return [world.entity(self._page, ENGLISH)]
        if link and link.label == "title" and not world.is_concept_article(link.target):
            return self._titled(link.target)
        likely = _PLURAL_LIKED if world.prefers_plural(self._page, slot.concept) else _PLURAL_ELSE
        plural = dice.chance(likely) and self.kind(slot) != "m"
        word = self._noun(slot.concept, plural)
        adjective = self.general("adjective") + " " if dice.chance(_ADJECTIVE_RATE) else ""
        bare = plural or self.kind(slot) == "m"
        if dice.chance(0.3 if bare else 0.5):
            article = "the "
        else:
            article = "" if bare else _indefinite(adjective or word)
        head = Anchor(word, self.title(link.target), link.target) if link else word
        return [article + adjective, head]

    def _titled(self, target: int) -> Sentence:
        world = self._world
        title = self.title(target)
        named = world.concept(world.own_concept(target)).kind == "p" or "'s " in title
        return ["" if named else "the ", Anchor(bare(title), title, target)]


def _indefinite(word: str) -> str:
    vowel = word[0] in "aeiou" and not word.startswith(("uni", "eu", "use", "one"))
    return "an " if vowel or word.startswith(("hour", "heir")) else "a "
