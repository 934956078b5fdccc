"""The demonstration: the main job on the sample encyclopedia, then searches that need it.

The text is synthetic. Pages on one subject use different words for one thing, so that a search for
a word finds a page that never says it only if the links have taught that the two words belong
together. A Japanese word finds English pages that say none of the words that a dictionary has for
it, if the links between the two editions have taught what goes with it.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from flows.servers.server import Server
from flows.training.board import posted
from ssi_core.types import BadInput

logger = logging.getLogger(__name__)

BASELINE = "TF-IDF"
ACROSS = "sample-table9"
ACROSS_ROWS = ["TF-IDF", "CL-LSI", "SSI Japanese-English"]


@dataclass(frozen=True)
class Asked:
    """A search: its text, words that are looked for in results, the one that is not the query's."""

    text: str
    words: tuple[str, ...]
    synonym: str | None


_SEARCH_BUDGET = 300_000
ENGLISH = Asked("automobile", ("automobile", "car"), "car")
# What the sample's dictionary has for it.
JAPANESE = Asked("自動車", ("car", "motorcar"), None)


def demo(
    documents: int = 2000,
    seed: int = 0,
    *,
    table: str = "demo",
    budget: int | None = None,
    threads: int | None = None,
    k: int = 10,
) -> dict[str, Any]:
    """Generate the sample, compute two tables on it, and search it.

    The Prefect server starts while the sample is being generated; ``budget`` limits every training.

    Returns
    -------
    dict
        The comparison (``experiment``, ``rows``, ...) with ``search``: ``query``, ``words``,
        ``synonym``, ``labels`` of the two models, and for each of them ``results`` with ``id``,
        ``title``, ``score``, ``says`` (which of the words the page says); and ``across``, the same
        for rows with Japanese queries and English documents.
    """
    from flows.ingest import ingest, ingest_mates
    from flows.pipeline import pipeline
    from flows.settings import PipelineSettings
    from flows.sources import IngestSettings, MatesSettings
    from ssi_core.sample.encyclopedia import make_sample
    from ssi_core.text import japanese

    japanese.version()  # refuses at once where Japanese cannot be read
    with Server() as server:
        logger.info(
            "generating a sample encyclopedia of %d pages; its text is synthetic", documents
        )
        make_sample(documents, seed)
        logger.info("starting Prefect at %s", server.url)
        with posted("Prefect", "its server starts"):
            server.ready()
        corpus = ingest(IngestSettings(documents=documents, seed=seed, processes=threads))
        how: dict[str, Any] = {"threads": threads, "budget": budget}
        result = pipeline(PipelineSettings(table=table, corpus=corpus, **how))
        mates = ingest_mates(MatesSettings(documents=documents, seed=seed, processes=threads))
        across = pipeline(PipelineSettings(table=ACROSS, corpus=mates, rows=ACROSS_ROWS, **how))
    result["search"] = _search(result["rows"], ENGLISH, Path(corpus), k)
    with posted("search", "a search box is fitted"):
        _add_search_box(result, Path(corpus), budget, k)
    across["search"] = _search(across["rows"], JAPANESE, Path(corpus), k)
    return {**result, "across": across}


def _search(
    rows: Sequence[Mapping[str, Any]], asked: Asked, corpus: Path, k: int
) -> dict[str, Any]:
    """Search with words alone and with the best trained row."""
    from flows.tracking import searchable_directory
    from ssi_core.serving.searcher import open_searcher

    best = max(rows, key=lambda row: float(row["metrics"]["test/map"]))
    labels = list(dict.fromkeys((BASELINE, str(best["label"]))))
    runs = {row["label"]: str(row["run_id"]) for row in reversed(rows)}
    if BASELINE not in runs:
        raise BadInput(f"the table of the demo has no row {BASELINE!r} to compare with.")
    results = {}
    for label in labels:
        searcher = open_searcher(searchable_directory(runs[label]))
        hits = searcher.search([asked.text], k=k)[0].hits
        words_of_hits = _says(corpus, [hit.id for hit in hits], asked.words)
        results[label] = [
            {"id": hit.id, "title": hit.title, "score": hit.score, "says": words_of_hits[hit.id]}
            for hit in hits
        ]
    return {
        "query": asked.text,
        "words": list(asked.words),
        "synonym": asked.synonym,
        "labels": labels,
        "runs": {label: runs[label] for label in labels},
        "results": results,
    }


def _add_search_box(result: dict[str, Any], corpus: Path, budget: int | None, k: int) -> None:
    """Put what `ssi fit` makes for people in the place of the row that has learned from links.

    The row stays for what it has learned: which documents are related to one.
    """
    from ssi_core import store
    from ssi_core.face.documents import Documents
    from ssi_core.face.fit import search_model
    from ssi_core.root import home

    search = result["search"]
    documents = Documents(store.read(corpus))
    model, label = search_model(documents, budget=budget or _SEARCH_BUDGET)
    path = home() / "demo"
    model.save(path)
    index = model.index(documents, out=path / "index")
    hits = index.search(search["query"], k=k).hits
    says = _says(corpus, [hit.id for hit in hits], search["words"])
    learned = search["labels"][-1]
    box = f"search box ({label})"
    search["labels"] = [BASELINE, box]
    search["related"] = _related(search["runs"][learned], learned, hits[0].id if hits else "", k)
    search["model"] = str(path)
    search["results"] = {
        BASELINE: search["results"][BASELINE],
        box: [
            {"id": hit.id, "title": hit.title, "score": hit.score, "says": says[hit.id]}
            for hit in hits
        ],
    }


def _related(run: str, label: str, document: str, k: int) -> dict[str, Any]:
    """Return the documents that a row relates to one."""
    from flows.tracking import searchable_directory
    from ssi_core.serving.related import related_documents
    from ssi_core.serving.searcher import open_searcher

    if not document:
        return {"row": label, "document": "", "titles": []}
    searcher = open_searcher(searchable_directory(run))
    hits = related_documents(searcher, document, k).hits
    part, row = searcher.find(document)
    title = searcher.ranked[part].titles[row]
    return {"row": label, "document": title, "titles": [hit.title for hit in hits]}


def _says(corpus: Path, ids: Sequence[str], words: Sequence[str]) -> dict[str, list[str]]:
    """Return the words of a list that each document contains."""
    from ssi_core.collection import open_collection

    texts = open_collection(corpus).documents.filter(pl.col("id").is_in(list(ids)))
    all_words = pl.col("text").str.to_lowercase().str.extract_all(r"\w+")
    frame = texts.select("id", all_words.alias("words")).collect()
    return {
        document: [word for word in words if word in set(words_of_text)]
        for document, words_of_text in frame.iter_rows()
    }
