"""Outline of an article without words: a list of slots, which the sentences fill in turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ssi_core.sample.dice import Dice
from ssi_core.sample.lexicon import CONCEPTS_A_SUBJECT
from ssi_core.sample.world import World

WORDS_A_SLOT = 5.0

# What a slot without a link is filled with.
_OWN_NAME, _OWN_CONCEPT, _FOCAL, _SUBJECT = range(4)
_FILLS = (0.15, 0.5, 0.2, 0.15)


@dataclass(frozen=True)
class Slot:
    """A place in a sentence: a concept, perhaps as a link, or the article's own name."""

    concept: int
    target: int | None = None
    own_name: bool = False


@dataclass(frozen=True)
class Anchor:
    """A link in running text: what is read, the title behind it, and the article's number.

    The number is -1 for a title that is no article of the plan: a year, a page that is missing.
    """

    label: str
    target: str
    page: int = -1


@dataclass(frozen=True)
class Markup:
    """Wikitext that is read differently from how it is written, or not at all."""

    label: str
    wikitext: str


Sentence: TypeAlias = "list[str | Anchor | Markup]"


@dataclass
class Article:
    """Running text: sentences under headings (the lead has none), and a list at the end."""

    title: str
    sections: list[tuple[str, list[Sentence]]]
    listed: list[Anchor] = field(default_factory=list)

    def text(self, gap: str) -> str:
        """Return the plain text of sentences and list, a paragraph a line."""
        lines = [gap.join(plain(s) for s in sentences) for _, sentences in self.sections]
        return "\n".join([*lines, *(anchor.label for anchor in self.listed)])


def plain(sentence: Sentence) -> str:
    """Return a sentence as it is read."""
    return "".join([chunk if isinstance(chunk, str) else chunk.label for chunk in sentence])


def capitalised(sentence: Sentence) -> Sentence:
    """Return a sentence with a capital at its start, without empty chunks."""
    chunks = [chunk for chunk in sentence if chunk != ""]
    first = chunks[0]
    if isinstance(first, Anchor):
        chunks[0] = replace(first, label=first.label[0].upper() + first.label[1:])
    elif isinstance(first, str):
        chunks[0] = first[0].upper() + first[1:]
    return chunks


def bare(title: str) -> str:
    """Return a title without its qualifier in parentheses.

    >>> bare("Ada Marlow (physician)")
    'Ada Marlow'
    """
    return title.split(" (")[0]


def slots_of(world: World, page: int, links: list[int], dice: Dice) -> list[Slot]:
    """Draw what an article says, in the order in which it says it."""
    count = int(world.length[page] / WORDS_A_SLOT)
    slots = [Slot(world.own_concept(target), target) for target in links]
    focal = world.focal_concepts(page)
    slots += [_mention(focal, dice) for _ in range(count - len(slots))]
    return dice.shuffled(slots)


def _mention(focal: list[int], dice: Dice) -> Slot:
    subject, *others = focal
    kind = dice.weighted(_FILLS)
    if kind == _OWN_NAME:
        return Slot(subject, own_name=True)
    if kind == _OWN_CONCEPT:
        return Slot(subject)
    if kind == _FOCAL:
        return Slot(dice.pick(others))
    first = subject // CONCEPTS_A_SUBJECT * CONCEPTS_A_SUBJECT
    return Slot(first + dice.below(CONCEPTS_A_SUBJECT))


class Supply:
    """Hands out slots, so that one sentence does not name a thing twice.

    ``spare`` are handed out where no other is left.
    """

    def __init__(self, slots: list[Slot], spare: list[Slot]) -> None:
        self._slots, self._spare = slots[::-1], spare

    def __bool__(self) -> bool:
        return bool(self._slots)

    def peek(self) -> Slot:
        """Return the next slot and leave it."""
        return self._slots[-1]

    def take(self, count: int) -> list[Slot]:
        """Return ``count`` slots."""
        taken: list[Slot] = []
        for _ in range(count):
            used = {slot.concept for slot in taken}
            late = len(self._slots) - 1
            look = range(late, max(late - 10, -1), -1)
            fresh = next((n for n in look if self._slots[n].concept not in used), None)
            spare = (slot for slot in self._spare if slot.concept not in used)
            taken.append(next(spare) if fresh is None else self._slots.pop(fresh))
        return taken


def grouped(
    sentences: Iterator[Sentence], headings: list[str], dice: Dice
) -> list[tuple[str, list[Sentence]]]:
    """Cut sentences into a lead of two to four and sections of three to seven."""
    sections: list[tuple[str, list[Sentence]]] = [("", [])]
    left = 2 + dice.below(3)
    for sentence in sentences:
        if left == 0 and headings:
            sections.append((headings.pop(), []))
            left = 3 + dice.below(5)
        sections[-1][1].append(sentence)
        left = max(left - 1, 0)
    return sections
