"""Searches by words alone, one query at a time: BM25 and BM25F beside tantivy and bm25s.

News messages (or the generated encyclopedia), of which BM25F reads the subject as a title; queries
are three words of a subject. Ours is `Searcher.search` without snippets, tantivy's its parser and
searcher, bm25s' its tokenizer and `retrieve`: text in, ids of ten documents out. CPU time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.timing import Contestant, PeerMissing, Row, peer, row, speeds
from benchmarks.tokenise import ARCHIVE, real_texts, sample_texts

_K, _QUERIES, _ROUNDS = 10, 200, 5
Search = Callable[[str], list[str]]


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


def _ours(model: str, documents: list[dict[str, str]], directory: Path) -> Search:
    import ssi_core as ssi
    from ssi_core.serving.searcher import open_searcher

    docs = ssi.read(documents)
    fitted = getattr(ssi, model)().fit(ssi.Task.of(docs, relevant="self", queries="titles"))
    place = directory / model
    fitted.save(place / "model")
    fitted.index(docs, out=place / "model" / "index")
    searcher = open_searcher(place / "model")
    return lambda text: [hit.id for hit in searcher.search([text], _K, marked=False)[0].hits]


def _tantivy(documents: list[dict[str, str]], fields: list[str]) -> Search:
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

    def search(text: str) -> list[str]:
        hits = searcher.search(index.parse_query(text, fields), _K).hits
        return [searcher.doc(address)["id"][0] for _, address in hits]

    return search


def _bm25s(documents: list[dict[str, str]]) -> Search:
    bm25s: Any = peer("bm25s")
    words = bm25s.BM25()
    texts = [f"{one['title']} {one['text']}" for one in documents]
    words.index(bm25s.tokenize(texts, show_progress=False, stopwords=None), show_progress=False)

    def search(text: str) -> list[str]:
        asked = bm25s.tokenize(text, show_progress=False, stopwords=None)
        rows, _ = words.retrieve(asked, k=_K, show_progress=False)
        return [documents[number]["id"] for number in rows[0]]

    return search


def rows() -> Iterator[Row]:
    with TemporaryDirectory() as name:
        directory = Path(name)
        documents = _documents(directory)
        queries = _queries(documents)
        both = [{**one, "text": f"{one['title']} {one['text']}"} for one in documents]
        compared = {
            ("BM25", "tantivy"): lambda: (_ours("BM25", both, directory), _tantivy(both, ["text"])),
            ("BM25", "bm25s"): lambda: (_ours("BM25", both, directory), _bm25s(documents)),
            ("BM25F", "tantivy"): lambda: (
                _ours("BM25F", documents, directory),
                _tantivy(documents, ["title", "text"]),
            ),
        }
        for (model, other), make in compared.items():
            what = f"{model}, {len(documents):,} texts, singly / {other}"
            try:
                ours, theirs = make()
            except PeerMissing as missing:
                yield Row(what, "queries/s", goal=1, note=str(missing))
                continue
            found = speeds(
                {
                    "ours": Contestant(lambda of=ours: [of(text) for text in queries], _QUERIES),
                    "theirs": Contestant(
                        lambda of=theirs: [of(text) for text in queries], _QUERIES
                    ),
                },
                _ROUNDS,
            )
            first = np.mean([ours(text)[:1] == theirs(text)[:1] for text in queries])
            note = f"the same first document for {first:.0%} of the queries"
            yield row(what, "queries/s", found["ours"], found["theirs"], goal=1, note=note)
