"""English sentences of an article."""

from __future__ import annotations

from ssi_core.sample.dice import Dice
from ssi_core.sample.draft import Anchor, Article, Sentence, Slot, Supply, bare, grouped, slots_of
from ssi_core.sample.prose import Prose
from ssi_core.sample.world import ENGLISH, World

_OF_PERSONS = (
    "{a} worked with {b} in the {place}",
    "{a} {adverb} {did} {b} and {c}",
    "in the {period}, {a} {did} {b} near the {place}",
    "without {b}, {a} could not work in the {place}",
    "{a} of the {place} knew {b}, {c} and little more",
    "people in the {place} often saw {a} with {b}",
    "the work of {a} begins with {b} and {c}",
    "every year, {a} {did} {b}",
)
_OF_THINGS = (
    "without {b}, {a} would be of little use",
    "people in the {place} used {a} with {b}",
    "in the {period}, {a} appeared together with {b} and {c}",
    "the history of {a} begins with {b}",
    "people who knew {a} also knew {b}",
    "the price of {a} depended on {b} and {c}",
    "{adjective} records of the {place} name {a} before {b}",
    "{a} of the {place} {adverb} needed {b} and {c}",
    "visitors of the {place} noticed {a} near {b}",
    "by the end of the {period}, {a} had reached the {place} with {b}",
)
_LEADS = {
    "n": "{title} is {an} {word} in the {adjective} {place}, known for {b} and {c}",
    "m": "{title} is {adjective} {word} from the {place}, known together with {b} and {c}",
    "p": "{title} was {an} {word} from the {place}, who {did} {b} and {c}",
    "": "{title} is a term of {subject}, and belongs with {b} and {c}",
}
_ADJECTIVE_RATE, _ADJECTIVE_RATE_OF_LINKS = 0.1, 0.25
_LIST_RATE = 0.35
_PLURAL_LIKED, _PLURAL_ELSE = 0.8, 0.15


def write_english(world: World, page: int, links: list[int]) -> Article:
    """Write the English article with a number."""
    dice = Dice(world.seed, 4, page)
    slots = slots_of(world, page, links, dice)
    listed: list[int] = []
    if dice.chance(_LIST_RATE):
        listed = links[:3]
        slots = [slot for slot in slots if slot.target not in listed]
    spare = [Slot(concept) for concept in world.things(page)]
    writer = _English(world, page, dice, Supply(slots, spare))
    headings = [pair[0].capitalize() for pair in world.lexicon.general["title"]]
    sections = grouped(writer.sentences(), dice.shuffled(headings), dice)
    anchors = [Anchor(world.title(target), world.title(target), target) for target in listed]
    return Article(world.title(page), sections, anchors)


class _English(Prose):
    language = ENGLISH
    of_persons, of_things, leads = _OF_PERSONS, _OF_THINGS, _LEADS
    stop = "."

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
        world, dice, target = self._world, self._dice, slot.target
        if slot.own_name and not world.is_concept_article(self._page):
            title = bare(self.title(self._page))
            return ["" if _is_named(world, self._page) else "the ", title]
        if target is not None and not world.is_concept_article(target):
            return self._titled(target)
        likely = _PLURAL_LIKED if world.prefers_plural(self._page, slot.concept) else _PLURAL_ELSE
        plural = dice.chance(likely) and self.kind(slot) != "m"
        word = self._noun(slot.concept, plural)
        rate = _ADJECTIVE_RATE if target is None else _ADJECTIVE_RATE_OF_LINKS
        adjective = self.general("adjective") + " " if dice.chance(rate) else ""
        no_article = plural or self.kind(slot) == "m"
        if dice.chance(0.3 if no_article else 0.5):
            article = "the "
        else:
            article = "" if no_article else _indefinite(adjective or word)
        if target is None:
            return [article + adjective + word]
        return [article, Anchor(adjective + word, self.title(target), target)]

    def _titled(self, target: int) -> Sentence:
        title = self.title(target)
        article = "" if _is_named(self._world, target) else "the "
        return [article, Anchor(bare(title), title, target)]


def _is_named(world: World, page: int) -> bool:
    """Tell whether an entity's title takes no article."""
    is_person = world.concept(world.own_concept(page)).kind == "p"
    return is_person or "'s " in world.title(page)


def _indefinite(word: str) -> str:
    vowel = word[0] in "aeiou" and not word.startswith(("uni", "eu", "use", "one"))
    return "an " if vowel or word.startswith(("hour", "heir")) else "a "
