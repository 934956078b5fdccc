"""Small corpora, written as an ingestion writes them."""

from pathlib import Path

import numpy as np
import polars as pl

from ssi_core import collection, store
from ssi_core.corpus.click_tables import CLICKS
from ssi_core.corpus.judged.judgements import write_queries, write_relation

PAIRS = {"query": pl.String(), "document": pl.String(), **CLICKS}
"""Schema of `clicked_pairs`."""
SUBJECTS = ("boats", "birds", "music", "metal", "cheese", "stars", "trains", "plants")


def write_corpus(
    path: Path, texts: list[str], links: list[tuple[int, int]], *, language: str = "en"
) -> Path:
    """A corpus directory of texts; the document in row i is "d{i}", its title "Page {i}"."""
    n = len(texts)
    documents = texts_of(texts, [f"Page {i}" for i in range(n)], language)
    configuration = {"texts": texts, "links": links, "language": language}
    with store.create(
        path,
        kind=collection.KIND,
        key=store.key_of(collection.KIND, configuration, {}),
        configuration={},
        parents={},
    ) as building:
        write_in_parts(building.path, "documents", documents)
        write_ends(building.path, collection.LINK, links)
        building.counts.update(documents=n, links=len(links))
    return path


def texts_of(texts: list[str], titles: list[str], language: str) -> pl.DataFrame:
    """Texts as a collection has them; that in row i is "d{i}"."""
    ids = [f"d{i}" for i in range(len(texts))]
    columns = {"id": ids, "title": titles, "language": [language] * len(texts), "text": texts}
    return collection.timeless(pl.DataFrame(columns))


def write_in_parts(path: Path, side: collection.Side, texts: pl.DataFrame) -> None:
    """Write texts in three parts, no two of a size, so that the order of rows is that of parts."""
    first, second = len(texts) // 2, len(texts) * 5 // 6
    with collection.text_writer(path, side) as writer:
        for part in (texts[:first], texts[first:second], texts[second:]):
            writer.write(part)


def write_ends(path: Path, relation: str, rows: list[tuple[int, int]]) -> None:
    """Write a relation between "d{i}" and "d{j}" for each (i, j)."""
    ends = {"source": [f"d{a}" for a, _ in rows], "target": [f"d{b}" for _, b in rows]}
    schema = {"source": pl.String, "target": pl.String}
    with collection.relation_writer(path, relation) as writer:
        writer.write(pl.DataFrame(ends, schema=schema))


def write_named(
    path: Path,
    titles: list[str],
    texts: list[str],
    anchors: list[tuple[str, str, str, float]] = (),
    redirects: list[tuple[str, str, str]] = (),
    links: list[tuple[int, int]] = (),
) -> Path:
    """A collection whose documents have names; "d{i}" is the text in row i.

    An anchor is (source, target, text, weight), a redirect (source, target, text).
    """
    configuration = {"titles": titles, "anchors": anchors, "links": links}
    key = store.key_of(collection.KIND, configuration, {})
    with store.create(
        path, kind=collection.KIND, key=key, configuration={}, parents={}
    ) as building:
        write_in_parts(building.path, "documents", texts_of(texts, titles, "en"))
        for name, further, rows in (
            (collection.ANCHOR, collection.COUNTED, anchors),
            (collection.REDIRECT, collection.NAMED, redirects),
        ):
            schema = {**collection.ENDS, **further}
            with collection.relation_writer(building.path, name, further) as writer:
                writer.write(pl.DataFrame(rows, schema=schema, orient="row"))
        if links:
            write_ends(building.path, collection.LINK, links)
    return path


def clicked_pairs(path: Path) -> pl.DataFrame:
    """The pairs of a collection of clicks: query, document, shown, clicks, weight, grade."""
    clicks = collection.open_collection(path).frame("relations/click")
    return clicks.rename({"source": "query", "target": "document"})


def judged_pairs(path: Path) -> pl.DataFrame:
    """The judgements of a collection: query, document, grade, perhaps side."""
    judgements = collection.open_collection(path).frame("relations/judgement")
    return judgements.rename({"source": "query", "target": "document"})


