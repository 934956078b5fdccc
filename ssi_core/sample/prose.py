"""Sentences of an article, in any language: a language has its patterns and its noun phrases."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import ClassVar

from ssi_core.sample.dice import Dice
from ssi_core.sample.draft import Markup, Sentence, Slot, Supply, bare, capitalised
from ssi_core.sample.world import World

_FIELD = re.compile(r"{(\w+)}")


@cache
def _parts(pattern: str) -> list[str]:
    """Split a pattern into text and names, alternating."""
    return _FIELD.split(pattern)


class Prose(ABC):
    """Writer of the sentences of one article.

    Attributes
    ----------
    language : str
        Language code of the sentences.
    of_persons, of_things : sequence of str
        Patterns of sentences: {a} {b} {c} are things of the article, and the other names classes of
        general words.
    leads : mapping
        Pattern of the first sentence, by the kind of the subject; "" of an article on a concept.
    stop : str
        What follows a sentence.
    """

    language: ClassVar[str]
    of_persons: ClassVar[Sequence[str]]
    of_things: ClassVar[Sequence[str]]
    leads: ClassVar[Mapping[str, str]]
    stop: ClassVar[str]

    def __init__(self, world: World, page: int, dice: Dice, supply: Supply) -> None:
        self._world, self._page, self._dice, self._supply = world, page, dice, supply

    @abstractmethod
    def general(self, field: str) -> str:
        """Return a general word, or what else a name in a pattern stands for."""

    @abstractmethod
    def noun_phrase(self, slot: Slot) -> Sentence:
        """Return the words for a thing of the article."""

    def sentences(self) -> Iterator[Sentence]:
        """Yield the first sentence, and others while there are things to write about."""
        supply, things = self._supply, self._world.things(self._page)
        yield self._filled(self._lead(), [Slot(concept) for concept in things[:3]])
        pattern = ""
        while supply:
            patterns = self.of_persons if self.kind(supply.peek()) == "p" else self.of_things
            pattern = self._dice.pick([p for p in patterns if p != pattern])
            yield self._filled(pattern, supply.take(3 if "{c}" in pattern else 2))

    def kind(self, slot: Slot) -> str:
        """Return the kind of the concept of a thing: "p" is a person."""
        return self._world.concept(slot.concept).kind

    def title(self, page: int) -> str:
        """Return the title of an article."""
        return self._world.title(page, self.language)

    def _lead(self) -> str:
        world, page = self._world, self._page
        on_concept = world.is_concept_article(page)
        return self.leads["" if on_concept else world.concept(world.own_concept(page)).kind]

    def _filled(self, pattern: str, slots: list[Slot]) -> Sentence:
        named = dict(zip("abc", slots, strict=False))
        sentence: Sentence = []
        for n, part in enumerate(_parts(pattern)):
            if n % 2 == 0:
                sentence.append(part)
            elif part in named:
                sentence += self.noun_phrase(named[part])
            elif part == "title":
                title = bare(self.title(self._page))
                sentence.append(Markup(title, f"'''{title}'''"))
            else:
                sentence.append(self.general(part))
        return [*capitalised(sentence), self.stop]
