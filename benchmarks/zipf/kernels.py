"""Texts and links of a made-up collection of any size: words by Zipf's law, links by topic.

A document is drawn from its number alone, so that any part of a collection can be made apart. Words
of a text are of five kinds: of all texts, of its subject (`COMMUNITIES` communities), of its
community, and a few of its own. A community has two words for each thing, and a text uses one of
them: whoever learns from the links finds out which belong together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ssi_core.kernels import jit
from ssi_core.kernels.training.random import next_uint64

COMMUNITIES = 50
"""Communities of a subject."""
MEMBERS = 50
"""Documents of a community; the last one may have fewer."""
WORD = 10
"""Bytes of a word and of what follows it, at most."""
LONGEST, MOST_LINKS = 6000, 300
"""Words of a text, and links of it, at most."""
_SHORTEST = 20
_SENTENCE = 17

_GENERAL, _SUBJECT, _COMMUNITY = 0.45, 0.70, 0.92
_SUBJECT_WORDS, _COMMUNITY_WORDS, _OWN_WORDS = 300, 80, 12
_LINK_COMMUNITY, _LINK_SUBJECT = 0.60, 0.85
_HEAD = 5.0
"""The document of rank r that all link to has (r + 5)^-0.8 of these links."""

_CONSONANTS = np.frombuffer(b"bcdfghjklmnprstvwzxq", np.uint8)
_VOWELS = np.frombuffer(b"aeiou", np.uint8)
_SYLLABLES = 100
_STOP, _SPACE, _CAPITAL = np.uint8(ord(".")), np.uint8(ord(" ")), np.uint8(32)
_SHIFT = np.uint64(11)


class World(NamedTuple):
    """A collection that is to be made.

    ``documents`` and ``words``: how many. ``stride``, ``inverse``: ``stride * inverse = 1`` modulo
    ``documents``; they lay the members of a community far apart. ``scatter`` does the same for
    the documents that all link to.
    """

    documents: Any
    words: Any
    seed: Any
    stride: Any
    inverse: Any
    scatter: Any


@jit
def uniform(state: NDArray[np.uint64]) -> Any:
    """Return a number of [0, 1), of 53 random bits."""
    return np.float64(next_uint64(state) >> _SHIFT) / 9007199254740992.0


@jit
def seed_of(state: NDArray[np.uint64], seed: int, kind: int, number: int) -> None:
    """Set a state by a seed, the kind of draw, and its number."""
    state[0] = np.uint64(seed * 1000003 + kind)
    state[0] = next_uint64(state) ^ np.uint64(number)
    next_uint64(state)


@jit
def slot_of(world: World, document: int) -> int:
    """Return the place of a document: members of a community are neighbours."""
    return int(world.stride * document % world.documents)


@jit
def document_of(world: World, slot: int) -> int:
    """Return the document of a place; the inverse of `slot_of`."""
    return int(world.inverse * slot % world.documents)


@jit
def word_between(world: World, low: int, high: int, u: float) -> int:
    """Return a word of frequency rank [low, high), log-uniform: Zipf's law, exponent 1."""
    most = int(max(2, min(high, world.words)))
    least = int(min(low, most // 2))
    return int(min(most - 1, (least + 1) * ((most + 1) / (least + 1)) ** u - 1))


@jit
def fixed_word(world: World, low: int, high: int, kind: int, number: int, scratch: Any) -> int:
    """Return the word that belongs to a thing, by its kind and its number."""
    seed_of(scratch, world.seed, kind, number)
    return word_between(world, low, high, uniform(scratch))


@jit
def draw_word(world: World, document: int, state: Any, scratch: Any) -> int:
    """Draw a word of a text."""
    kind, u = uniform(state), uniform(state)
    if kind < _GENERAL:
        return word_between(world, 0, world.words, u)
    community = slot_of(world, document) // MEMBERS
    if kind < _SUBJECT:
        thing = int(_SUBJECT_WORDS * u * u)
        subject = community // COMMUNITIES
        number = subject * _SUBJECT_WORDS + thing
        return fixed_word(world, 100, world.words // 4, 1, number, scratch)
    if kind < _COMMUNITY:
        thing = int(_COMMUNITY_WORDS * u * u)
        seed_of(scratch, world.seed, 2, document * _COMMUNITY_WORDS + thing)
        which = int(2.0 * uniform(scratch))
        number = 2 * (community * _COMMUNITY_WORDS + thing) + which
        return fixed_word(world, 1000, world.words, 3, number, scratch)
    number = document * _OWN_WORDS + int(_OWN_WORDS * u)
    return fixed_word(world, world.words // 50, world.words, 4, number, scratch)


@jit
def write_word(word: int, out: NDArray[np.uint8], position: int) -> int:
    """Write the letters of a word, syllables of a consonant and a vowel; return where it ends."""
    syllables, span, rest = 1, _SYLLABLES, int(word)
    while rest >= span:
        rest -= span
        span *= _SYLLABLES
        syllables += 1
    for n in range(syllables - 1, -1, -1):
        syllable = rest % _SYLLABLES
        rest //= _SYLLABLES
        out[position + 2 * n] = _CONSONANTS[syllable // 5]
        out[position + 2 * n + 1] = _VOWELS[syllable % 5]
    return position + 2 * syllables


@jit
def normal(state: NDArray[np.uint64]) -> Any:
    """Return a standard normal number (Box and Muller)."""
    radius = np.sqrt(-2.0 * np.log(1.0 - uniform(state)))
    return radius * np.cos(2.0 * np.pi * uniform(state))


@jit
def draw_lengths(world: World, first: int, lengths: Any, state: Any) -> int:
    """Draw the words of each text, log-normal with a median of 270; return their sum.

    Parameters
    ----------
    first : int
        First document.
    lengths : int64 (n,)
        Written: the words of n documents.
    """
    total = 0
    for n in range(len(lengths)):
        seed_of(state, world.seed, 5, first + n)
        drawn = int(270.0 * np.exp(0.9 * normal(state)))
        lengths[n] = min(LONGEST, max(_SHORTEST, drawn))
        total += lengths[n]
    return total


@jit
def write_texts(
    world: World, first: int, lengths: Any, out: Any, ends: Any, state: Any, scratch: Any
) -> None:
    """Write the texts of some documents one after the other.

    Parameters
    ----------
    first : int
        First document.
    lengths : int64 (n,)
        Words of each text.
    out : uint8
        Written; at least `WORD` times all words.
    ends : int64 (n,)
        Written: where each text ends.
    state, scratch : uint64 (1,)
        Overwritten.
    """
    position = 0
    for n in range(len(lengths)):
        seed_of(state, world.seed, 6, first + n)
        for number in range(lengths[n]):
            begin = position
            word = draw_word(world, first + n, state, scratch)
            position = write_word(word, out, position)
            if number % _SENTENCE == 0:
                out[begin] -= _CAPITAL
            if number % _SENTENCE == _SENTENCE - 1 or number == lengths[n] - 1:
                out[position] = _STOP
                position += 1
            out[position] = _SPACE
            position += 1
        position -= 1
        ends[n] = position


@jit
def draw_links(world: World, first: int, starts: Any, targets: Any, state: Any) -> int:
    """Draw the distinct links of some documents; in-degrees follow a power law.

    Six of ten lead into the community, a quarter into the subject, the others anywhere.

    Parameters
    ----------
    first : int
        First document.
    starts : int64 (n + 1,)
        Written: where the links of each document begin.
    targets : int64
        Written, ascending for each document; at least `MOST_LINKS` times n.

    Returns
    -------
    int
        How many there are.
    """
    total = 0
    for n in range(len(starts) - 1):
        starts[n], source = total, first + n
        seed_of(state, world.seed, 7, source)
        slot = slot_of(world, source)
        drawn = int(10.5 * np.exp(normal(state)))
        for _ in range(min(MOST_LINKS, max(1, drawn))):
            target = document_of(world, _slot_linked(world, slot, state))
            position = total
            while position > starts[n] and targets[position - 1] > target:
                position -= 1
            seen = position > starts[n] and targets[position - 1] == target
            if target != source and not seen:
                for t in range(total, position, -1):
                    targets[t] = targets[t - 1]
                targets[position] = target
                total += 1
    starts[len(starts) - 1] = total
    return total


@jit
def _slot_linked(world: World, slot: int, state: Any) -> int:
    kind, u = uniform(state), uniform(state)
    if kind >= _LINK_SUBJECT:
        least, most = _HEAD**0.2, (world.documents + _HEAD) ** 0.2
        rank = int((least + u * (most - least)) ** 5 - _HEAD)
        return int(min(rank, world.documents - 1) * world.scatter % world.documents)
    size = int(MEMBERS) if kind < _LINK_COMMUNITY else int(MEMBERS * COMMUNITIES)
    begin = slot // size * size
    members = min(size, world.documents - begin)
    return begin + int(members * (u * u if kind < _LINK_COMMUNITY else u * u * u))
