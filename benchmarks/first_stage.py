"""Where candidates of a search come from: signs of vectors, or all documents.

    ssi data ingest wikispeedia wikispeedia --out corpus
    python -m benchmarks.first_stage corpus [--words 0,100,15] [--place DIR] [--save FILE]

Documents are the pages of a collection (0), or pieces of 100 or 15 words of them, as two models of
100 dimensions see them: LSI, whose vectors are of one length, and U'V + I, whose vectors are not;
its words are left out. Queries are titles of pages. CPU milliseconds a query on one thread, alone
and 32 together, the less of two; recall is the share of the exact search's first ten. ``--place``
keeps models and vectors.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from ssi_core.files import write_result
from ssi_core.models import load_model
from ssi_core.models.base import FittedModel, Model
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.latent.lsi import Lsi
from ssi_core.scoring.vectors import Inner, Vectors
from ssi_core.serving.candidates import PartScores, SignCodes, write_signs
from ssi_core.serving.ranked import Ranked, Scores, exactly
from ssi_core.serving.searcher import texts_of
from ssi_core.tasks.build import build_task
from ssi_core.tasks.task import open_task
from ssi_core.types import Float32

MODELS: dict[str, Model] = {
    "lsi": Lsi(view="raw", dimensions=100),
    "ssi": Bilinear(view="raw", dimensions=100, rates=(0.1, 0.03), budget=600_000, epoch=100_000),
}
QUERIES, TOGETHER, ALONE, K = 128, 32, 32, 10
CODES = (64, 256, 512, 1024, 2048)
_BLOCK = 20_000


def fit(collection: Path, path: Path) -> None:
    """Train the models, as far as they are not there."""
    if all((path / name).exists() for name in MODELS):
        return
    build_task(collection, path / "task", views=("raw",))
    task = open_task(path / "task")
    for name, model in MODELS.items():
        model.fit(task, np.random.default_rng(0)).save(path / name)


def texts(collection: Path, words: int) -> list[str]:
    """Return the pages, or pieces of them; a last piece of less than half is left out."""
    files = sorted((collection / "documents").glob("*.parquet"))
    pages = pl.concat([pl.read_parquet(file) for file in files])["text"].to_list()
    if not words:
        return pages
    pieces = []
    for page in pages:
        split = page.split()
        starts = range(0, len(split) - words // 2, words)
        pieces += [" ".join(split[start : start + words]) for start in starts]
    return pieces


def vectors(fitted: FittedModel, collection: Path, words: int, file: Path) -> Float32:
    """Return the dense vectors of the pieces."""
    if not file.exists():
        blocks = []
        some = texts(collection, words)
        for first in range(0, len(some), _BLOCK):
            part = texts_of(some[first : first + _BLOCK], fitted.document_views)
            blocks.append(fitted.embed_documents(part).dense)
        np.save(file, np.concatenate(blocks))
    found: Float32 = np.load(file)
    return found


def queries(fitted: FittedModel, collection: Path) -> Vectors:
    """Return titles that the model knows, drawn at random."""
    files = sorted((collection / "documents").glob("*.parquet"))
    titles = pl.concat([pl.read_parquet(file) for file in files])["title"].to_list()
    dense = fitted.embed_queries(texts_of(titles, fitted.query_views)).dense
    known = np.flatnonzero(np.abs(dense).sum(axis=1) > 0)
    return Inner(None, dense[np.random.default_rng(0).permutation(known)[:QUERIES]])


def timed(ranked: Ranked, asked: Vectors, together: int) -> tuple[float, list[set[int]]]:
    """Return milliseconds a query, and the rows that are found."""
    best = np.inf
    for _ in range(2):
        found, began = [], time.process_time()
        for first in range(0, len(asked), together):
            found += ranked.best(asked.take(slice(first, first + together)), K)
        best = min(best, (time.process_time() - began) * 1e3 / len(asked))
    return best, [{row for row, _ in one} for one in found]


def ways(dense: Float32, stem: Path) -> Iterator[tuple[str, int, float, int, Scores]]:
    """Yield the way, documents looked at, seconds that it took to make, bytes, and scores."""
    documents = Inner(None, dense)
    yield "exact", len(dense), 0.0, 0, exactly(documents)
    began, file = time.process_time(), Path(f"{stem}.codes.npy")
    write_signs(dense, file)
    seconds, near = time.process_time() - began, SignCodes(dense, file)
    for size in CODES:
        yield "codes", size, seconds, file.stat().st_size, PartScores(near, documents, size)


def measure(fitted: FittedModel, collection: Path, words: int, stem: Path) -> dict[str, Any]:
    """Return the figures of a model and a length of pieces."""
    dense = vectors(fitted, collection, words, Path(f"{stem}.npy"))
    asked = queries(fitted, collection)
    ids = pl.Series("id", np.arange(len(dense)).astype(str))
    lengths = np.linalg.norm(dense, axis=1)
    rows: list[dict[str, Any]] = []
    best: list[set[int]] = []
    for way, size, seconds, octets, scores in ways(dense, stem):
        ranked = Ranked(ids, ids, Inner(None, dense), scores)
        ranked.best(asked.take(slice(0, 2)), K)  # compiles
        together, found = timed(ranked, asked, TOGETHER)
        alone, _ = timed(ranked, asked.take(slice(0, ALONE)), 1)
        best = best or found
        recall = np.array([len(a & b) / K for a, b in zip(found, best, strict=True)])
        row = {"way": way, "size": size, "recall": float(recall.mean()), "alone": alone}
        row["recall_se"] = float(recall.std(ddof=1) / np.sqrt(len(recall)))
        row |= {"together": together, "made_seconds": seconds, "bytes": octets}
        rows.append(row)
        print(stem.name, {k: round(v, 3) if k != "way" else v for k, v in row.items()}, flush=True)
    spread = np.percentile(lengths, (1, 50, 99)).tolist()
    return {"documents": len(dense), "length_percentiles": spread, "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--words", default="0,100")
    parser.add_argument("--place", type=Path)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        path = options.place or Path(temporary)
        fit(options.collection, path)
        result: dict[str, Any] = {"queries": QUERIES, "together": TOGETHER}
        for words in map(int, options.words.split(",")):
            for name in MODELS:
                fitted = load_model(path / name)
                stem = path / f"{name}-{words}"
                result[stem.name] = measure(fitted, options.collection, words, stem)
    if options.save is not None:
        write_result(options.save, result)


if __name__ == "__main__":
    main()
