"""Search, neighbours and explanations of a model whose queries are in another language."""

import numpy as np
import pytest

from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.combined.mixture import Mixture
from ssi_core.serving.explain import explain
from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.neighbours import neighbours
from ssi_core.serving.searcher import Searcher
from ssi_core.tasks.task import open_task
from ssi_core.types import BadInput

pytestmark = pytest.mark.trains

SSI = dict(dimensions=8, rates=(0.1,), epoch=500, budget=4000, margin=0.3, diagonal="none")


@pytest.fixture(scope="module")
def task(mates_task_dirs):
    return open_task(mates_task_dirs["link"])


def searcher_of(model, task, out):
    fitted = model.fit(task, np.random.default_rng(0))
    build_index(fitted, task.documents, out, parents={"task": task.key})
    return Searcher(fitted, open_index(out))


@pytest.fixture(scope="module")
def searcher(task, tmp_path_factory):
    return searcher_of(Bilinear(**SSI), task, tmp_path_factory.mktemp("index") / "index")


def subjects(answer):
    return [int(hit.id[1:]) % 8 for hit in answer.hits]


@pytest.mark.parametrize(("text", "language"), [("ĵstars1 ĵstars2", "eo"), ("stars1 stars2", "en")])
def test_a_text_of_either_language_finds_documents(text, language, searcher):
    assert subjects(searcher.search([text], 5, language)[0]).count(5) >= 4


def test_without_a_language_it_is_that_of_the_queries(searcher):
    assert searcher.search(["ĵstars1"], 5) == searcher.search(["ĵstars1"], 5, "eo")
    assert searcher.search(["stars1"], 5)[0].reason


def test_another_language_names_those_there_are(searcher):
    with pytest.raises(BadInput, match="queries in eo and documents in en"):
        searcher.search(["étoile"], 5, "fr")


def test_neighbours_are_words_of_the_documents(searcher):
    found = neighbours(searcher.fitted, "ĵtrains3", 10)
    assert sum(n.word.startswith("trains") for n in found) >= 5


def test_an_explanation_pairs_a_word_with_one_of_the_other_language(searcher):
    found = explain(searcher, "ĵcheese1 ĵcheese2", "Page 4", 5)
    assert all(part.query_word.startswith("ĵcheese") for part in found.parts)
    assert not any(part.document_word.startswith("ĵ") for part in found.parts)
    total = sum(part.part for part in found.parts) + found.rest
    assert found.score == pytest.approx(total, rel=1e-5)


def test_a_translated_query_is_read_in_its_own_language(task, tmp_path):
    parts = ({"model": "bilinear"} | SSI, {"model": "tfidf", "view": "dictionary.raw"})
    searcher = searcher_of(Mixture(parts=parts), task, tmp_path / "index")
    assert subjects(searcher.search(["ĵmusic1 ĵmusic2"], 5, "eo")[0]).count(2) >= 4
    part = explain(searcher, "ĵmusic1 ĵmusic2", "Page 2", 50).parts
    assert {p.query_word[0] for p in part} == {"ĵ", "m"}
