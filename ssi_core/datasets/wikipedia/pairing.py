"""Two collections as one: texts of the first are queries, their translations documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ssi_core import collection, system
from ssi_core.collection import SIDES, Collection, open_collection
from ssi_core.corpus.mates import dictionary as dictionaries
from ssi_core.datasets.wikipedia.languagelinks import SOURCES, LanguageLinks, Source
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.datasets.wikipedia.mates import Mates
    from ssi_core.store import Building


def sides_of(source: Mates) -> tuple[list[Collection], tuple[str, str]]:
    """Return the two collections, and their languages.

    Raises
    ------
    BadInput
        One is in several languages, or both are in one.
    """
    assert source.corpora is not None, "checked by the validator"
    corpora = [open_collection(path) for path in source.corpora]
    languages = (_language(corpora[0]), _language(corpora[1]))
    if languages[0] == languages[1]:
        raise BadInput(
            f"{source.corpora[0]} and {source.corpora[1]} are both in {languages[0]!r}. Give "
            "corpora in two languages."
        )
    return corpora, languages


def build(building: Building, source: Mates, progress: Progress | None) -> None:
    """Write one collection of two: texts of the first are queries, those of the second documents.

    A query and a document on the same subject are translations; each text is in one pair at most.

    A link's title is that of a document or of a redirect to it. Of several links to one document,
    one by its own title comes before one through a redirect, then the first one wins. The manifest
    accounts for every link: ``translations`` + ``skipped[link_...]`` = ``links_found``.

    Raises
    ------
    BadInput
        The file is damaged or of another kind, nothing in the two collections is linked, or the
        dictionary is damaged.
    """
    corpora, languages = sides_of(source)
    kind, path = source.links
    on_progress = progress or (lambda fraction, message: None)
    processes = source.processes or system.cores()
    links = SOURCES[kind](Source(path, languages, processes, on_progress))
    on_progress(1.0, "matching titles")
    pairs, counts, skipped = pair_up(links, *corpora)
    if pairs.is_empty():
        raise BadInput(_no_mates(path, languages, corpora, skipped))
    if source.dictionary is not None:
        entries = dictionaries.read_dictionary(source.dictionary, skipped)
        collection.write_dictionary(building.path, entries)
        counts["dictionary_entries"] = entries.height
    for side, one in zip(SIDES, corpora, strict=True):
        counts |= {side: _take_over(building.path, side, one)}
    with collection.relation_writer(building.path, collection.TRANSLATION) as writer:
        writer.write(pairs.rename({"query": "source", "document": "target"}))
    building.counts.update(counts)
    building.skipped.update({name: n for name, n in sorted(skipped.items()) if n})


def _take_over(path: Path, side: collection.Side, texts: Collection) -> int:
    """Take the texts, links and labels of a collection as one side; return how many texts."""
    with collection.text_writer(path, side) as writer:
        writer.link_all(texts.parts("documents"))
    links = {"documents": collection.LINK, "queries": collection.QUERY_LINK}[side]
    with collection.relation_writer(path, links) as ends:
        ends.link_all(texts.relation(collection.LINK))
    if side == "documents":
        collection.take_names(path, texts)
    if labels := texts.labels("documents"):
        with collection.label_writer(path, side) as kept:
            kept.link_all(labels)
    return writer.rows


def _language(corpus: Collection) -> str:
    languages = corpus.documents.select(pl.col("language").unique()).collect()["language"].to_list()
    if len(languages) != 1:
        raise BadInput(
            f"{corpus.path}: documents in {len(languages)} languages, expected one. Ingest each "
            "language into a corpus of its own."
        )
    return str(languages[0])


def pair_up(
    links: LanguageLinks, queries: Collection, documents: Collection
) -> tuple[pl.DataFrame, dict[str, int], Counter[str]]:
    """Resolve links to documents and keep one for each.

    Returns
    -------
    pairs, counts, skipped
        pairs : ``query``, ``document`` (ids) in the order of the documents of the source
    """
    candidates = links.frame.with_row_index("number")
    for side, column, corpus in zip(
        SIDES, ("query", "document"), (queries, documents), strict=True
    ):
        known = _ids(corpus) if links.by_id == side else _titles(corpus)
        known = known.rename({"id": f"{column}_id", "other": f"{column}_other"})
        candidates = candidates.join(known, left_on=column, right_on="key", how="left")
    candidates = candidates.with_columns(
        others=pl.col("query_other").fill_null(0) + pl.col("document_other").fill_null(0)
    ).sort("others", "number")
    skipped = links.skipped.copy()
    taken: tuple[dict[str, str], dict[str, str]] = ({}, {})
    kept: list[tuple[int, str, str]] = []
    redirected = 0
    rows = candidates.select("number", "query_id", "document_id", "others").iter_rows()
    for number, query, document, others in rows:
        if query is None or document is None:
            skipped[_missing(query, document)] += 1
        elif taken[0].get(query) == document:
            skipped["link_duplicate"] += 1
        elif query in taken[0] or document in taken[1]:
            skipped["link_to_second_mate"] += 1
        else:
            taken[0][query], taken[1][document] = document, query
            kept.append((number, query, document))
            redirected += others > 0
    schema = {"number": pl.UInt32(), **dict.fromkeys(("query", "document"), pl.String())}
    pairs = pl.DataFrame(kept, schema=schema, orient="row").sort("number").drop("number")
    counts = {
        "links_found": candidates.height,
        "translations": pairs.height,
        "through_redirects": redirected,
    }
    return pairs, counts, skipped


def _missing(query: str | None, document: str | None) -> str:
    if query is None and document is None:
        return "link_neither_in_corpus"
    return "link_query_not_in_corpus" if query is None else "link_document_not_in_corpus"


def _ids(corpus: Collection) -> pl.DataFrame:
    """Documents by their own id."""
    return corpus.documents.select("id", key="id", other=pl.lit(0)).collect()


def _titles(corpus: Collection) -> pl.DataFrame:
    """Documents by their titles; ``other`` is 1 where it is not their own."""
    titles = corpus.documents.select(key="title", id="id", other=pl.lit(0))
    other = corpus.redirects.select(key="text", id="target", other=pl.lit(1))
    return pl.concat([titles, other]).unique("key", keep="first", maintain_order=True).collect()


def _no_mates(
    path: Path, languages: tuple[str, str], corpora: Sequence[Collection], skipped: Counter[str]
) -> str:
    lost = {name: n for name, n in skipped.items() if name.startswith("link_")}
    if not lost:
        broken = skipped["title_not_utf8"]
        also = f" but {broken:,} whose titles are no UTF-8" if broken else ""
        return (
            f"{path}: it has no link between {languages[0]!r} and {languages[1]!r}{also}. Give a "
            "source of one of these wikis, or other corpora."
        )
    reasons = ", ".join(
        f"{n:,} {name.removeprefix('link_').replace('_', ' ')}" for name, n in lost.items()
    )
    return (
        f"{path}: no mates; of its links between {languages[0]!r} and {languages[1]!r} none has "
        f"both pages in {corpora[0].path} and {corpora[1].path} ({reasons}). Give a source and "
        "corpora of the same wikis."
    )
