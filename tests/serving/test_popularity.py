"""The term that counts links: seen in an explanation, and left out of a search."""

import json

import numpy as np
import pytest

from flows.cli import cli
from ssi_core.command.verb import run as main
from ssi_core.face.index import Index
from ssi_core.models.bm25 import Bm25
from ssi_core.models.combined.mixture import Mixture
from ssi_core.models.in_degree import InDegree
from ssi_core.scoring.scorer import Scorer
from ssi_core.serving.explain import explain
from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.searcher import Searcher
from ssi_core.types import BadInput

B = 0.25
COUNTED, WORDS = {"model": "in_degree"}, {"model": "bm25"}
TEXT = "music1 common2"


@pytest.fixture(scope="module")
def links(task):
    return np.bincount(task.train.rows[:, 1], minlength=len(task.documents))


def searcher_of(model, task, path):
    fitted = model.fit(task, np.random.default_rng(0))
    build_index(fitted, task.documents, path / "index", parents={})
    return Searcher(fitted, open_index(path / "index"))


@pytest.fixture(scope="module")
def searcher(task, tmp_path_factory):
    model = Mixture((WORDS, COUNTED), betas=(B,))
    return searcher_of(model, task, tmp_path_factory.mktemp("popular"))


def best(answers):
    return [[hit.id for hit in answer.hits] for answer in answers]


def test_an_explanation_has_the_weight_and_the_part(task, searcher, links):
    row = int(np.argmax(links))
    parts = explain(searcher, TEXT, task.documents.ids[row], 1000)
    assert parts.popularity.weight == pytest.approx(B)
    assert parts.popularity.part == pytest.approx(B * np.log1p(links[row]))
    (part,) = [part.part for part in parts.parts if part.document_word.startswith("(in-degree)")]
    assert part == pytest.approx(parts.popularity.part)


@pytest.mark.parametrize("first", [False, True], ids=["second", "first"])
def test_a_search_without_it_ranks_as_the_other_model(task, searcher, tmp_path, first):
    if first:
        searcher = searcher_of(Mixture((COUNTED, WORDS), betas=(2.0,)), task, tmp_path)
    alone = Bm25().fit(task, np.random.default_rng(0))
    texts = [TEXT, "boats1 boats2"]
    with_links, without = (searcher.search(texts, 10, popularity=on) for on in (True, False))
    queries = alone.embed_queries(searcher.queries(texts))
    scores = Scorer(alone.embed_documents(task.documents)).score(queries)
    rows = np.argsort(-scores, axis=1, kind="stable")[:, :10].tolist()
    assert best(without) == [task.documents.ids[row].to_list() for row in rows]
    assert best(without) != best(with_links)


def test_of_the_first_model_the_weight_is_one(task, tmp_path, links):
    searcher = searcher_of(Mixture((COUNTED, WORDS), betas=(2.0,)), task, tmp_path)
    parts = explain(searcher, TEXT, task.documents.ids[0])
    assert parts.popularity.weight == 1
    assert parts.popularity.part == pytest.approx(np.log1p(links[0]))


def test_a_model_without_it_says_so(task, tmp_path):
    searcher = searcher_of(Bm25(), task, tmp_path / "words")
    assert explain(searcher, TEXT, task.documents.ids[0]).popularity is None
    with pytest.raises(BadInput, match="'bm25' has no term of popularity"):
        searcher.search([TEXT], popularity=False)
    alone = searcher_of(InDegree(), task, tmp_path / "links")
    assert alone.search([TEXT], popularity=False)[0].hits == ()


def test_an_explanation_without_it_is_that_of_the_other_model(task, searcher):
    document = task.documents.ids[0]
    whole = explain(searcher, TEXT, document, 1000)
    parts = explain(searcher, TEXT, document, 1000, popularity=False)
    assert parts.popularity is None
    assert parts.score == pytest.approx(whole.score - whole.popularity.part)
    assert not any(part.document_word.startswith("(in-degree)") for part in parts.parts)


def test_python_leaves_it_out_of_a_search_and_of_an_explanation(task, searcher, tmp_path):
    index = Index(searcher)
    found = index.search([TEXT, "boats1 boats2"], popularity=False)
    assert best(found) == best(searcher.search([TEXT, "boats1 boats2"], popularity=False))
    hit = found[0].hits[0]
    assert index.explain(TEXT, hit.id, popularity=False).score == pytest.approx(hit.score)
    words = Index(searcher_of(Bm25(), task, tmp_path))
    for ask in (words.search, lambda text, **k: words.explain(text, hit.id, **k)):
        with pytest.raises(BadInput, match="no term of popularity"):
            ask(TEXT, popularity=False)


def test_the_command_shows_it_and_turns_it_off(task, tmp_path, capsys):
    searcher = searcher_of(Mixture((WORDS, COUNTED), betas=(B,)), task, tmp_path)
    searcher.fitted.save(tmp_path / "model")

    def run(*arguments):
        assert main(cli, [*arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    explained = run("explain", str(tmp_path), TEXT, task.documents.ids[0])
    assert explained["popularity"]["weight"] == pytest.approx(B)
    found = run("search", str(tmp_path), TEXT, "--no-popularity")
    ids = [hit["id"] for hit in found["results"]]
    assert [ids] == best(searcher.search([TEXT], popularity=False))
    explained = run("explain", str(tmp_path), TEXT, ids[0], "--no-popularity")
    assert explained["popularity"] is None
