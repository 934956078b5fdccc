"""The rankings of exports beside those of their models, on Wikispeedia, and what exports cost.

    SSI_REAL_DATA=... python -m benchmarks.export ROOT --java JAVA --lucene lucene-core-10.5.1.jar

ROOT keeps the task and the models, which are trained with small budgets. JAVA is that of a JDK of
at least 21; without it Lucene is left out. Many documents are those of Wikispeedia, repeated.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ssi_core.estimator import parse
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.guests.export.documents import Documents, of_index
from ssi_core.guests.export.encoder import Encoder
from ssi_core.guests.export.exporting import Settings, export_model
from ssi_core.guests.export.light import heaviest
from ssi_core.guests.export.search_bm25s import Search as Columns
from ssi_core.guests.export.search_faiss import Search as Nearest
from ssi_core.guests.export.terms import joined
from ssi_core.models import MODELS
from ssi_core.models.base import FittedModel
from ssi_core.models.tfidf import TfIdf
from ssi_core.scoring.vectors import Inner, Vectors
from ssi_core.serving.index import build_index
from ssi_core.serving.searcher import Searcher, open_searcher, texts_of
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import Texts
from tests.datasets.dumps import real_data
from tests.sources import ingest

K = 10
LEARNT = {
    "view": "sublinear:50",
    "diagonal_view": "raw",
    "rates": (0.03,),
    "margin": 0.1,
    "init_std": 0.01,
    "negatives": 8,
    "dimensions": 50,
    "epoch": 20_000,
    "budget": 300_000,
    "search_budget": 20_000,
}
LATENT = {"diagonal": "none", **LEARNT}
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "uv_i": ("bilinear", {"diagonal": "identity", **LEARNT}),
    "uv_d": ("bilinear", {"diagonal": "learned", "diagonal_rate": 20.0, **LEARNT}),
    "bm25_uv": (
        "mixture",
        {
            "parts": ({"model": "bm25"}, {"model": "bilinear", **LATENT}),
            "betas": (3.0, 10.0, 30.0, 100.0),
        },
    ),
    "uv": ("bilinear", LATENT),
}


def trained(root: Path, name: str) -> Searcher:
    """Return the searcher of a row; task, model and index are made where they are missing."""
    if not (root / "corpus").exists():
        ingest("wikispeedia", real_data("wikispeedia"), root / "corpus")
    if not (root / "task").exists():
        views = ("counts", "raw", "sublinear", "sublinear:50")
        build_task(root / "corpus", root / "task", views=views)
    if not (root / name).exists():
        task, (kind, settings) = open_task(root / "task"), ROWS[name]
        fitted = parse(MODELS[kind], settings).fit(task, np.random.default_rng(0))
        fitted.save(root / name / "model")
        parents = {"task": task.key, "model": name}
        build_index(fitted, task.documents, root / name / "index", parents=parents)
    return open_searcher(root / name)


def queries_of(root: Path, count: int) -> dict[str, list[str]]:
    """Return titles and three words of documents, and whole documents."""
    texts = pl.concat(map(pl.read_parquet, sorted((root / "corpus/documents").glob("*.parquet"))))
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(texts))[:count]
    short = texts["title"].gather(rows[: count // 2]).to_list()
    for text in texts["text"].gather(rows[count // 2 :]):
        words = [word for word in text.split() if word.isalpha()]
        short.append(" ".join(rng.choice(words, 3)) if words else text[:30])
    return {"short": short, "articles": texts["text"].gather(rows).to_list()}


def best_rows(searcher: Searcher, queries: list[str]) -> list[list[int]]:
    """Return the best documents of the model; none for a query without a known word."""
    vectors = searcher.fitted.embed_queries(texts_of(queries, searcher.fitted.query_views))
    documents, best = searcher.index.vectors, []
    for row in range(len(queries)):
        scores: Any = 0
        if vectors.sparse is not None:
            scores = scores + (documents.sparse @ vectors.sparse[[row]].T).toarray().ravel()
        if vectors.dense is not None:
            scores = scores + documents.dense @ vectors.dense[row]
        best.append(np.argsort(-scores, kind="stable")[:K].tolist() if np.any(scores) else [])
    return best


def report(what: str, found: list[list[int]], best: list[list[int]], seconds: float) -> None:
    """Print the share of the best that is found, and how often the first is."""
    pairs = [(f, b) for f, b in zip(found, best, strict=True) if b]
    share = np.mean([len({*f} & {*b}) / K for f, b in pairs])
    first = np.mean([f[:1] == b[:1] for f, b in pairs])
    speed = 1000 * seconds / len(found)
    print(
        f"{what}: {len(pairs)} queries, {share:.4f}, first {first:.3f}, {speed:.1f} ms", flush=True
    )


def exported(searcher: Searcher, documents: Documents, out: Path, to: str) -> Encoder:
    """Write an export and print what it took."""
    start, cpu = time.time(), time.process_time()
    artefact = export_model(
        searcher.fitted, documents, out, Settings(to), model=str(searcher.index.path), force=True
    )
    took = f"{time.time() - start:.0f} s ({time.process_time() - cpu:.0f} CPU s)"
    print(f"{out.name}: {took}, {dict(artefact.counts)}", flush=True)
    return Encoder(out / "encoder.json")


def repeated(searcher: Searcher, count: int) -> Documents:
    """Return ``count`` documents, those of an index again and again."""
    index = searcher.index
    rows = np.arange(count) % len(index)

    def vectors(part: slice) -> Vectors:
        dense, sparse = index.vectors.dense, index.vectors.sparse
        taken = rows[part]
        return Inner(
            None if sparse is None else sparse[taken], None if dense is None else dense[taken]
        )

    ids = pl.Series([str(number) for number in range(count)])
    return Documents(ids, index.titles.gather(rows), f"{count} repeated", vectors)


def in_lucene(java: list[str], out: Path, searcher: Searcher, lines: list[str]) -> list[list[int]]:
    """Return the rows that Lucene finds."""
    command = [*java, "Ssi.java", "search", "index", str(K)]
    text = "".join(f"{line}\n" for line in lines)
    run = subprocess.run(
        command, cwd=out, input=text, stdout=subprocess.PIPE, text=True, check=True
    )
    places = {name: row for row, name in enumerate(searcher.index.ids)}
    found: list[list[int]] = [[] for _ in lines]
    for line in run.stdout.splitlines():
        number, name, *_ = line.split("\t")
        found[int(number)].append(places[name])
    return found


def measure(root: Path, name: str, queries: dict[str, list[str]], java: list[str]) -> None:
    """Compare the exports of a model with it."""
    searcher = trained(root, name)
    documents = of_index(searcher.fitted, searcher.index)
    best = {kind: best_rows(searcher, texts) for kind, texts in queries.items()}
    for to, kind_of, place in (("bm25s", Columns, "index"), ("faiss", Nearest, "vectors")):
        out = root / f"{name}-{to}"
        encoder = exported(searcher, documents, out, to)
        engine: Any = kind_of(out / place)
        start = time.time()
        found = [[row for row, _ in engine.best(encoder.query(q), K)] for q in queries["short"]]
        report(f"{name} {to} short", found, best["short"], time.time() - start)
    if not java:
        return
    out = root / f"{name}-lucene"
    encoder = exported(searcher, documents, out, "lucene")
    start = time.time()
    subprocess.run([*java, "Ssi.java", "index", "documents", "index"], cwd=out, check=True)
    print(f"{name} lucene index: {time.time() - start:.0f} s", flush=True)
    for kind, texts in queries.items():
        lines = [json.dumps(encoder.query(text)) for text in texts]
        start = time.time()
        found = in_lucene(java, out, searcher, lines)
        report(f"{name} lucene {kind}", found, best[kind], time.time() - start)


class Light:
    """The light mode of ``U'V + I``: documents with their heaviest words of ``U'Vd``."""

    def __init__(self, fitted: FittedModel, most: int) -> None:
        self.fitted, self.model, self.most = fitted, fitted.model, most
        self.query_views, self.document_views = fitted.query_views, fitted.document_views

    def embed_queries(self, queries: Texts) -> Vectors:
        """Return the words of the diagonal and those of ``U'V``, side by side."""
        views = (LEARNT["diagonal_view"], LEARNT["view"])
        return Inner(joined([queries.matrix(view) for view in views]), None)

    def embed_documents(self, documents: Texts) -> Vectors:
        """Return the words of documents, and those that they would be found by."""
        vectors = self.fitted.embed_documents(documents)
        added = heaviest(vectors.dense, np.asarray(self.fitted.arrays["U"]), self.most)
        return Inner(joined([vectors.sparse, added]), None)


