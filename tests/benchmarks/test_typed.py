"""Typed queries: the table of the page is the committed results; a row is measured as it says."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import typed
from ssi_core.tasks.task import build_task, open_task

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_shows_what_was_measured():
    results = json.loads((DOCS / "results" / "typed.json").read_text())["rows"]
    base = {kind: value["mean"] for kind, value in results[0]["kinds"].items()}
    lines = [typed.line({**one, "base": base}) for one in results]
    labels = tuple(f"| {one['row']} |" for one in results)
    page = (DOCS / "wikispeedia.md").read_text().partition("## Typed queries")[2].splitlines()
    assert [line for line in page if line.startswith(labels)] == lines


@pytest.mark.trains
def test_each_length_is_measured_on_validation_of_each_kind(corpus_dir, tmp_path):
    fields = {"relevant": "self", "queries": "titles", "auxiliary": typed.KINDS[1:]}
    build_task(corpus_dir, tmp_path / "task", views=typed.VIEWS, **fields)
    task = open_task(tmp_path / "task")
    rows = typed.rows(budget=1_000)
    assert next(iter(rows)) == typed.BASE
    row, lengths = rows["BM25 + `U'V`, links"]
    row = {**row, "epoch": 500, "search_budget": 500, "dimensions": 8}
    (_, base), *_ = typed.variants(task, *rows[typed.BASE], 0)
    first = typed.measured(base, task)
    valid = (task, *(task.auxiliary[kind] for kind in typed.KINDS[1:]))
    for kind, one in zip(typed.KINDS, valid, strict=True):
        assert len(first[kind]) == len(np.unique(one.valid.rows[:, 0]))
    fits = dict(typed.variants(task, row, lengths, 0))
    assert list(fits) == ["as learnt", "0.5", "1", "2"]
    norms = np.linalg.norm(fits["as learnt"].embed_documents(task.documents).dense, axis=1)
    for name, fit in list(fits.items())[1:]:
        dense = fit.embed_documents(task.documents).dense
        expected = np.where(norms > 0, float(name) * norms.mean(), 0)
        np.testing.assert_allclose(np.linalg.norm(dense, axis=1), expected, rtol=1e-4)
    one = typed.result("row", "1", typed.measured(fits["1"], task), first)
    same = typed.result("row", "", first, first)
    assert set(one["kinds"]) == set(typed.KINDS)
    assert all(value["p"] == 1 for value in same["kinds"].values())
    means = {kind: value["mean"] for kind, value in same["kinds"].items()}
    assert typed.line({**same, "base": means}).count("|") == 7
