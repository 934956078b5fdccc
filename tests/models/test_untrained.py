"""Which of the models that learn nothing is taken."""

import dataclasses

import numpy as np
import pytest

from ssi_core.models.base import FitOptions
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.choice.untrained import best_of_words, strongest, title
from ssi_core.models.tfidf import TfIdf
from ssi_core.selection.validation_halves import ValidationHalves
from ssi_core.tasks.build import build_task
from ssi_core.tasks.task import open_task
from ssi_core.text.fields import FIELDS
from tests.fielded import write_fielded

pytestmark = pytest.mark.trains


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    place = write_fielded(tmp_path_factory.mktemp("fielded") / "collection", 60)
    out = tmp_path_factory.mktemp("task") / "task"
    build_task(place, out, relevant="self", queries="words:3", words="all", fields=FIELDS)
    return open_task(out)


def fit(model, task):
    return model.learn(task, np.random.default_rng(0), FitOptions())


@pytest.mark.parametrize("is_above", [True, False])
def test_where_people_type_bm25f_stays_unless_another_is_clearly_above(task, monkeypatch, is_above):
    monkeypatch.setattr(ValidationHalves, "is_clearly_above", lambda *_: is_above)
    halves = ValidationHalves(task, "map", 10)
    cosine, fields = fit(TfIdf("raw"), task), fit(Bm25F(), task)
    several = [(cosine, 0.9), (fields, 0.8)]
    assert best_of_words(several, task, halves) is (cosine if is_above else fields)
    assert best_of_words(several[:1], task, halves) is cosine
    of_documents = dataclasses.replace(task, queries=task.documents)
    assert of_documents.same
    assert best_of_words(several, of_documents, halves) is cosine


def test_queries_of_unknown_words_leave_the_search_box_its_fields(task):
    matrices = {name: 0 * rows for name, rows in task.queries.matrices.items()}
    for rows in matrices.values():
        rows.eliminate_zeros()
    nothing = dataclasses.replace(task.queries, matrices=matrices)
    asked = dataclasses.replace(task, queries=nothing)
    halves = ValidationHalves(asked, "map", 10)
    highest, several = strongest(asked, ["raw"], halves, np.random.default_rng(0))
    assert highest.model == several[0][0].model == TfIdf("raw")
    assert isinstance(best_of_words(several, asked, halves).model, Bm25F)


def test_the_number_of_links_needs_no_raw_counts_of_words(task_dir):
    task = open_task(task_dir)
    views = {name: view for name, view in task.documents.views.items() if name != "raw"}
    matrices = {name: task.documents.matrices[name] for name in views}
    texts = dataclasses.replace(task.documents, views=views, matrices=matrices)
    lacking = dataclasses.replace(task, documents=texts, queries=texts)
    found = []
    for one in (task, lacking):
        halves = ValidationHalves(one, "map", 10)
        several = strongest(one, ["sublinear"], halves, np.random.default_rng(0))[1]
        found.append([(title(fit.model), mean) for fit, mean in several])
    assert found[0] == found[1]
    assert any("in-degree" in name for name, _ in found[0])


def test_links_are_compared_with_tuned_bm25_and_the_number_of_links(task_dir):
    links = open_task(task_dir)
    assert links.same
    _, several = strongest(
        links, ["raw"], ValidationHalves(links, "map", 100), np.random.default_rng(0)
    )
    called = {title(fit.model): fit for fit, _ in several}
    assert {*called} == {
        "BM25", "TF-IDF", "language model",
        "LSI + TF-IDF", "TF-IDF + in-degree", "BM25 + in-degree",
    }  # fmt: skip
    assert called["BM25"].facts["tried"] > 1
