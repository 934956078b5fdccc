"""Training pairs are scored without what their query adds to a field of their document."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import ssi_core as ssi
from ssi_core import files
from ssi_core.collection import open_collection
from ssi_core.models.base import FitOptions
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.combined.own_words import with_titles, wordings
from ssi_core.models.combined.residual import EXACT, Residual, with_exact
from ssi_core.selection.validation_halves import ValidationHalves
from ssi_core.tasks.fields import field_parts
from ssi_core.tasks.unseen import texts_in_views
from ssi_core.text import fields
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import Pairs
from tests.fielded import word, write_fielded

MODEL = Bm25F(anchors=(3.0,), b_anchors=(0.4,), title=(5.0,), b_short=(0.6,))


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    return ssi.read(write_fielded(tmp_path_factory.mktemp("own") / "collection"))


@pytest.fixture(scope="module")
def task(collection, tmp_path_factory):
    return ssi.Task.of(collection, "anchor", out=tmp_path_factory.mktemp("own") / "task").data


@pytest.fixture(scope="module")
def exact(task):
    return MODEL.fit(task, np.random.default_rng(0))


def products(task):
    return (task.queries.matrix(EXACT) @ task.documents.matrix(EXACT).T).toarray()


def rewritten(collection, task, document, field, wording):
    """The text of a document without the entries of a field that a wording is, made anew."""
    short = files.read_strings(field_parts(task.path), *fields.SHORT)[document].row(0, named=True)
    parts = open_collection(collection.path).parts("documents")
    text = files.read_strings(parts, "text")["text"][document]
    kept = [one for one in short[field].split("\n") if tokenize(one, "en") != wording]
    return fields.join(text=text, **{**short, field: "\n".join(kept)})


def score_of_text(exact, task, query, text):
    frame = pl.DataFrame({"id": ["one"], "title": ["one"], "text": [text]})
    document = exact.embed_documents(texts_in_views(frame, exact.document_views))
    asked = exact.embed_queries(task.queries.take([query]))
    return (asked.sparse @ document.sparse.T).toarray().item()


def test_a_training_pair_is_scored_as_if_its_wording_were_held_out(collection, task, exact):
    plain, scale = with_exact(task, exact)
    known, other = with_exact(task, exact, [wordings(task)])
    assert other > scale  # the best scores are lower
    whole, less = products(plain) / scale, products(known) / other
    pairs = task.train.rows
    assert set(wordings(task).times.tolist()) == {1.0, 3.0}
    for query, document in pairs[::17].tolist():
        words = tokenize(task.queries.titles[query], "en")
        text = rewritten(collection, task, document, fields.ANCHORS, words)
        expected = score_of_text(exact, task, query, text)
        assert less[query, document] == pytest.approx(expected, rel=1e-4, abs=1e-4)
        assert less[query, document] < whole[query, document] - 0.1
    less[pairs[:, 0], pairs[:, 1]] = whole[pairs[:, 0], pairs[:, 1]]
    np.testing.assert_allclose(less, whole, rtol=1e-4, atol=1e-4)


def test_a_title_asks_for_its_document_as_if_it_had_none(collection, task, exact):
    asked, titles = with_titles(task)
    assert len(titles.rows) == len(task.documents)
    assert asked.queries.titles[-1] == task.documents.titles[-1]
    np.testing.assert_array_equal(asked.train.rows[-len(titles.rows) :], titles.rows)
    assert asked.exclude.shape == (len(asked.queries), len(asked.documents))
    known, scale = with_exact(asked, exact, [titles])
    scores = products(known) / scale
    for query, document in titles.rows[::29].tolist():
        words = tokenize(asked.queries.titles[query], "en")
        text = rewritten(collection, task, document, fields.TITLE, words)
        expected = score_of_text(exact, asked, query, text)
        assert scores[query, document] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_a_title_is_scored_without_the_phrases_that_stand_in_it_alone(tmp_path):
    titles = [f"{word(n)} {word(100 + n)} {word(200 + n % 3)}" for n in range(61)]
    rows = [
        {
            "id": f"d{n}",
            "title": title,
            # The last two words of every other title stand in a heading, too.
            "headings": [title.split(" ", 1)[1] if n % 2 else "Notes"],
            "text": f"{word(300 + n)} {word(200 + n % 3)}",
        }
        for n, title in enumerate(titles)
    ]
    links = [(f"d{n}", f"d{(n + 7) % 61}", f"see {word(400 + n)}") for n in range(61)]
    links = pl.DataFrame(links, schema=["source", "target", "anchor"], orient="row")
    docs = ssi.read(rows, links, language="en", out=tmp_path / "docs")
    task = ssi.Task.of(docs, "anchor", out=tmp_path / "task").data
    exact = replace(MODEL, phrases=(5.0,)).fit(task, np.random.default_rng(0))
    asked, own = with_titles(task)
    known, scale = with_exact(asked, exact, [own])
    scores = products(known) / scale
    for query, document in own.rows[:20].tolist():
        words = tokenize(asked.queries.titles[query], "en")
        text = rewritten(docs, task, document, fields.TITLE, words)
        expected = score_of_text(exact, asked, query, text)
        assert scores[query, document] == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_titles_of_documents_that_training_is_not_given_are_not_asked(task):
    documents = replace(task.documents, test_only=np.array([0, 5], np.int32))
    _, titles = with_titles(replace(task, documents=documents))
    asked = set(range(len(documents))) - {0, 5}
    assert titles.rows[:, 1].tolist() == sorted(asked)


def test_what_is_held_out_stands_in_no_field(task):
    own = {tuple(pair) for pair in wordings(task).rows.tolist()}
    assert own == {tuple(pair) for pair in task.train.rows.tolist()}


def test_titles_that_are_asked_for_teach_nothing_more(collection, tmp_path):
    task = ssi.Task.of(collection, "self", queries="titles", out=tmp_path / "task").data
    asked, titles = with_titles(task)
    assert len(titles.rows) == 0
    assert len(asked.queries) == len(task.queries)


def test_queries_of_another_kind_may_be_words_of_links(task):
    few = task.train.rows[: len(task.train) // 3]
    other = np.column_stack([few[:, 0], (few[:, 1] + 7) % len(task.documents)])
    more = np.column_stack([few[:, 0], (few[:, 1] + 13) % len(task.documents)])
    mixed = Pairs.of(np.vstack([few, other, more]))
    assert len(wordings(replace(task, train=mixed)).rows) == 0
    assert len(wordings(replace(task, train=Pairs.of(few))).rows) == len(few)


@pytest.mark.trains
def test_auto_makes_no_trial_where_fields_show_the_training_queries(task, exact, monkeypatch):
    """And learns from hard documents."""
    learned, plain = [], Residual.beside

    def noted(self, *given):
        learned.append(self.parts[1]["against"])
        return plain(self, *given)

    monkeypatch.setattr(Residual, "beside", noted)
    auto = ssi.SSI(auto=True, dimensions=8, budget=2_000).ranker()
    halves, facts = ValidationHalves(task, "map", 100), {"trials": []}
    finalists = auto._finalists(halves, 0, [(exact, 1.0)], FitOptions(), facts)
    assert [[one.name for one in fit.model.models()] for fit in finalists] == [
        ["bm25f", "bilinear"]
    ]
    assert facts == {"trials": [], "triples": finalists[0].facts["triples"]}
    assert learned == ["first_stage"]
    latent = finalists[0].model.models()[1]
    assert (latent.step, latent.rates, latent.decays) == ("triple", (0.03,), 0)
