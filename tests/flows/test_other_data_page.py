"""The page on other data: its table is the committed results, and the results repeat."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks.other_data import matrix, table
from ssi_core.models.tfidf import TfIdf
from ssi_core.tasks.task import build_task, open_task
from tests.datasets.dumps import real_data
from tests.sources import ingest

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_shows_what_was_measured():
    rows = json.loads((DOCS / "results" / "other-data.json").read_text())["rows"]
    page = (DOCS / "other-data.md").read_text()
    lines = table(rows)
    assert len(lines) == 15
    assert all(line in page for line in lines)
    shown = [line for line in page.splitlines() if re.match(r"\| (links|clicks|Farm|Kyoto)", line)]
    assert shown == lines


@pytest.mark.slow
def test_wikispeedia_against_a_collection_and_a_dump(tmp_path, monkeypatch):
    """The deterministic cells of the page: TF-IDF of Wikispeedia, and what it cannot read."""
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "root"))
    excerpt = "enwiki-pages-articles1-p10p30302-shortened.xml.bz2"
    raw = {
        "Wikispeedia links": ("wikispeedia", real_data("wikispeedia")),
        "Cranfield": ("collection", real_data("ir-test-collections", "cranfield")),
        "English excerpt": ("wikipedia", [real_data("wiki-dumps", excerpt)]),
    }
    data = {name: ingest(*of, tmp_path / name).path for name, of in raw.items()}
    kyoto = real_data("kyoto-ja-en")
    data["school"] = ingest("kyoto", kyoto, tmp_path / "school", categories=["school"]).path
    build_task(data["Wikispeedia links"], tmp_path / "task", views=("raw",))
    model = TfIdf().fit(open_task(tmp_path / "task"), np.random.default_rng(0))
    model.save(tmp_path / "model")
    found = {row["data"]: row for row in matrix({"a": str(tmp_path / "model")}, data, 500)}
    assert "queries are in 'ja'" in found.pop("school")["refused"]
    committed = json.loads((DOCS / "results" / "other-data.json").read_text())["rows"]
    for row in committed:
        if row["model"] == "links, TF-IDF" and row["data"] in found:
            own = found.pop(row["data"])
            for name, value in row["measures"].items():
                assert own["measures"][name]["mean"] == pytest.approx(value["mean"], rel=1e-5)
            assert own["unknown_words"] == pytest.approx(row["unknown_words"])
    assert not found
