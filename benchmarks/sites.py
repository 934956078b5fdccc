"""Search boxes of documentation sites: known pages, and typed queries with judged pages.

    python -m benchmarks.sites pages FOLDER --out pages.json
    python -m benchmarks.sites typed FOLDER --queries q.tsv --qrels r.tsv --out typed.json

"pages" asks for every title, and for every heading, and looks for the page that has it: BM25 of ssi
and of bm25s on the same tokens, BM25F, the sum of BM25 over the fields, and what `auto` chooses on
titles that are hidden in their pages. "typed" asks the judged
queries, of which no setting knows: BM25 over the text, and over title and text, BM25F, `U'V + D`
with its documented settings, and the model that `ssi fit` makes for a search box.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import polars as pl
from ir_measures import RR, Success, nDCG

import ssi_core as ssi
from benchmarks.timing import peer
from ssi_core.collection import open_collection
from ssi_core.evaluation.significance import paired_randomisation
from ssi_core.face.estimator import Estimator
from ssi_core.face.fit import search_model, search_task
from ssi_core.files import write_result
from ssi_core.models.bm25f import Bm25F
from ssi_core.tasks.unseen import documents_of
from ssi_core.text import fields
from ssi_core.text.tokenizer import tokenize

DEPTH = 20
"""Documents of a ranking; a right one behind them counts as not found."""
K1, B = 1.2, 0.75
PLAIN = "BM25F, no phrases"
"""Row of typed queries that the others are compared with."""
UNSATURATED = 1e6
"""k3 of a BM25 that counts a word of the query as often as it is there."""

Run = Mapping[str, Sequence[str]]
"""Query -> documents, best first."""


def as_they_are(documents: ssi.Documents, *names: str) -> ssi.Task:
    """Return a task that reads some fields of the documents, and hides nothing of them."""
    return ssi.Task.of(documents, "self", queries="words:2", fields=names, views=["counts"])


def searched(index: ssi.Index, queries: Mapping[str, str]) -> Run:
    """Return the run of an index."""
    answers = index.search(list(queries.values()), DEPTH)
    return {
        query: [hit.id for hit in one.hits] for query, one in zip(queries, answers, strict=True)
    }


def with_bm25s(documents: ssi.Documents, queries: Mapping[str, str]) -> Run:
    """Return the run of bm25s over the words of all fields but anchors; ties in order of rows."""
    frame = documents_of(open_collection(documents.path))
    language = frame["language"][0]
    words = [tokenize(fields.take(text, fields.OWN), language) for text in frame["text"]]
    engine = peer("bm25s").BM25(method="lucene", k1=K1, b=B)
    engine.index(words, show_progress=False)
    known, ids = engine.vocab_dict, frame["id"].to_list()

    def ranked(text: str) -> list[str]:
        asked = [word for word in tokenize(text, language) if word in known]
        if not asked:
            return []
        scores = engine.get_scores(asked)
        best = np.argsort(-scores, kind="stable")[:DEPTH]
        return [ids[row] for row in best if scores[row] > 0]

    return {query: ranked(text) for query, text in queries.items()}


def reciprocal_ranks(run: Run, right: Mapping[str, set[str]]) -> np.ndarray:
    """Return 1 / rank of the first right document of each query, 0 where there is none."""
    return np.array(
        [
            next((1 / n for n, one in enumerate(run[query], 1) if one in documents), 0.0)
            for query, documents in right.items()
        ]
    )


def asked_for(documents: ssi.Documents, field: str) -> dict[str, set[str]]:
    """Return the entries of a field -> the documents that have them."""
    found: dict[str, set[str]] = {}
    for row, entries in documents.frame.select("id", field).drop_nulls().rows():
        for entry in filter(None, entries.split("\n")):
            found.setdefault(entry, set()).add(row)
    return found


def pages(documents: ssi.Documents) -> dict[str, Any]:
    """Measure the search for known pages."""
    whole, own = as_they_are(documents, *fields.FIELDS), as_they_are(documents, *fields.OWN)
    engines: dict[str, Callable[[Mapping[str, str]], Run]] = {
        "BM25": _engine(ssi.BM25(k1=K1, b=B, k3=UNSATURATED), own, documents),
        "bm25s": lambda queries: with_bm25s(documents, queries),
        "BM25F": _engine(ssi.Ranker("bm25f"), whole, documents),
        "sum of fields": _engine(ssi.Ranker("bm25f", combine="scores"), whole, documents),
        "chosen on hidden titles": _engine(
            ssi.SSI(auto=True, measure="mrr"), ssi.Task.of(documents, "self"), documents
        ),
    }
    result: dict[str, Any] = {}
    for field in ("title", "headings"):
        right = asked_for(documents, field)
        if not right:
            continue
        queries = {text: text for text in right}
        means = {name: reciprocal_ranks(run(queries), right) for name, run in engines.items()}
        result[field] = {"queries": len(right)} | {
            name: {"mrr": float(one.mean()), "first": float((one == 1).mean())}
            for name, one in means.items()
        }
    return result


def _engine(
    model: Estimator, task: ssi.Task, documents: ssi.Documents
) -> Callable[[Mapping[str, str]], Run]:
    index = model.fit(task).index(documents)
    return lambda queries: searched(index, queries)


def typed(documents: ssi.Documents, asked: pl.DataFrame, judged: pl.DataFrame) -> dict[str, Any]:
    """Measure the answers to judged queries."""
    queries = dict(asked.select("id", "query").rows())
    box = search_task(documents)
    chosen, name = search_model(documents)
    plain, bm25f = (
        ssi.Ranker("bm25f", **vars(Bm25F.tuned(measure="mrr", **settings))).fit(box)
        for settings in ({"phrases": (0.0,)}, {})
    )
    models = {
        "BM25, text": ssi.BM25().fit(as_they_are(documents, "text")),
        "BM25, title + text": ssi.BM25().fit(as_they_are(documents, "title", "text")),
        "BM25, all fields": ssi.BM25().fit(as_they_are(documents, *fields.OWN)),
        PLAIN: plain,
        "BM25F": bm25f,
        "U'V + D, links": ssi.SSI().fit(ssi.Task.of(documents, "link")),
        "U'V + D, search box": ssi.SSI().fit(box),
        f"ssi fit: {name}": chosen,
    }
    values: dict[str, dict[str, np.ndarray]] = {}
    answers: dict[str, Run] = {}
    for label, model in models.items():
        run = answers[label] = searched(model.index(documents), queries)
        values[label] = by_query(run, judged, list(queries))
    base = values[PLAIN]
    rows = {
        label: {
            key: {
                "mean": float(one.mean()),
                "se": float(one.std(ddof=1) / np.sqrt(len(one))),
                "gain": float((one - base[key]).mean()),
                "gain_se": float((one - base[key]).std(ddof=1) / np.sqrt(len(one))),
                "p": None if label == PLAIN else paired_randomisation(one, base[key]),
            }
            for key, one in several.items()
        }
        for label, several in values.items()
    }
    return {
        "task": box.artefact.configuration["relevant"],
        "bm25f": bm25f.fitted_.facts.get("chosen"),
        "choice": {key: value for key, value in chosen.fitted_.facts.items() if key == "reason"},
        "rows": rows,
        "values": {
            label: {key: one.tolist() for key, one in several.items()}
            for label, several in values.items()
        },
        "answers": {label: {q: list(run[q][:3]) for q in run} for label, run in answers.items()},
    }


def by_query(run: Run, judged: pl.DataFrame, queries: Sequence[str]) -> dict[str, np.ndarray]:
    """Return each measure of a run, a value for each query."""
    qrels = [
        ir_measures.Qrel(query, document, grade)
        for query, document, grade in judged.select("query", "document", "grade").rows()
    ]
    scored = [
        ir_measures.ScoredDoc(query, one, -float(rank))
        for query, found in run.items()
        for rank, one in enumerate(found)
    ]
    # The page that the person wanted has the grade 2; one that helps, too, has the grade 1.
    measures = {
        "ndcg_at_10": nDCG @ 10,
        "mrr": RR(rel=2),
        "success_at_1": Success(rel=2) @ 1,
    }
    values = {}
    for key, measure in measures.items():
        found = {one.query_id: one.value for one in ir_measures.iter_calc([measure], qrels, scored)}
        values[key] = np.array([found.get(query, 0.0) for query in queries])
    return values


def main(argv: Sequence[str] | None = None) -> None:
    """Read a site, measure, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["pages", "typed"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--queries", type=Path)
    parser.add_argument("--qrels", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(argv)
    documents = ssi.read(options.folder)  # a folder of pages, or a collection
    if options.what == "pages":
        result = pages(documents)
    else:
        asked, judged = (
            pl.read_csv(one, separator="\t", quote_char=None)
            for one in (options.queries, options.qrels)
        )
        result = typed(documents, asked, judged)
    write_result(options.out, result)
    for name, row in result.get("rows", result).items():
        print(name, row)


if __name__ == "__main__":
    main()
