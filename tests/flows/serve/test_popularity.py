"""The term that counts links, as the service has it."""

import pytest

from ssi_core.models.bm25 import Bm25
from ssi_core.models.combined.mixture import Mixture
from ssi_core.serving.index import build_index
from ssi_core.tasks.task import open_task
from tests.flows.services import Registry, answering, service
from tests.serving.test_popularity import COUNTED, TEXT, WORDS, B, best, searcher_of


def test_the_service_says_whether_a_model_counts_links(task_dir, tmp_path):
    task = open_task(task_dir)
    searcher = searcher_of(Mixture((WORDS, COUNTED), betas=(B,)), task, tmp_path / "l")
    for name, one in (("links", searcher), ("words", searcher_of(Bm25(), task, tmp_path / "w"))):
        one.fitted.save(tmp_path / name / "model")
        build_index(one.fitted, task.documents, tmp_path / name / "index", parents={})
    places = Registry(links=tmp_path / "links", words=tmp_path / "words")
    with answering(service(tmp_path / "documents.db", places, "links", "words")) as client:
        states = client.get("/healthz").json()["models"]
        assert [state["popularity"] for state in states] == [True, False]
        asked = {"q": TEXT, "popularity": "false"}
        hits = client.get("/search", params=asked).json()["results"]
        assert [hit["id"] for hit in hits] == best(searcher.search([TEXT], popularity=False))[0]
        explained = client.get("/explain", params={**asked, "document": hits[0]["id"]}).json()
        assert explained["score"] == pytest.approx(hits[0]["score"], rel=1e-4)
        assert client.get("/search", params={**asked, "model": "auxiliary"}).status_code == 422
