import json
import os

import pytest

from ssi_core.collection import open_collection
from ssi_core.corpus.mediawiki import ingest_wikipedia
from ssi_core.sample import write_sample


@pytest.fixture(autouse=True)
def own_root(tmp_path, monkeypatch):
    """A root of the test's own, and no other setting."""
    for name in list(os.environ):
        if name.startswith(("SSI_", "PREFECT_", "MLFLOW_")) and name != "SSI_REAL_DATA":
            monkeypatch.delenv(name)
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "root"))
    return tmp_path / "root"


def write_articles(place, documents):
    """Write the sample encyclopedia as ``articles.jsonl`` and ``links.csv``."""
    place.mkdir(parents=True, exist_ok=True)
    write_sample(place / "sample", documents=documents, seed=0)
    dumps = sorted((place / "sample").glob("enwiki*.bz2"))
    corpus = open_collection(ingest_wikipedia(dumps, place / "sample-corpus", processes=1).path)
    rows = corpus.documents.select("id", "title", "text").collect().iter_rows(named=True)
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (place / "articles.jsonl").write_text(lines, encoding="utf-8")
    corpus.links.collect().write_csv(place / "links.csv")
    return place


@pytest.fixture(scope="session")
def articles(tmp_path_factory):
    """300 articles and their links, as files."""
    return write_articles(tmp_path_factory.mktemp("articles"), 300)