def topical(documents: int = 200, seed: int = 0) -> tuple[list[str], list[tuple[int, int]]]:
    """Texts on eight subjects with words of their own, and links within a subject."""
    rng = np.random.default_rng(seed)
    common = [f"common{i}" for i in range(30)]
    texts = []
    for i in range(documents):
        subject = SUBJECTS[i % len(SUBJECTS)]
        own = rng.choice([f"{subject}{k}" for k in range(25)], 25)
        texts.append(f"{subject.title()}: " + " ".join([*own, *rng.choice(common, 25), "the"]))
    links = {
        (i, int(j))
        for i in range(documents)
        for j in rng.choice(np.arange(i % len(SUBJECTS), documents, len(SUBJECTS)), 8)
        if i != j
    }
    return texts, sorted(links)


def write_collection(path: Path, judgements: list[tuple[str, str, int]] | None = None) -> Path:
    """A corpus of `topical` texts with queries "q{i}" of two known words and one unknown.

    Relevant, with grades 1 to 3, are six documents of the query's subject; "q9" is not judged. The
    title of a document is its first three words.
    """
    texts, _ = topical()
    rng = np.random.default_rng(1)
    of = len(SUBJECTS)
    ids = [f"q{i}" for i in range(25)]
    asked = [
        f"{SUBJECTS[i % of]}{rng.integers(5)} {SUBJECTS[i % of]}{5 + rng.integers(5)} unknown{i}"
        for i in range(25)
    ]
    if judgements is None:
        judgements = [
            (name, f"d{d}", int(rng.integers(1, 4)))
            for i, name in enumerate(ids)
            if name != "q9"
            for d in rng.choice(np.arange(i % of, len(texts), of), 6, replace=False)
        ]
    key = store.key_of(collection.KIND, {"judgements": judgements}, {})
    kind = collection.KIND
    with store.create(path, kind=kind, key=key, configuration={}, parents={}) as building:
        beginnings = [" ".join(text.split(" ")[:3]) for text in texts]
        write_in_parts(building.path, "documents", texts_of(texts, beginnings, "en"))
        write_queries(building.path, pl.DataFrame({"id": ids, "text": asked}))
        names = {"query": pl.String, "document": pl.String, "grade": pl.Float32}
        write_relation(building, pl.DataFrame(judgements, schema=names, orient="row"))
    return path


def foreign(text: str) -> str:
    """A text in another language, whose words are those of English with a "ĵ" before them."""
    return " ".join(f"ĵ{word}" for word in text.replace(":", "").lower().split())


def write_mates(path: Path, documents: int = 200, *, dictionary: bool = True) -> Path:
    """Translations of `topical` texts: "d{i}" and "d{i}", but for the last three queries.

    A title of a query is in the text of what it links to: "d{i}" is "titulo{i}". The dictionary has
    the words of the subjects, and "ĵthe ĵboats1" as one term.
    """
    texts, links = topical(documents)
    mentioned = [[b for a, b in links if a == i] for i in range(documents)]
    asked = [
        f"{foreign(text)} " + " ".join(f"titulo{b}x" for b in mentioned[i])
        for i, text in enumerate(texts)
    ]
    titles = [f"titulo{i}x" for i in range(documents)]
    with store.create(
        path,
        kind=collection.KIND,
        key=f"{documents} {dictionary}",
        configuration={},
        parents={},
    ) as building:
        pages = [f"Page {i}" for i in range(documents)]
        write_in_parts(building.path, "documents", texts_of(texts, pages, "en"))
        write_in_parts(building.path, "queries", texts_of(asked, titles, "eo"))
        write_ends(building.path, collection.LINK, links)
        write_ends(building.path, collection.QUERY_LINK, links)
        translations = [(i, i) for i in range(documents - 3)]
        write_ends(building.path, collection.TRANSLATION, translations)
        known = [f"{subject}{k}" for subject in SUBJECTS for k in range(25)]
        entries = [(foreign(word), word) for word in known] + [("ĵthe ĵboats1", "yacht harbour")]
        if dictionary:
            collection.write_dictionary(
                building.path, pl.DataFrame(entries, schema=["source", "target"], orient="row")
            )
        building.counts.update(
            documents=documents, queries=documents, links=len(links), translations=documents - 3
        )
    return path