def measure_light(root: Path) -> None:
    """Print the share of the gain over TF-IDF that expansion words keep."""
    task, full = open_task(root / "task"), trained(root, "uv_i").fitted
    plain = TfIdf(LEARNT["diagonal_view"]).fit(task, np.random.default_rng(0))

    def precision(model: Any) -> float:
        return evaluate(model, task).means["map"]

    least, most = precision(plain), precision(full)
    print(f"MAP of TF-IDF {least:.4f}, of the model {most:.4f}", flush=True)
    for words in (50, 100, 200, 1000):
        share = (precision(Light(full, words)) - least) / (most - least)
        print(f"{words} expansion words keep {share:.0%} of the gain", flush=True)


def main() -> None:
    """Measure each row, then an export of many documents."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("root", type=Path)
    parser.add_argument("--java", default="")
    parser.add_argument("--lucene", type=Path)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--documents", type=int, default=100_000)
    chosen = parser.parse_args()
    java = [chosen.java, "-cp", str(chosen.lucene.resolve())] if chosen.java else []
    trained(chosen.root, "uv_i")
    queries = queries_of(chosen.root, chosen.queries)
    for name in ROWS:
        measure(chosen.root, name, queries, java)
    measure_light(chosen.root)
    many = trained(chosen.root, "uv_i")
    exported(many, repeated(many, chosen.documents), chosen.root / "many", "opensearch")


if __name__ == "__main__":
    main()
