"""Searches by words alone, one query at a time: BM25 and BM25F beside tantivy and bm25s.

News messages (or the generated encyclopedia), of which BM25F reads the subject as a title; queries
are three words of a subject. *search* is text in, ids of ten documents out: `Searcher.search`;
tantivy's parser, searcher and ids; bm25s' tokenizer and `retrieve`. *ranking* is rows and scores
alone, of queries that were read beforehand. *shown* is our search with the part of each text that
has the words, which the others do not make, beside their search. CPU time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np

from benchmarks.timing import Contestant, PeerMissing, Row, peer, row, speeds
from benchmarks.tokenise import ARCHIVE, real_texts, sample_texts

_K, _QUERIES, _ROUNDS = 10, 200, 5
Both: TypeAlias = tuple[Callable[[str], list[str]], Callable[[str], object]]
"""A search and a ranking of a text."""
_KINDS = {"search": 0, "ranking": 1}


def _documents(directory: Path) -> list[dict[str, str]]:
    archive = Path(os.environ.get("SSI_REAL_DATA", "")) / ARCHIVE
    texts = real_texts(archive) if archive.is_file() else sample_texts(directory)
    made = []
    for number, text in enumerate(texts):
        head, _, body = text.decode().partition("\n\n")
        subject = [line[9:] for line in head.splitlines() if line.startswith("Subject: ")]
        title = subject[0].removeprefix("Re: ") if subject else head[:40]
        made.append({"id": str(number), "title": title, "text": body or head})
    return made


def _queries(documents: list[dict[str, str]]) -> list[str]:
    words = ["".join(c if c.isalnum() else " " for c in one["title"]) for one in documents]
    long = sorted({" ".join(title.split()[:3]).lower() for title in words if title.count(" ") > 3})
    return [str(one) for one in np.random.default_rng(0).choice(long, _QUERIES, replace=False)]


def _ours(
    model: str, documents: list[dict[str, str]], queries: list[str], place: Path
) -> tuple[Both, Callable[[str], object]]:
    import ssi_core as ssi
    from ssi_core.serving.searcher import open_searcher

    docs = ssi.read(documents)
    fields = ["title", "text"] if model == "bm25f" else ["text"]
    task = ssi.Task.of(docs, relevant="self", queries="titles", fields=fields)
    fitted = ssi.Ranker(model).fit(task)
    fitted.save(place / "model")
    fitted.index(docs, out=place / "model" / "index")
    searcher = open_searcher(place / "model")
    read = {text: searcher.embed(searcher.queries([text]), "query") for text in queries}
    both = (
        lambda text: [hit.id for hit in searcher.search([text], _K)[0].hits],
        lambda text: searcher.best(read[text], _K),
    )
    return both, lambda text: [hit.snippet for hit in searcher.search([text], _K)[0].hits]


def _tantivy(documents: list[dict[str, str]], queries: list[str], fields: list[str]) -> Both:
    tantivy: Any = peer("tantivy")
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw")
    for field in fields:
        builder.add_text_field(field)
    index = tantivy.Index(builder.build())
    writer = index.writer(num_threads=1)
    for one in documents:
        writer.add_document(tantivy.Document(id=one["id"], **{f: one[f] for f in fields}))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    read = {text: index.parse_query(text, fields) for text in queries}

    def search(text: str) -> list[str]:
        hits = searcher.search(index.parse_query(text, fields), _K).hits
        return [searcher.doc(address)["id"][0] for _, address in hits]

    return search, lambda text: searcher.search(read[text], _K)


def _bm25s(documents: list[dict[str, str]], queries: list[str]) -> Both:
    bm25s: Any = peer("bm25s")
    words = bm25s.BM25()
    texts = [one["text"] for one in documents]
    quiet: dict[str, Any] = {"show_progress": False}
    words.index(bm25s.tokenize(texts, stopwords=None, **quiet), **quiet)
    read = {text: bm25s.tokenize(text, stopwords=None, **quiet) for text in queries}

    def search(text: str) -> list[str]:
        rows, _ = words.retrieve(bm25s.tokenize(text, stopwords=None, **quiet), k=_K, **quiet)
        return [documents[number]["id"] for number in rows[0]]

    return search, lambda text: words.retrieve(read[text], k=_K, **quiet)


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as name:
        documents = _documents(Path(name))
        queries = _queries(documents)
        joined = [{**one, "text": f"{one['title']} {one['text']}"} for one in documents]
        both = ["title", "text"]
        models = {
            "bm25": (joined, {"tantivy": partial(_tantivy, fields=["text"]), "bm25s": _bm25s}),
            "bm25f": (documents, {"tantivy": partial(_tantivy, fields=both)}),
        }
        for model, (texts, peers) in models.items():
            ours, shown = _ours(model, texts, queries, Path(name, model))
            for other, make in peers.items():
                what = f"{model.upper()}, {len(texts):,} texts, singly / {other}"
                try:
                    theirs = make(texts, queries)
                except PeerMissing as missing:
                    yield Row(what, "queries/s", goal=1, note=str(missing))
                    continue
                for kind, of in _KINDS.items():
                    yield _compared(f"{what}, {kind}", ours[of], theirs[of], queries, goal=1)
                yield _compared(f"{what}, shown", shown, theirs[0], queries)


def _compared(
    what: str,
    ours: Callable[[str], object],
    theirs: Callable[[str], object],
    queries: list[str],
    goal: float | None = None,
) -> Row:
    contestants = {
        name: Contestant(partial(_each, ask, queries), len(queries))
        for name, ask in (("ours", ours), ("theirs", theirs))
    }
    found = speeds(contestants, _ROUNDS)
    return row(what, "queries/s", found["ours"], found["theirs"], goal=goal)


def _each(ask: Callable[[str], object], queries: list[str]) -> None:
    for text in queries:
        ask(text)
