"""Kyoto articles: Japanese Wikipedia articles with an English translation of every sentence.

The Japanese-English Bilingual Corpus of Wikipedia's Kyoto Articles (NICT, version 2.01): an XML
file for each article, ``art > tit, sec, par > sen``, where a sentence has the Japanese text ``j``
and translations ``e`` of two types, ``trans`` and the later ``check``. It has no link markup;
links are made of *title mentions*: article A links to B where B's Japanese title occurs in A's
Japanese text.
"""

from __future__ import annotations

import csv
import logging
import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import polars as pl
from lxml import etree

from ssi_core import collection
from ssi_core.corpus import inputs
from ssi_core.corpus.archive import read_members
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.datasets.sources import Kyoto
    from ssi_core.store import Building

ARTICLES = "articles_xml.tar.xz"
LEXICON = "kyoto_lexicon.csv.gz"
LANGUAGES = ("ja", "en")
"""Languages of the queries and of the documents."""
LEAST_TITLE = 3
"""Characters of the shortest title whose mention is a link: shorter ones are common words."""
CATEGORIES = {
    "BDS": "Buddhism", "BLD": "building", "CLT": "culture", "EPR": "emperor", "FML": "family",
    "GNM": "geographical name", "HST": "history", "LTT": "literature", "PNM": "person name",
    "RLW": "railway", "ROD": "road", "SAT": "shrines and temples", "SCL": "school", "TTL": "title",
}  # fmt: skip
"""First letters of a file's name -> its category, as in the published list of articles."""

_MEMBER = re.compile(r"([A-Z]{3}/[A-Z]{3}\d{5})\.xml")
_STEPS = ("check", "trans")
_REMEDY = "Restore the published archive."
_log = logging.getLogger(__name__)


class Article(NamedTuple):
    """An article in two languages; a heading or a sentence is a line of a text."""

    id: str
    titles: tuple[str, str]
    texts: tuple[str, str]


def read_articles(
    path: Path,
    skipped: Counter[str],
    malformed: dict[str, str],
    categories: Collection[str] = (),
) -> Iterator[Article]:
    """Yield the articles straight from the archive; nothing is unpacked to disk.

    Parameters
    ----------
    skipped : Counter
        Gets the number of sentences without a translation.
    malformed : dict
        Gets name -> place and reason of each file that is no well-formed XML.
    categories : collection of str
        Those whose articles are read; empty: all.

    Raises
    ------
    BadInput
        The archive is damaged or holds another kind of member.
    """
    for name, xml in read_members(path, _MEMBER, "a file CAT/CATnnnnn.xml"):
        if categories and category_of(name) not in categories:
            skipped["article_of_other_category"] += 1
            continue
        try:
            yield _article(name.partition("/")[2], xml, skipped)
        except etree.XMLSyntaxError as error:
            line, column = error.position
            malformed[f"{name}.xml"] = f"line {line}, column {column}: {_reason(error)}"
            _log.info("%s: %s.xml: %s", path, name, malformed[f"{name}.xml"])


def category_of(name: str) -> str:
    """Return the category of an article by its id or file name.

    >>> category_of("BDS00001")
    'Buddhism'
    """
    return CATEGORIES.get(name[:3], name[:3])


def _reason(error: etree.XMLSyntaxError) -> str:
    return re.sub(r", line \d+, column \d+.*", "", error.msg or "no XML")


def _article(name: str, xml: bytes, skipped: Counter[str]) -> Article:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
    art = etree.fromstring(xml, parser)
    title = art.find("tit")
    titles = ("", "") if title is None else (_japanese(title), _english(title))
    japanese, english = [], []
    for line in art.iter("sen", "tit"):
        if line is title:
            continue
        first, second = _japanese(line), _english(line)
        japanese += [first] if first else []
        english += [second] if second else []
        skipped["sentence_without_translation"] += bool(first) and not second
    return Article(name, (titles[0] or name, titles[1] or name), (_text(japanese), _text(english)))


def _text(lines: list[str]) -> str:
    return "\n".join(lines)


def _japanese(line: etree._Element) -> str:
    return _words(line.find("j"))


def _english(line: etree._Element) -> str:
    """Translation of the latest step: the check, or the last version before it."""
    parts = line.findall("e")
    for step in _STEPS:
        for version in reversed([e for e in parts if e.get("type") == step]):
            if words := _words(version):
                return words
    return ""


def _words(element: etree._Element | None) -> str:
    return "" if element is None else " ".join("".join(element.itertext()).split())


def title_mentions(documents: pl.DataFrame) -> pl.DataFrame:
    """Links from each text to the documents whose titles occur in it, itself left out.

    All occurrences of all titles, overlapping ones too, are found in one pass over a text
    (Aho and Corasick 1975).

    Parameters
    ----------
    documents : DataFrame
        Columns ``id``, ``title``, ``text``.

    Returns
    -------
    distinct ``source``, ``target`` in the order of the documents

    >>> texts = ["京都の寺", "清水寺、金閣"]
    >>> pages = pl.DataFrame({"id": ["1", "2"], "title": ["清水寺", "京都"], "text": texts})
    >>> title_mentions(pages).rows()
    [('2', '1')]
    """
    known = documents.select("title", target="id", position=pl.int_range(pl.len()))
    known = known.filter(pl.col("title").str.len_chars() >= LEAST_TITLE)
    titles = known["title"].unique(maintain_order=True)
    return (
        documents.select(
            source="id",
            title=pl.col("text").str.extract_many(titles.implode(), overlapping=True).list.unique(),
            row=pl.int_range(pl.len()),
        )
        .explode("title")
        .join(known, on="title")
        .filter(pl.col("source") != pl.col("target"))
        .sort("row", "position")
        .select("source", "target")
    )


