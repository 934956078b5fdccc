"""The sample encyclopedia: synthetic text in the formats of the real thing, of any size.

A seeded generator writes an English and a Japanese edition with links, their interlanguage links, a
dictionary between them, and an advertisement click log. Articles on one subject use different words
for one thing; whoever learns from the links finds out which.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

from ssi_core.sample.clicks import (
    AD_COLUMNS,
    EXAMINATION,
    LOG_COLUMNS,
    RELEVANCE,
    ad_relevance,
    ads_of,
    log_rows,
    true_relevance,
)
from ssi_core.sample.dumps import DumpWriter, LanglinksWriter, whole_file
from ssi_core.sample.lexicon import load_lexicon
from ssi_core.sample.pages import SamplePage, pages_of, sample_pages
from ssi_core.sample.world import ENGLISH, JAPANESE, World, plan_world
from ssi_core.store import Artefact, Building, open_or_make
from ssi_core.types import Progress

__all__ = [
    "EXAMINATION",
    "RELEVANCE",
    "SamplePage",
    "World",
    "ad_relevance",
    "make_sample",
    "plan_world",
    "sample_pages",
    "write_sample",
]

ENGLISH_DUMP = "enwiki-sample-pages-articles.xml.bz2"
JAPANESE_DUMP = "jawiki-sample-pages-articles.xml.bz2"
LANGLINKS = "enwiki-sample-langlinks.sql.gz"
DICTIONARY = "dictionary.tsv"
CLICKS, ADS, TRUTH = "clicks.tsv.gz", "ads.tsv.gz", "clicks-truth.json"
TRUE_RELEVANCE, CLICKS_MAP = "clicks-relevance.tsv.gz", "clicks-map.toml"
README = "README.txt"
_REPORT_EVERY = 100


def make_sample(
    documents: int = 2000, seed: int = 0, *, progress: Progress | None = None
) -> Artefact:
    """Open the sample of a size and a seed in the store, or write it there; see `write_sample`."""
    settings = {"documents": documents, "seed": seed}

    def make(building: Building) -> None:
        building.counts |= write_sample(building.path, **settings, progress=progress)

    return open_or_make("sample", settings, {}, make)


def write_sample(
    directory: Path, *, documents: int = 2000, seed: int = 0, progress: Progress | None = None
) -> dict[str, int]:
    """Write the sample encyclopedia into a directory.

    Parameters
    ----------
    directory : Path
        Created if it is missing. A file of the same name is replaced when the new one is complete.
    documents : int
        Articles of the English edition, at least 20; years, redirects and pages of other namespaces
        come on top. Memory is a few bytes an article.
    seed : int
        Random seed; the same seed and size give the same bytes.
    progress : callable, optional
        Called with the fraction of the articles of both editions that is written, and a message.

    Returns
    -------
    dict
        ``english_pages``, ``japanese_pages``, ``mates``, ``ads``, ``sessions``, ``clicks``.
    """
    world = plan_world(documents, seed)
    directory.mkdir(parents=True, exist_ok=True)
    mates = int(world.mate.sum())
    meter = _Meter(documents + mates, progress)
    counts = {"english_pages": 0, "japanese_pages": 0, "mates": 0}
    with ExitStack() as files:
        dump = DumpWriter(files.enter_context(whole_file(directory / ENGLISH_DUMP)), ENGLISH)
        links = LanglinksWriter(files.enter_context(whole_file(directory / LANGLINKS)))
        for page in pages_of(world, ENGLISH, truth=False):
            dump.add(page)
            counts["english_pages"] += 1
            meter.step(page)
            if page.mate is not None:
                if page.id % 5 == 0:
                    links.add(page.id, "fr", f"L'article « {page.title} »")
                links.add(page.id, JAPANESE, page.mate)
                counts["mates"] += 1
        dump.close()
        links.close()
    with whole_file(directory / JAPANESE_DUMP) as file:
        dump = DumpWriter(file, JAPANESE)
        for page in pages_of(world, JAPANESE, truth=False):
            dump.add(page)
            counts["japanese_pages"] += 1
            meter.step(page)
        dump.close()
    with whole_file(directory / DICTIONARY) as file:
        for english, japanese in load_lexicon().pairs():
            file.write(f"{japanese}\t{english}\n")
    counts |= _write_clicks(directory, world)
    with whole_file(directory / README) as file:
        file.write(_readme(documents, seed, counts))
    return counts


_CLICKS_MAP = """# ssi data ingest clicks clicks.tsv.gz --map clicks-map.toml --queries corpus
[columns]
session = "session"
query = "page"
query_title = "title"
document = "ad"
document_text = "text"
position = "position"
clicked = "clicked"
timestamp = "time"

[documents]
id = "ad"
"""


class _Meter:
    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total, self._progress, self._done = total, progress, 0

    def step(self, page: SamplePage) -> None:
        if not page.concepts or self._progress is None:
            return
        self._done += 1
        if self._done % _REPORT_EVERY == 0 or self._done == self._total:
            message = f"{self._done:,} of {self._total:,} articles"
            self._progress(self._done / self._total, message)


def _write_clicks(directory: Path, world: World) -> dict[str, int]:
    counts = {"ads": 0, "sessions": 0, "clicks": 0}
    with whole_file(directory / ADS) as file:
        file.write("\t".join(AD_COLUMNS) + "\n")
        for ad in ads_of(world):
            file.write(f"a{ad.number}\t{ad.text}\n")
            counts["ads"] += 1
    with whole_file(directory / CLICKS) as file:
        file.write("\t".join(LOG_COLUMNS) + "\n")
        for showing, row in log_rows(world):
            file.write("\t".join(row) + "\n")
            counts["sessions"] += showing.position == 1
            counts["clicks"] += showing.clicked
    with whole_file(directory / TRUE_RELEVANCE) as file:
        file.write("page\tad\trelevance\n")
        for page, shown, relevance in true_relevance(world):
            file.write(f"{page}\t{shown}\t{relevance}\n")
    with whole_file(directory / CLICKS_MAP) as file:
        file.write(_CLICKS_MAP)
    with whole_file(directory / TRUTH) as file:
        json.dump({"examination": EXAMINATION, "relevance": RELEVANCE}, file, indent=1)
        file.write("\n")
    return counts


def _readme(documents: int, seed: int, counts: dict[str, int]) -> str:
    listed = "\n".join(f"  {name:15} {number:,}" for name, number in counts.items())
    return (
        "The sample encyclopedia\n\n"
        "All text in these files is synthetic. It was generated from a word list; names, facts,\n"
        "links and clicks are made up. The formats are those of real dumps and logs.\n\n"
        f"documents {documents}, seed {seed}\n{listed}\n\n"
        f"{ENGLISH_DUMP}   English edition, MediaWiki export 0.11\n"
        f"{JAPANESE_DUMP}   Japanese edition of the articles that have a mate\n"
        f"{LANGLINKS}        interlanguage links, as mysqldump writes them\n"
        f"{DICTIONARY}   the words that the texts are made of, Japanese and English; most English\n"
        "                 synonyms have a Japanese word of their own\n"
        f"{CLICKS}   what was shown to visitors of pages, and what they clicked\n"
        f"{ADS}      the advertisements\n"
        f"{CLICKS_MAP}   what its columns are, for 'ssi data ingest clicks'\n"
        f"{TRUE_RELEVANCE}   the relevance of every advertisement that a page can show\n"
        f"{TRUTH}   how the clicks came about: probability that a position is examined,\n"
        "                     and that an examined advertisement is clicked, by what it shares\n"
    )
