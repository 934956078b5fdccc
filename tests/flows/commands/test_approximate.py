"""`ssi search --approximate`."""

import json

import numpy as np
import pytest

from ssi_core.serving.index import build_index
from ssi_core.types import Texts
from tests.flows.services import BILINEAR, TFIDF
from tests.serving.models import WORDS, documents

TEXTS = [" ".join(np.random.default_rng(row).choice(WORDS, 6)) for row in range(60)]


@pytest.fixture
def ssi(ssi, monkeypatch, tmp_path):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "root"))
    return ssi


def write(fitted, directory):
    own = documents(fitted.document_views, TEXTS)
    titles = own.ids.replace(own.ids, TEXTS).rename("title")
    fitted.save(directory / "model")
    texts = Texts(own.ids, titles, own.matrices, own.views)
    build_index(fitted, texts, directory / "index", parents={})
    return directory


def test_it_says_its_recall_and_keeps_what_finds_documents(ssi, tmp_path):
    model = write(BILINEAR, tmp_path / "run")
    _, exact, _ = ssi("search", model, "car moon")
    code, found, log = ssi("search", model, "car moon", "--approximate", "--recall", "0.9")
    assert (code, found["results"]) == (0, exact["results"])
    assert 0.9 <= found["recall"] <= 1
    assert "recall" not in exact
    assert "exactly" not in log
    (kept,) = (tmp_path / "root" / ".ssi" / "store" / "codes").iterdir()
    recalls = json.loads((kept / "artefact.json").read_text())["counts"]["recall"]
    assert found["recall"] in recalls.values()


def test_a_model_without_vectors_is_searched_exactly(ssi, tmp_path):
    model = write(TFIDF, tmp_path / "run")
    code, found, log = ssi("search", model, "car moon", "--approximate")
    assert code == 0
    assert "recall" not in found
    assert "is searched exactly: it has no vectors" in log


def test_the_former_choice_of_candidates_is_refused(ssi, tmp_path):
    code, _, log = ssi("search", "model", "car", "--approximate", "--candidates", "graph")
    assert code == 2
    assert "Give --approximate alone" in log
