"""Two collections as one: texts of the first are queries, their translations documents."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import polars as pl

from ssi_core import collection, store
from ssi_core.collection import SIDES, Collection, open_collection
from ssi_core.corpus import inputs
from ssi_core.corpus.mates import dictionary as dictionaries
from ssi_core.corpus.mates.languagelinks import SOURCES, LanguageLinks, Source
from ssi_core.store import Artefact, Building
from ssi_core.types import BadInput, Progress


def ingest_mates(
    source: str,
    path: Path,
    queries: Path,
    documents: Path,
    out: Path | None = None,
    *,
    dictionary: Path | None = None,
    processes: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Artefact:
    """Make one collection of two: texts of the first are queries, those of the second documents.

    A query and a document on the same subject are translations; each text is in one pair at most.

    A link's title is that of a document or of a redirect to it. Of several links to one document,
    one by its own title comes before one through a redirect, then the first one wins. The manifest
    accounts for every link: ``translations`` + ``skipped[link_...]`` = ``links_found``.

    Parameters
    ----------
    source : str
        Name of one of `SOURCES`, what kind of file ``path`` is.
    queries, documents : Path
        Collections of one language each.
    out : Path or None
        Directory of the collection; by default one of the store.
    dictionary : Path or None
        File of two columns, see `dictionary.read_dictionary`, to translate queries by.
    processes : int or None
        Workers that read wikitext; by default one for each core.
    force : bool
        Replace a collection made from something else.

    Raises
    ------
    BadInput
        The file is damaged or of another kind, a corpus is in several languages, or nothing in the
        two corpora is linked, or the dictionary is damaged.
    Refused
        ``out`` holds something else, or is being written.
    """
    if source not in SOURCES:
        raise ValueError(f"source={source!r}; expected one of {', '.join(SOURCES)}")
    path = Path(path)
    corpora = [open_collection(Path(place)) for place in (queries, documents)]
    languages = (_language(corpora[0]), _language(corpora[1]))
    if languages[0] == languages[1]:
        raise BadInput(
            f"{queries} and {documents} are both in {languages[0]!r}. Give corpora in two "
            "languages."
        )
    given = [path] if dictionary is None else [path, Path(dictionary)]
    parents = inputs.digest_inputs(given, out=out, progress=progress)
    parents |= {side: corpus.artefact.key for side, corpus in zip(SIDES, corpora, strict=True)}
    configuration = {"source": source, "languages": list(languages)}
    workers = processes or len(os.sched_getaffinity(0))
    tell = progress or _quiet
    make = partial(
        _build,
        source=source,
        file=Source(path, languages, workers, tell),
        corpora=corpora,
        dictionary=dictionary,
    )
    artefact = store.open_or_make(
        collection.KIND, configuration, parents, make, out=out, force=force
    )
    tell(1.0, f"{artefact.counts['translations']:,} translations")
    return artefact


def _build(
    building: Building,
    source: str,
    file: Source,
    corpora: Sequence[Collection],
    dictionary: Path | None,
) -> None:
    links = SOURCES[source](file)
    file.progress(1.0, "matching titles")
    pairs, counts, skipped = pair_up(links, *corpora)
    if pairs.is_empty():
        raise BadInput(_no_mates(file.path, file.languages, corpora, skipped))
    if dictionary is not None:
        entries = dictionaries.read_dictionary(Path(dictionary), skipped)
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


def _quiet(fraction: float, message: str) -> None:
    pass


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
    candidates = links.frame.with_row_index("place")
    for side, column, corpus in zip(
        SIDES, ("query", "document"), (queries, documents), strict=True
    ):
        known = _ids(corpus) if links.by_id == side else _titles(corpus)
        known = known.rename({"id": f"{column}_id", "other": f"{column}_other"})
        candidates = candidates.join(known, left_on=column, right_on="key", how="left")
    candidates = candidates.with_columns(
        others=pl.col("query_other").fill_null(0) + pl.col("document_other").fill_null(0)
    ).sort("others", "place")
    skipped = links.skipped.copy()
    taken: tuple[dict[str, str], dict[str, str]] = ({}, {})
    kept: list[tuple[int, str, str]] = []
    redirected = 0
    rows = candidates.select("place", "query_id", "document_id", "others").iter_rows()
    for place, query, document, others in rows:
        if query is None or document is None:
            skipped[_missing(query, document)] += 1
        elif taken[0].get(query) == document:
            skipped["link_duplicate"] += 1
        elif query in taken[0] or document in taken[1]:
            skipped["link_to_second_mate"] += 1
        else:
            taken[0][query], taken[1][document] = document, query
            kept.append((place, query, document))
            redirected += others > 0
    schema = {"place": pl.UInt32(), **dict.fromkeys(("query", "document"), pl.String())}
    pairs = pl.DataFrame(kept, schema=schema, orient="row").sort("place").drop("place")
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
    other = corpus.wiki.redirects.select(key="text", id="target", other=pl.lit(1))
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
