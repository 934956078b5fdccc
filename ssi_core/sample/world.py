"""The plan of the sample encyclopedia: what each article is about, and what it links to.

An article is about an entity with a made-up name, or about a concept itself ("Car"). It belongs to
a subject and has two to four focal concepts, of which the first is its own; neighbours in the
lexicon tend to be focal together. One author writes it, who has one word for each thing.

Links are directed. They hang on things that an article mentions: its focal concepts, the best known
concepts of its subject, two kindred ones, or concepts of other subjects that the subject *uses*:
articles on baking point to wheat, articles on wheat do not point back. Most lead to the article on
the thing, and the others to one of its entities, which is then named.

The plan is a few bytes an article; titles and links are computed when asked for, from the seed and
the number of the article alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ssi_core.sample.dice import Dice
from ssi_core.sample.lexicon import CONCEPTS_A_SUBJECT, Concept, Lexicon, load_lexicon
from ssi_core.sample.names import first_name_of, name_of

MIN_DOCUMENTS = 20
MATE_SHARE = 0.7
ENGLISH, JAPANESE = "en", "ja"
LANGUAGES = (ENGLISH, JAPANESE)

_FOCAL_WEIGHTS = (0.4, 0.25, 0.2, 0.15)
_USE_WEIGHTS = (0.4, 0.35, 0.25)
_TOPIC, _SUBJECT, _KIN, _USE = range(4)
_LINK_KINDS = (0.48, 0.24, 0.2, 0.08)
# Not each other's turns back: kindred articles seldom point to each other.
_KIN_STEPS = (5, 7)
_POPULARITY = 3.0
_ARTICLE_SHARE = 0.65
_DOCUMENTS_A_SUBJECT = 40
_PAGES_A_NAME = 3
_TITLES_KEPT = 1024
# A dialect is a number below 12: modulo 2 or 3 a synonym, from 6 on a liking for the plural.
_DIALECTS, _PLURAL_FROM = 12, 6

Ints: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class World:
    """Plan of all articles; arrays have one row per article.

    ``focal`` int16 (n, 4), -1 where there are fewer; ``name`` int32, -1 for an article on a
    concept; ``author`` int16; ``form`` int8, shape of the title; ``length`` int16, words of running
    text; ``mate`` bool; ``dialect`` int8 (2 languages, authors, concepts), the author's word for a
    thing; ``article_of`` int32, the article on each concept or -1; ``entities`` lists the other
    articles whose own concept it is: (start, articles).
    """

    seed: int
    documents: int
    lexicon: Lexicon
    subjects: int
    focal: NDArray[np.int16]
    name: Ints
    author: NDArray[np.int16]
    form: NDArray[np.int8]
    length: NDArray[np.int16]
    mate: NDArray[np.bool_]
    dialect: NDArray[np.int8]
    article_of: Ints
    entities: tuple[Ints, Ints]

    def concept(self, number: int) -> Concept:
        """Return a concept by number."""
        return self.lexicon.concepts[number]

    def own_concept(self, page: int) -> int:
        """Return the concept that an article is about in the first place."""
        concept: int = self.focal.item(page, 0)
        return concept

    def focal_concepts(self, page: int) -> list[int]:
        """Return the concepts of an article, its own first."""
        return [concept for concept in self.focal[page].tolist() if concept >= 0]

    def things(self, page: int) -> list[int]:
        """Return the concepts of an article, and then others of its subject."""
        focal = self.focal_concepts(page)
        return list(dict.fromkeys([*focal, *(_within(focal[0], n) for n in range(3))]))

    def subject(self, page: int) -> int:
        """Return the subject of an article."""
        return self.own_concept(page) // CONCEPTS_A_SUBJECT

    def is_concept_article(self, page: int) -> bool:
        """Tell whether the article is about a concept itself."""
        return self.name.item(page) < 0

    def word(self, page: int, concept: int, language: str) -> int:
        """Return which of its synonyms for a concept the author of an article uses."""
        if self.is_concept_article(page) and concept == self.own_concept(page):
            return 0
        thing = self.concept(concept)
        words = thing.english if language == ENGLISH else thing.japanese
        side = LANGUAGES.index(language)
        return self.dialect.item(side, self.author.item(page), concept) % len(words)

    def prefers_plural(self, page: int, concept: int) -> bool:
        """Tell whether the author of an article prefers the plural."""
        return self.dialect.item(0, self.author.item(page), concept) >= _PLURAL_FROM

    def entity(self, page: int, language: str) -> str:
        """Return the proper name in a title, or nothing for an article on a concept."""
        if self.is_concept_article(page):
            return ""
        side = LANGUAGES.index(language)
        name = name_of(self.name.item(page))[side]
        if self.concept(self.own_concept(page)).kind != "p":
            return name
        first = first_name_of(self.form.item(page))[side]
        return f"{first} {name}" if language == ENGLISH else f"{first}・{name}"

    def title(self, page: int, language: str = ENGLISH, word: int = 0) -> str:
        """Return the title, which has the first word for a thing; redirects have the others."""
        return self._titles(page, language, word)

    @cached_property
    def _titles(self) -> Callable[[int, str, int], str]:
        # Half of the links lead to few articles.
        return lru_cache(_TITLES_KEPT)(self._title)

    def _title(self, page: int, language: str, word: int) -> str:
        concept = self.concept(self.own_concept(page))
        entity, form = self.entity(page, language), self.form.item(page)
        if language == JAPANESE:
            return _japanese_title(concept.japanese[word], concept.kind, entity, form)
        return _english_title(concept.english[word].singular, concept.kind, entity, form)

    def other_words(self, page: int, language: str) -> list[int]:
        """Return the synonyms under which redirects lead to an article."""
        if not self.is_concept_article(page) and self.form[page] % 4 != 0:
            return []
        concept = self.concept(self.own_concept(page))
        words: Sequence[object] = concept.english if language == ENGLISH else concept.japanese
        return list(range(1, len(words)))

    def used_concepts(self, page: int) -> list[int]:
        """Return the concepts of other subjects that an article points to, strongest first."""
        return self._used(self.own_concept(page))

    @cached_property
    def _used(self) -> Callable[[int], list[int]]:
        return lru_cache(None)(self._used_by)

    def _used_by(self, concept_of_page: int) -> list[int]:
        """Return the concepts that the subject of a page uses, in the order of this page."""
        active = self.subjects * CONCEPTS_A_SUBJECT
        uses = self.lexicon.subjects[concept_of_page // CONCEPTS_A_SUBJECT].uses
        # A small sample has the first subjects only, and each of them uses some of the others.
        concepts = [use for use in uses if use < active]
        # Which of them comes first depends on the article's own concept.
        turn = concept_of_page % len(concepts)
        return concepts[turn:] + concepts[:turn]

    def links(self, page: int) -> list[int]:
        """Return the articles that an article links to, distinct, in the order of drawing."""
        dice, focal = Dice(self.seed, 1, page), self.focal_concepts(page)
        wanted = 8 + int(self.length[page]) // 20
        targets: dict[int, None] = {}
        for _ in range(3 * wanted):
            target = self._target(self._linked_concept(page, focal, dice), dice)
            if target not in (page, -1):
                targets[target] = None
            if len(targets) == wanted:
                break
        return list(targets)

    def _linked_concept(self, page: int, focal: list[int], dice: Dice) -> int:
        kind = dice.weighted(_LINK_KINDS)
        if kind == _TOPIC:
            return focal[min(dice.weighted(_FOCAL_WEIGHTS), len(focal) - 1)]
        if kind == _SUBJECT:
            return _within(focal[0], dice.skewed_below(CONCEPTS_A_SUBJECT, 2))
        if kind == _KIN:
            return _turned(focal[0], dice.pick(_KIN_STEPS))
        used = self.used_concepts(page)
        return used[min(dice.weighted(_USE_WEIGHTS), len(used) - 1)]

    def _target(self, concept: int, dice: Dice) -> int:
        start, pages = self.entities
        among = pages[start[concept] : start[concept + 1]]
        if len(among) == 0 or dice.chance(_ARTICLE_SHARE):
            return int(self.article_of[concept])
        return int(among[dice.skewed_below(len(among), _POPULARITY)])


def _turned(concept: int, step: int) -> int:
    return _within(concept, (concept + step) % CONCEPTS_A_SUBJECT)


def _within(concept: int, position: int) -> int:
    return concept // CONCEPTS_A_SUBJECT * CONCEPTS_A_SUBJECT + position


def _english_title(word: str, kind: str, entity: str, form: int) -> str:
    if not entity:
        return word.capitalize()
    if kind == "p":
        return f"{entity} ({word})"
    if form % 3 == 0 or kind == "m":
        return f"{entity} {word}"
    return f"{word.capitalize()} of {entity}" if form % 3 == 1 else f"{entity}'s {word}"


def _japanese_title(word: str, kind: str, entity: str, form: int) -> str:
    if not entity:
        return word
    if kind == "p":
        return f"{entity} ({word})"
    return f"{entity}'s {word}" if kind == "n" and form % 3 == 2 else f"{entity}の{word}"


def plan_world(documents: int, seed: int) -> World:
    """Draw the plan of an encyclopedia of ``documents`` articles.

    Raises
    ------
    ValueError
        Fewer than 20 articles, or a negative seed.
    """
    if documents < MIN_DOCUMENTS:
        raise ValueError(f"documents={documents}: expected at least {MIN_DOCUMENTS}")
    if seed < 0:
        raise ValueError(f"seed={seed}: expected 0 or more")
    lexicon = load_lexicon()
    rng = np.random.default_rng(seed)
    subjects = min(len(lexicon.subjects), max(4, documents // _DOCUMENTS_A_SUBJECT))
    active = subjects * CONCEPTS_A_SUBJECT
    own_articles = min(active, documents * 2 // 5)
    order = rng.permutation(documents)
    primary = np.empty(documents, np.int16)
    name = np.full(documents, -1, np.int32)
    primary[order[:own_articles]] = rng.permutation(active)[:own_articles]
    entities = order[own_articles:]
    # Entities of one name belong to different subjects, whose words differ: titles are unique.
    turns, names = np.divmod(np.arange(len(entities)), -(-len(entities) // _PAGES_A_NAME))
    base = rng.integers(subjects, size=names.max() + 1)
    offsets = rng.integers(CONCEPTS_A_SUBJECT, size=len(entities))
    primary[entities] = (base[names] + turns) % subjects * CONCEPTS_A_SUBJECT + offsets
    name[entities] = names
    focal = _draw_focal(primary, rng)
    article_of = np.full(active, -1, np.int32)
    article_of[primary[order[:own_articles]]] = order[:own_articles]
    authors = min(400, 30 + documents // 40)
    length = np.clip(rng.lognormal(np.log(130), 0.45, documents), 60, 300)
    return World(
        seed=seed,
        documents=documents,
        lexicon=lexicon,
        subjects=subjects,
        focal=focal,
        name=name,
        author=rng.integers(authors, size=documents).astype(np.int16),
        form=rng.integers(96, size=documents).astype(np.int8),
        length=length.astype(np.int16),
        mate=rng.random(documents) < MATE_SHARE,
        dialect=rng.integers(_DIALECTS, size=(len(LANGUAGES), authors, active)).astype(np.int8),
        article_of=article_of,
        entities=_entities(primary, name, active),
    )


def _draw_focal(primary: NDArray[np.int16], rng: np.random.Generator) -> NDArray[np.int16]:
    documents = len(primary)
    subject, position = np.divmod(primary, CONCEPTS_A_SUBJECT)
    focal = np.full((documents, 4), -1, np.int16)
    focal[:, 0] = primary
    count = rng.choice([2, 3, 4], p=[0.3, 0.4, 0.3], size=documents)
    for column, step in enumerate((1, 2, 3), start=1):
        near = rng.random(documents) < 0.7
        # Far steps are 4, 7, 10 in the first column, 5, 8, 11 and 6, 9, 12 in the others: distinct.
        far = step + 3 + 3 * rng.integers(3, size=documents)
        chosen = (position + np.where(near, step, far)) % CONCEPTS_A_SUBJECT
        focal[:, column] = np.where(column < count, subject * CONCEPTS_A_SUBJECT + chosen, -1)
    return focal


def _entities(primary: NDArray[np.int16], name: Ints, concepts: int) -> tuple[Ints, Ints]:
    (pages,) = np.nonzero(name >= 0)
    pages = pages[np.argsort(primary[pages], kind="stable")]
    start = np.searchsorted(primary[pages], np.arange(concepts + 1))
    return start.astype(np.int32), pages.astype(np.int32)
