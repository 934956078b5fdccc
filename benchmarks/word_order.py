"""What the order of words, and a title that is the query, would add to BM25F: a lead, no model.

    python -m benchmarks.word_order LABEL=DATA ... --out word-order.json

Queries are the words of links, those of training and validation: no test pair is looked at. BM25F
scores each as if it were held out (`own_words`). Its first 20 documents get further features; a
linear model of them learns in three quarters of the queries and orders the last (softmax over the
20, by L-BFGS).
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

import ssi_core as ssi
from ssi_core.collection import open_collection
from ssi_core.files import write_result
from ssi_core.models.base import FitOptions
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.combined.own_words import without_own, wordings
from ssi_core.tasks.kinds import fields_of
from ssi_core.tasks.training_part import training_part
from ssi_core.tasks.unseen import documents_of
from ssi_core.text.fields import HEADINGS, TEXT, TITLE, split
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import Float64, Task

DEPTH, FOLDS = 20, 4
RIDGE = 1e-3
ROWS: Mapping[str, Sequence[int]] = {
    "words of the query that the page has": (0, 1),
    "share of title and query in common, equal": (0, 2, 3, 4),
    "pairs of words, in title and headings, in the text": (0, 5, 6),
    "all": range(7),
}
"""Features that a model has beside the score, which is the first."""


class Page:
    """Words of a page's fields, and the pairs of neighbours among them."""

    def __init__(self, text: str, language: str) -> None:
        fields = split(text)
        own = {name: tokenize(fields[name], language) for name in (TITLE, HEADINGS, TEXT)}
        self.title = {*own[TITLE]}
        self.words = {word for words in own.values() for word in words}
        self.named = {pair for name in (TITLE, HEADINGS) for pair in pairwise(own[name])}
        self.pairs = Counter(pairwise(own[TEXT]))


def features(words: Sequence[str], idf: Mapping[str, float], page: Page) -> list[float]:
    """Return the features of a query and a page, but for the score."""
    whole = sum(idf[word] for word in words) or 1.0
    pairs = [*pairwise(words)]
    many = max(1, len(pairs))
    return [
        sum(idf[word] for word in words if word in page.words) / whole,
        sum(idf[word] for word in words if word in page.title) / whole,
        len(page.title & {*words}) / max(1, len(page.title)),
        float(page.title == {*words}),
        sum(pair in page.named for pair in pairs) / many,
        sum(float(np.log1p(page.pairs[pair])) for pair in pairs) / many,
    ]


def heads(task: Task, texts: Mapping[str, str]) -> tuple[Float64, Any]:
    """Return the features of the first documents of each query, and which of them are right."""
    language = task.queries.views["counts"].language
    words = Bm25F.tuned(measure="mrr").learn(task, np.random.default_rng(0), FitOptions())
    sides = words.embed_queries(task.queries), words.embed_documents(task.documents)
    queries, documents = without_own(
        (sides[0].sparse, sides[1].sparse), words, task, [wordings(task)]
    )
    pages = [Page(texts[name], language) for name in task.documents.ids]
    df, n = Counter(word for page in pages for word in page.words), len(pages)
    right: dict[int, set[int]] = {}
    for query, document in np.vstack([task.train.rows, task.valid.rows]).tolist():
        right.setdefault(query, set()).add(document)
    rows, relevant = [], []
    for query, found in sorted(right.items()):
        asked = [*dict.fromkeys(tokenize(task.queries.titles[query], language))]
        idf = {word: float(np.log1p((n - df[word] + 0.5) / (df[word] + 0.5))) for word in asked}
        scores = (queries[[query]] @ documents.T).toarray().ravel()
        first = np.argsort(-scores, kind="stable")[:DEPTH]
        top = max(1e-9, float(scores[first[0]]))
        rows.append([[scores[d] / top, *features(asked, idf, pages[d])] for d in first])
        relevant.append([d in found for d in first])
    return np.array(rows), np.array(relevant)


def learned(x: Float64, right: Any, columns: Sequence[int]) -> Float64:
    """Return the weights of some columns under which right documents are first."""
    known = right.any(axis=1)
    x, right, mask = x[known], right[known], np.isin(np.arange(x.shape[2]), columns)

    def loss(weights: Float64) -> float:
        scores = x @ (weights * mask)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        hits = (shares * right).sum(axis=1) / shares.sum(axis=1)
        return float(-np.log(hits + 1e-12).mean() + RIDGE * (weights[1:] ** 2).sum())

    start = np.zeros(x.shape[2])
    start[0] = 10.0
    return np.asarray(minimize(loss, start, method="L-BFGS-B").x * mask)


def reciprocal_ranks(scores: Float64, right: Any) -> Float64:
    """Return 1 / rank of the first right document, 0 where the first 20 have none."""
    order = np.argsort(-scores, axis=1, kind="stable")
    found = np.take_along_axis(right, order, axis=1)
    return np.where(found.any(axis=1), 1 / (1 + found.argmax(axis=1)), 0.0)


def measured(label: str, data: str) -> dict[str, Any]:
    """Return MRR of BM25F, and what each row adds by cross-validation, with its error."""
    documents = ssi.read(data)
    task = training_part(ssi.Task.of(documents, **fields_of("anchors")).data)
    frame = documents_of(open_collection(documents.path))
    x, right = heads(task, dict(frame.select("id", "text").rows()))
    fold = np.random.default_rng(5).permutation(len(x)) % FOLDS
    base = reciprocal_ranks(x[:, :, 0], right)
    rows = {}
    for name, columns in ROWS.items():
        gain = np.empty(len(x))
        for held in range(FOLDS):
            out = fold == held
            weights = learned(x[~out], right[~out], columns)
            gain[out] = reciprocal_ranks(x[out] @ weights, right[out]) - base[out]
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        rows[name] = {"gain": float(gain.mean()), "se": float(error)}
    return {"set": label, "queries": len(x), "mrr": float(base.mean()), "rows": rows}


def main() -> None:
    """Measure, write the result, and print it as a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.word_order", description=__doc__)
    parser.add_argument("tasks", nargs="+", metavar="LABEL=DATA")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    results = [measured(*one.split("=", 1)) for one in given.tasks]
    write_result(given.out, {"comparison": "word order", "results": results})
    print("| BM25F |", " | ".join(f"{one['mrr']:.3f}" for one in results), "|")
    for name in ROWS:
        cells = [one["rows"][name] for one in results]
        print(f"| {name} |", " | ".join(f"{c['gain']:+.3f} ±{c['se']:.3f}" for c in cells), "|")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
