"""The pages of the sample encyclopedia, one after the other, with the truth about each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ssi_core.sample.dice import Dice
from ssi_core.sample.markup import WORDS, add_sentences, wikitext, year_title
from ssi_core.sample.prose_en import write_english
from ssi_core.sample.prose_ja import write_japanese
from ssi_core.sample.world import ENGLISH, JAPANESE, World, plan_world

FIRST_ID = 1000
IDS_AN_ARTICLE = 12
_OTHER_PAGES_EVERY = 25
_YEARS_EVERY = 100
_MAX_YEARS = 200
_FIRST_DAY = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class SamplePage:
    """A page as it stands in the dump, and what is true of it.

    ``text`` is the running text as a person reads it; ``links`` are the titles of the articles that
    it links to, redirects resolved, distinct, without years and missing pages; ``concepts`` are the
    first words of what it is about, its own concept first; ``mate`` is the title of the same
    article in the other language. A redirect has ``redirect``, the title it leads to, and no text.
    """

    id: int
    title: str
    language: str
    wikitext: str
    namespace: int = 0
    redirect: str | None = None
    text: str = ""
    links: tuple[str, ...] = ()
    subject: str = ""
    concepts: tuple[str, ...] = ()
    mate: str | None = None

    @property
    def revision(self) -> int:
        """Identifier of the revision."""
        return 10 * self.id + 7

    @property
    def timestamp(self) -> datetime:
        """Time of the revision, UTC."""
        return _FIRST_DAY + timedelta(seconds=10 * self.id)


def article_id(page: int) -> int:
    """Return the page id of an article, in either language."""
    return FIRST_ID + IDS_AN_ARTICLE * page


def sample_pages(documents: int, seed: int, language: str = ENGLISH) -> Iterator[SamplePage]:
    """Generate the pages of one edition: ``documents`` articles, and what stands between them.

    The Japanese edition has the articles with a mate only. Nothing is kept from page to page.
    """
    yield from pages_of(plan_world(documents, seed), language)


def pages_of(world: World, language: str, *, truth: bool = True) -> Iterator[SamplePage]:
    """Generate the pages of one edition of a planned encyclopedia.

    Without ``truth`` articles have no ``text`` and no ``links``.
    """
    for page in range(world.documents):
        if language == JAPANESE and not world.mate[page]:
            continue
        first = article_id(page)
        around = [_article(world, page, language, truth), *_redirects(world, page, language)]
        if page % _OTHER_PAGES_EVERY == 0:
            around += _other_pages(world, page, language)
        yield from (replace(around_page, id=first + n) for n, around_page in enumerate(around))
    last = article_id(world.documents)
    for n, year in enumerate(_years(world.documents)):
        yield _year_page(world, year, last + n, language)


def _article(world: World, page: int, language: str, truth: bool) -> SamplePage:
    links = [one for one in world.links(page) if language == ENGLISH or world.mate[one]]
    write = write_english if language == ENGLISH else write_japanese
    article = write(world, page, links)
    dice = Dice(world.seed, 6 if language == ENGLISH else 7, page)
    add_sentences(article, world, page, language, dice)
    other = JAPANESE if language == ENGLISH else ENGLISH
    return SamplePage(
        id=0,
        title=article.title,
        language=language,
        wikitext=wikitext(article, world, page, language, dice),
        text=article.text(WORDS[language].gap) if truth else "",
        links=tuple(world.title(target, language) for target in links if truth),
        subject=world.lexicon.subjects[world.subject(page)].english,
        concepts=tuple(
            world.concept(concept).english[0].singular for concept in world.focal_concepts(page)
        ),
        mate=world.title(page, other) if world.mate[page] else None,
    )


def _redirects(world: World, page: int, language: str) -> list[SamplePage]:
    title = world.title(page, language)
    names = [world.title(page, language, word) for word in world.other_words(page, language)]
    redirects = [_redirect(name, title, language) for name in names]
    if language == JAPANESE or not world.is_concept_article(page):
        return redirects
    noun = world.concept(world.own_concept(page)).english[0]
    if noun.plural == noun.singular:
        return redirects
    # A chain of two, a section, a page that does not exist, and the plain case.
    history = f"{title}#{WORDS[language].history}"
    goal = ((names or [title])[0], history, f"Lost {noun.singular}", title)[page % 4]
    redirects.append(_redirect(noun.plural.capitalize(), goal, language))
    if page % 10 == 0:
        forth, back = f"{title} (there)", f"{title} (back)"
        redirects += [_redirect(forth, back, language), _redirect(back, forth, language)]
    return redirects


def _redirect(title: str, goal: str, language: str) -> SamplePage:
    word = "#REDIRECT" if language == ENGLISH else "#転送"
    text = f"{word} [[{goal}]]\n\n{{{{R from other name}}}}"
    return SamplePage(0, title, language, text, redirect=goal)


def _other_pages(world: World, page: int, language: str) -> list[SamplePage]:
    title = world.title(page, language)
    talk = "Talk" if language == ENGLISH else "ノート"
    name = f"Sample {page}"
    return [
        SamplePage(0, f"{talk}:{title}", language, f"Is [[{title}]] a [[good page]]? ~~~~", 1),
        SamplePage(0, f"Template:{name}", language, f"{{{{{{1|}}}}}} [[{title}]]", 10),
        SamplePage(0, f"Category:{name}", language, f"See [[{title}]].", 14),
        SamplePage(0, f"Wikipedia:{name}", language, f"Rules for [[{title}]].", 4),
    ]


def _years(documents: int) -> list[int]:
    count = min(_MAX_YEARS, 3 + documents // _YEARS_EVERY)
    return [-44, 1984, *(year for year in range(1800, 2000) if year != 1984)][:count]


def _year_page(world: World, year: int, number: int, language: str) -> SamplePage:
    dice = Dice(world.seed, 8, year + 1000)
    drawn = dict.fromkeys(dice.below(world.documents) for _ in range(4))
    shown = [page for page in drawn if language == ENGLISH or world.mate[page]]
    title = year_title(year, language)
    titles = [world.title(page, language) for page in shown]
    lead = f"{title} was a year." if language == ENGLISH else f"{title}は年である。"
    listed = "\n".join(f"* [[{name}]]" for name in titles)
    return SamplePage(
        id=number,
        title=title,
        language=language,
        wikitext=f"'''{title}'''" + lead[len(title) :] + f"\n\n{listed}\n",
        text="\n".join([lead, *titles]),
        links=tuple(titles),
    )