def read_lexicon(path: Path, skipped: Counter[str]) -> pl.DataFrame:
    """Distinct entries of the lexicon: ``source`` (Japanese), ``target`` (English).

    Raises
    ------
    BadInput
        The file cannot be read, or a row is no pair of terms.
    """
    entries: dict[tuple[str, str], None] = {}
    try:
        with inputs.open_text(path, newline="") as file:
            rows = csv.reader(file, strict=True)
            next(rows, None)  # the header
            for row in rows:
                if len(row) < 2:
                    raise BadInput(
                        f"{path}: line {rows.line_num} isn't a Japanese and an English term. "
                        "Restore the published file."
                    )
                # A few rows have a note on how terms were changed in a third column.
                skipped["entry_note"] += any(row[2:])
                entry = (row[0].strip(), row[1].strip())
                if not all(entry):
                    skipped["entry_without_translation"] += 1
                elif entry in entries:
                    skipped["entry_duplicate"] += 1
                else:
                    entries[entry] = None
    except csv.Error as error:
        raise BadInput(f"{path}: {error}. Restore the published file.") from None
    return pl.DataFrame(list(entries), schema=dict(collection.ENDS), orient="row")


def files_in(directory: Path) -> list[Path]:
    """Return the archive of the articles, and the lexicon."""
    return [directory / ARTICLES, directory / LEXICON]


def build(building: Building, source: Kyoto, progress: Progress | None) -> None:
    """Write a collection of the articles: Japanese queries, English documents, a dictionary.

    An article has one id on both sides. Both hold the same links, the title mentions of the
    Japanese texts, and the label ``category``. The manifest names each file that is no well-formed
    XML, with the line.
    """
    (directory,) = source.paths
    if unknown := sorted(set(source.categories) - set(CATEGORIES.values())):
        raise BadInput(
            f"{directory}: no category {unknown[0]!r}; there are: {', '.join(CATEGORIES.values())}."
        )
    skipped: Counter[str] = Counter()
    articles = _read(building, directory / ARTICLES, skipped, source.categories, progress)
    ids = [article.id for article in articles]
    same = pl.DataFrame({"source": ids, "target": ids})
    links = title_mentions(_texts(articles, 0).select("id", "title", "text"))
    kinds = {"id": ids, "column": ["category"] * len(ids), "value": list(map(category_of, ids))}
    labels = pl.DataFrame(kinds, schema=dict(collection.LABELS))
    for number, side in enumerate(collection.SIDES):
        with collection.text_writer(building.path, side) as writer:
            writer.write(collection.timeless(_texts(articles, number)))
        with collection.label_writer(building.path, side) as writer:
            writer.write(labels)
    for name, pairs in (
        (collection.TRANSLATION, same),
        (collection.LINK, links),
        (collection.QUERY_LINK, links),
    ):
        with collection.relation_writer(building.path, name) as writer:
            writer.write(pairs)
    entries = read_lexicon(directory / LEXICON, skipped)
    collection.write_dictionary(building.path, entries)
    building.counts.update(
        queries=len(ids),
        documents=len(ids),
        translations=len(ids),
        title_mentions=links.height,
        dictionary_entries=entries.height,
    )
    building.skipped.update({name: n for name, n in sorted(skipped.items()) if n})


def _read(
    building: Building,
    path: Path,
    skipped: Counter[str],
    categories: Collection[str],
    progress: Progress | None,
) -> list[Article]:
    malformed: dict[str, str] = {}
    articles: dict[str, Article] = {}
    files = 0
    for article in read_articles(path, skipped, malformed, categories):
        files += 1
        if article.id in articles:
            skipped["article_repeated"] += 1
        elif not all(article.texts):
            skipped["article_without_text"] += 1
        else:
            articles[article.id] = article
        if progress is not None and not files % 500:
            progress(0.5, f"{files:,} articles read")
    if not articles:
        first = "".join(f" ({name}, {position})" for name, position in list(malformed.items())[:1])
        raise BadInput(f"{path}: no article in it has a text in both languages{first}. {_REMEDY}")
    building.counts["files"] = files + len(malformed)
    building.skipped["article_malformed"] = len(malformed)
    building.skipped["malformed"] = malformed
    return list(articles.values())


def _texts(articles: list[Article], side: int) -> pl.DataFrame:
    """Return id, title, language and text of one side of the articles."""
    return pl.DataFrame(
        {
            "id": [article.id for article in articles],
            "title": [article.titles[side] for article in articles],
            "language": [LANGUAGES[side]] * len(articles),
            "text": [article.texts[side] for article in articles],
        }
    )
