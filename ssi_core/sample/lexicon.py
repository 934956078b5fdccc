"""The words of the sample encyclopedia: subjects, concepts, synonyms, Japanese equivalents.

They are read from ``lexicon.tsv``, which lies beside this file and was written for this project.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

CONCEPTS_A_SUBJECT = 15
KINDS = {"n": "countable", "m": "mass", "p": "person"}


@dataclass(frozen=True)
class Noun:
    """An English noun with its plural; a mass noun has the same word for both."""

    singular: str
    plural: str


@dataclass(frozen=True)
class Concept:
    """A thing and all words for it."""

    kind: str
    subject: int
    english: tuple[Noun, ...]
    japanese: tuple[str, ...]


@dataclass(frozen=True)
class Subject:
    """A field of knowledge: its concepts are ``CONCEPTS_A_SUBJECT`` consecutive numbers.

    ``uses`` are concepts of other subjects that its pages point to; the relation is directed.
    """

    english: str
    japanese: str
    uses: tuple[int, ...]


@dataclass(frozen=True)
class Lexicon:
    """All words. ``general`` maps a class (``place``, ``style`` ...) to (English, Japanese)."""

    subjects: tuple[Subject, ...]
    concepts: tuple[Concept, ...]
    general: dict[str, tuple[tuple[str, str], ...]]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Return every English word, in the singular, with a Japanese equivalent."""
        for subject in self.subjects:
            yield subject.english, subject.japanese
        for concept in self.concepts:
            for number, noun in enumerate(concept.english):
                yield noun.singular, concept.japanese[number % len(concept.japanese)]
        for pairs in self.general.values():
            yield from pairs


def plural_of(word: str) -> str:
    """Return the regular English plural.

    >>> plural_of("car"), plural_of("cherry"), plural_of("box"), plural_of("key")
    ('cars', 'cherries', 'boxes', 'keys')
    """
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def _noun(text: str, kind: str) -> Noun:
    singular, _, plural = text.partition("/")
    if kind == "m":
        return Noun(singular, singular)
    return Noun(singular, plural or plural_of(singular))


@cache
def load_lexicon() -> Lexicon:
    """Read the lexicon that comes with the package."""
    text = files("ssi_core.sample").joinpath("lexicon.tsv").read_text(encoding="utf-8")
    names: list[tuple[str, str]] = []
    uses: list[list[str]] = []
    concepts: list[Concept] = []
    general: dict[str, list[tuple[str, str]]] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        kind, first, *rest = line.split("\t")
        if kind == "subject":
            names.append((first, rest[0]))
        elif kind == "uses":
            uses.append(first.split())
        elif kind in KINDS:
            nouns = tuple(_noun(word, kind) for word in first.split())
            concepts.append(Concept(kind, len(names) - 1, nouns, tuple(rest[0].split())))
        else:
            general.setdefault(kind, []).append((first, rest[0]))
    number = {concept.english[0].singular: n for n, concept in enumerate(concepts)}
    subjects = tuple(
        Subject(*name, tuple(number[word] for word in used))
        for name, used in zip(names, uses, strict=True)
    )
    return Lexicon(subjects, tuple(concepts), {k: tuple(v) for k, v in general.items()})
