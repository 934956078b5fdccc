"""Advertisements for the articles of the sample, and a click log whose truth is known.

Some pages are visited much more than others. A visitor sees a slate of four to six of the page's
twelve advertisements. The one in position ``k`` is examined with probability ``EXAMINATION[k]``;
examined, it is clicked with a probability that is its relevance to the page, a function of hidden
topics: whether the concept of the advertisement is focal in the page, else whether the subjects
agree, else whether the page's subject uses the other. The order of a slate follows what advertisers
bid, which says nothing about relevance but is heard in their words: who counts all clicks alike
learns the bids. One visit in five is set aside for trials: its order is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from ssi_core.sample.dice import Dice
from ssi_core.sample.lexicon import CONCEPTS_A_SUBJECT
from ssi_core.sample.pages import article_id
from ssi_core.sample.world import World

EXAMINATION = (0.95, 0.62, 0.43, 0.31, 0.24, 0.19)
RELEVANCE = {"concept": 0.6, "subject": 0.3, "use": 0.15, "none": 0.03}
MAX_SESSIONS = 100_000
_SESSIONS_A_DOCUMENT = 10
_POOL = 12
_POPULARITY = 3.0
_SHORTEST, _LONGEST = 4, 6
_BID_NOISE = 0.3
_TRIALS = 0.2
_FIRST_MOMENT = datetime(2024, 1, 1, tzinfo=UTC)

_OFFERS = (
    "{adjective} {words} for sale in the {place}, {adjective} and {adjective2}, with {others}.",
    "Order {words} and {others} today: {adjective} {word} of the {period}, sent to every {place}.",
    "We keep {words} for the {place}. Ask for our {adjective} {word} and for {others}.",
    "Looking for {words}? Our {adjective} {word} comes with {others} this {period}.",
)
_LOUD = ("Exclusive!", "Premium choice.", "Limited offer!", "Finest quality.")
_QUIET = ("Bargain corner.", "Discount.", "Clearance prices.", "Second hand.")


@dataclass(frozen=True)
class Ad:
    """An advertisement: its text, the concept it sells, and what is bid for it (0..1)."""

    number: int
    concept: int
    bid: float
    text: str


class Showing(NamedTuple):
    """A row of the click log."""

    session: int
    time: datetime
    page: int
    ad: Ad
    position: int
    clicked: bool


def count_ads(world: World) -> int:
    """Return how many advertisements there are: about one for two articles."""
    active = world.subjects * CONCEPTS_A_SUBJECT
    return max(active, min(world.documents // 2, 20_000))


def count_sessions(world: World) -> int:
    """Return how many visits the log holds."""
    return min(_SESSIONS_A_DOCUMENT * world.documents, MAX_SESSIONS)


def _concept_of(world: World, number: int) -> int:
    return number % (world.subjects * CONCEPTS_A_SUBJECT)


def ad_of(world: World, number: int) -> Ad:
    """Return an advertisement by number."""
    dice = Dice(world.seed, 9, number)
    concept = _concept_of(world, number)
    bid = dice.uniform()
    first = concept // CONCEPTS_A_SUBJECT * CONCEPTS_A_SUBJECT
    other = first + (concept - first + 1 + dice.below(2)) % CONCEPTS_A_SUBJECT
    noun = dice.pick(world.concept(concept).english)
    general = world.lexicon.general
    text = dice.pick(_OFFERS).format(
        word=noun.singular,
        words=noun.plural,
        others=dice.pick(world.concept(other).english).plural,
        adjective=dice.pick(general["adjective"])[0],
        adjective2=dice.pick(general["adjective"])[0],
        place=dice.pick(general["place"])[0],
        period=dice.pick(general["period"])[0],
    )
    shout = dice.pick(_LOUD if bid > 0.5 else _QUIET)
    return Ad(number, concept, bid, f"{text[0].upper()}{text[1:]} {shout}")


def ads_of(world: World) -> Iterator[Ad]:
    """Generate all advertisements."""
    return (ad_of(world, number) for number in range(count_ads(world)))


def ad_relevance(world: World, page: int, concept: int) -> float:
    """Return the probability that a visitor of an article clicks an examined ad for a concept."""
    subject = concept // CONCEPTS_A_SUBJECT
    if concept in world.focal_concepts(page):
        return RELEVANCE["concept"]
    if subject == world.subject(page):
        return RELEVANCE["subject"]
    if any(subject == used // CONCEPTS_A_SUBJECT for used in world.used_concepts(page)):
        return RELEVANCE["use"]
    return RELEVANCE["none"]


def pool_of(world: World, page: int) -> list[int]:
    """Return the numbers of the advertisements that visitors of an article may see."""
    dice = Dice(world.seed, 11, page)
    numbers: dict[int, None] = {}
    while len(numbers) < _POOL:
        way = dice.uniform()
        if way < 0.35:
            concept = dice.pick(world.focal_concepts(page))
        elif way < 0.5:
            concept = world.subject(page) * CONCEPTS_A_SUBJECT + dice.below(CONCEPTS_A_SUBJECT)
        elif way < 0.6:
            concept = dice.pick(world.used_concepts(page))
        else:
            concept = dice.below(world.subjects * CONCEPTS_A_SUBJECT)
        numbers[_some_ad(world, concept, dice)] = None
    return list(numbers)


def click_log(
    world: World, sessions: int | None = None, popularity: float = _POPULARITY
) -> Iterator[Showing]:
    """Generate the log, visit after visit, in the order of time.

    Parameters
    ----------
    sessions : int or None
        Visits; None: `count_sessions`.
    popularity : float
        1 if all pages are visited alike, more if some are visited more.
    """
    # They number 20,000 at most, and each is shown many times.
    ads = list(ads_of(world))

    @lru_cache(1 << 14)
    def shown_on(page: int) -> list[tuple[Ad, float]]:
        pool = [ads[number] for number in pool_of(world, page)]
        return [(ad, ad_relevance(world, page, ad.concept)) for ad in pool]

    moment = _FIRST_MOMENT
    for session in range(count_sessions(world) if sessions is None else sessions):
        dice = Dice(world.seed, 10, session)
        moment += timedelta(seconds=1 + dice.below(300))
        page = dice.skewed_below(world.documents, popularity)
        for position, (ad, relevance) in enumerate(_slate(shown_on(page), dice)):
            examined = dice.chance(EXAMINATION[position])
            clicked = dice.chance(relevance) and examined
            yield Showing(session, moment, page, ad, position + 1, clicked)


def _slate(pool: list[tuple[Ad, float]], dice: Dice) -> list[tuple[Ad, float]]:
    """Draw some of the pool, ordered by noisy bids, or at random for a trial."""
    length = _SHORTEST + dice.below(_LONGEST - _SHORTEST + 1)
    left = list(pool)
    drawn = [left.pop(dice.below(len(left))) for _ in range(length)]
    if dice.chance(_TRIALS):
        return drawn
    noisy = {ad.number: ad.bid + _BID_NOISE * dice.uniform() for ad, _ in drawn}
    return sorted(drawn, key=lambda shown: -noisy[shown[0].number])


def true_relevance(world: World) -> Iterator[tuple[str, str, float]]:
    """Generate id of article, id of advertisement and relevance of all that can be shown."""
    for page in range(world.documents):
        for number in pool_of(world, page):
            relevance = ad_relevance(world, page, _concept_of(world, number))
            yield str(article_id(page)), f"a{number}", relevance


def _some_ad(world: World, concept: int, dice: Dice) -> int:
    active = world.subjects * CONCEPTS_A_SUBJECT
    return concept + active * dice.below((count_ads(world) - concept - 1) // active + 1)


def log_rows(world: World) -> Iterator[tuple[Showing, tuple[str, ...]]]:
    """Generate the log with its rows as text, `LOG_COLUMNS`."""
    visit: tuple[str, ...] = ()
    for showing in click_log(world):
        if showing.position == 1:
            moment = f"{showing.time:%Y-%m-%dT%H:%M:%SZ}"
            page = str(article_id(showing.page))
            visit = (f"s{showing.session}", moment, page, world.title(showing.page))
        ad = showing.ad
        shown = (f"a{ad.number}", ad.text, str(showing.position), "1" if showing.clicked else "0")
        yield showing, (*visit, *shown)


LOG_COLUMNS = ("session", "time", "page", "title", "ad", "text", "position", "clicked")
AD_COLUMNS = ("ad", "text")
