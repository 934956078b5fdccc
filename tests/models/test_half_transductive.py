"""What is particular to half-transductive ranking."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from ssi_core.kernels.sparse import padded
from ssi_core.models.bilinear import half_transductive as module
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bilinear.half_transductive import HalfTransductive
from ssi_core.scoring.scorer import Scorer
from ssi_core.serving.explain import explain_pair
from ssi_core.serving.neighbours import neighbours
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput, Pairs, Texts
from tests.corpora import SUBJECTS
from tests.models.test_bilinear import in_two_languages
from tests.training.as_well import assert_two_threads_learn_as_well

pytestmark = pytest.mark.trains

SMALL = HalfTransductive(
    dimensions=8, rates=(0.1,), epoch=500, budget=2000, functional_budget=1000, margin=0.3
)
STILL = dataclasses.replace(SMALL, rates=(1e-12,), functional_rates=(0.1,), epoch=1, budget=1)


@pytest.fixture(scope="module")
def fit(task):
    return dataclasses.replace(SMALL, diagonal="identity").fit(task, np.random.default_rng(0))


def free_vectors(fit, task):
    return fit.embed_documents(task.documents).dense


def renamed(texts, title):
    return Texts(
        texts.ids, pl.Series([f"{title} {i}" for i in texts.ids]), texts.matrices, texts.views
    )


@pytest.mark.parametrize(
    ("diagonal", "gamma", "tied"),
    [("none", 0.0, True), ("alpha", 0.1, True), ("none", 0.1, False)],
)
def test_score_is_the_formula(diagonal, gamma, tied, task):
    """f = (U q)' v_i + alpha q'd; a document that is not known is U d, or V d."""
    how = {"diagonal": diagonal, "alpha": 2.5, "gamma": gamma, "tied": tied, "budget": 500}
    how["initial"] = "functional" if tied else "normal"
    fit = dataclasses.replace(SMALL, **how).fit(task, np.random.default_rng(0))
    x = task.queries.matrix("raw").toarray().astype(np.float64)
    U, V = (np.asarray(fit.arrays[name], np.float64) for name in ("U", "U" if tied else "V"))
    order = {int(key): row for row, key in enumerate(fit.arrays["known"])}
    assert len(order) == len(task.documents)
    alpha = 2.5 if diagonal == "alpha" else 0.0
    queries = fit.embed_queries(task.queries)

    known = Scorer(fit.embed_documents(task.documents)).score(queries)
    expected = (x @ U) @ free_vectors(fit, task).T + alpha * x @ x.T
    np.testing.assert_allclose(known, expected, atol=2e-5)

    cold = Scorer(fit.embed_documents(renamed(task.documents, "Other"))).score(queries)
    np.testing.assert_allclose(cold, (x @ U) @ (x @ V).T + alpha * x @ x.T, atol=2e-5)
    assert not np.allclose(cold, known, atol=1e-3)


def test_starts_where_the_functional_phase_ends(task):
    fit = STILL.fit(task, np.random.default_rng(0))
    tied = Bilinear(
        tied=True, diagonal="none", dimensions=8, rates=(0.1,), epoch=1, budget=1000, margin=0.3
    ).fit(task, np.random.default_rng(0))
    np.testing.assert_array_equal(fit.arrays["U"], tied.arrays["U"])
    expected = task.documents.matrix("raw") @ tied.arrays["U"]
    np.testing.assert_allclose(free_vectors(fit, task), expected, atol=1e-5)
    assert fit.facts["functional_triples"] == tied.facts["triples"]


def test_the_functional_phase_may_learn_on_another_task_first(task):
    auxiliary = dataclasses.replace(task, auxiliary={"other": task})
    model = dataclasses.replace(SMALL, learn_first="other", against="random", warp=True)
    facts = model.fit(auxiliary, np.random.default_rng(0)).facts
    assert facts["learned_first"]["triples"] == facts["functional_triples"] == 1000


def test_starts_from_noise_as_the_paper_does(task):
    model = dataclasses.replace(STILL, initial="normal", init_std=1.0, dimensions=64)
    fit = model.fit(task, np.random.default_rng(0))
    for name in ("U", "v"):
        assert fit.arrays[name].std() == pytest.approx(1, abs=0.015)
    assert "functional_triples" not in fit.facts


def test_watch_sees_both_phases_in_a_row(task):
    steps = []
    SMALL.fit(task, np.random.default_rng(0), watch=lambda step, metrics: steps.append(step))
    assert steps == [0, 500, 1000, 1000, 1500, 2000, 2500, 3000]


def test_gamma_changes_what_is_learnt_and_gamma_0_leaves_documents_words_alone(task):
    """Without the functional objective W moves only at words of queries."""
    rows = task.train.rows[np.isin(task.train.rows[:, 0], task.train.rows[0, 0])]
    one = dataclasses.replace(task, train=Pairs.of(rows))
    moved = {}
    for gamma in (0.0, 0.5):
        runs = [
            dataclasses.replace(SMALL, gamma=gamma, initial="normal", rates=(rate,), patience=99)
            for rate in (1e-12, 0.1)
        ]
        before, after = (m.fit(one, np.random.default_rng(1)).arrays["U"] for m in runs)
        moved[gamma] = np.flatnonzero(np.abs(after - before).max(axis=1) > 1e-6)
    own = np.unique(task.queries.matrix("raw")[[rows[0, 0]]].indices)
    assert set(moved[0.0]) <= set(own)
    assert len(moved[0.5]) > len(own)


@pytest.mark.parametrize("cut", [500, 1500])
def test_kill_and_resume_gives_the_same_bits(cut, task, tmp_path):
    """In the functional phase and after it."""
    whole = SMALL.fit(task, np.random.default_rng(5))

    class Cut(Exception):
        pass

    def stop(step, metrics):
        if step == cut:
            raise Cut

    checkpoint = tmp_path / "checkpoint"
    with pytest.raises(Cut):
        SMALL.fit(task, np.random.default_rng(5), watch=stop, checkpoint=checkpoint)
    again = SMALL.fit(task, np.random.default_rng(5), checkpoint=checkpoint)
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(array, again.arrays[name])


def test_many_threads_learn_as_well(task, monkeypatch):
    assert_two_threads_learn_as_well(SMALL, task, 40, monkeypatch)


def test_warm_start_keeps_the_vectors_of_known_documents(corpus_dir, task, tmp_path):
    """Words by spelling, documents by id and title; a new document starts at W phi(y)."""
    first = SMALL.fit(task, np.random.default_rng(0))
    build_task(corpus_dir, tmp_path / "small", words=60)
    small = open_task(tmp_path / "small")
    again = STILL.fit(small, np.random.default_rng(9), start=first)
    np.testing.assert_allclose(free_vectors(again, small), free_vectors(first, task), atol=1e-6)
    old = {w: i for i, w in enumerate(task.queries.views["raw"].words)}
    rows = [old[w] for w in small.queries.views["raw"].words]
    np.testing.assert_allclose(again.arrays["U"], first.arrays["U"][rows], atol=1e-6)

    other = renamed(small.documents, "Other")
    new = STILL.fit(
        dataclasses.replace(small, queries=other, documents=other),
        np.random.default_rng(9),
        start=first,
    )
    expected = small.documents.matrix("raw") @ new.arrays["U"]
    np.testing.assert_allclose(new.embed_documents(other).dense, expected, atol=1e-5)


def test_warm_start_from_a_bilinear_model(task):
    tied = dict(dimensions=8, rates=(0.1,), budget=500, diagonal="none")
    first = Bilinear(tied=True, **tied).fit(task, np.random.default_rng(0))
    fit = STILL.fit(task, np.random.default_rng(0), start=first)
    np.testing.assert_allclose(fit.arrays["U"], first.arrays["U"], atol=1e-6)
    asymmetric = Bilinear(**tied).fit(task, np.random.default_rng(0))
    with pytest.raises(ValueError, match="it has tied=False; expected tied=True"):
        STILL.fit(task, np.random.default_rng(0), start=asymmetric)


def test_explanation_takes_a_free_vector_as_one_word(fit, task):
    """The parts are words of the query, the sum is the score, and the diagonal is by words."""
    query, document = (task.documents.take(slice(i, i + 1)) for i in (0, 8))
    found = explain_pair(fit, query, document, k=1000)
    scores = Scorer(fit.embed_documents(document)).score(fit.embed_queries(query))
    assert found.score == pytest.approx(scores[0, 0], abs=1e-5)
    assert sum(p.part for p in found.parts) + found.rest == pytest.approx(found.score, abs=1e-9)
    free = [p for p in found.parts if p.document_word == "(vector of Page 8)"]
    assert len(free) > 5
    assert all(p.query_word == p.document_word for p in found.parts if p not in free)

    cold = explain_pair(fit, query, renamed(document, "Other"), k=1000)
    assert not [p for p in cold.parts if p.document_word.startswith("(vector")]


def test_known_and_unknown_documents_together(fit, task):
    half = [f"Page {i}" if i % 2 else "?" for i in range(len(task.documents))]
    mixed = dataclasses.replace(task.documents, titles=pl.Series(half))
    words, dense = fit.dense_words(mixed, "document"), fit.embed_documents(mixed).dense
    np.testing.assert_allclose(words.weights @ words.embedding, dense, rtol=1e-4, atol=1e-6)
    assert len(words.view.words) == len(words.embedding)
    known = free_vectors(fit, task)
    np.testing.assert_array_equal(dense[1::2], known[1::2])
    assert not np.allclose(dense[::2], known[::2], atol=1e-3)


def test_neighbours_are_words_alike_under_w(task):
    fit = SMALL.fit(task, np.random.default_rng(0))
    same = [
        near.word.startswith(subject)
        for subject in SUBJECTS
        for near in neighbours(fit, f"{subject}1", 5)
    ]
    assert np.mean(same) > 3 * (25 / 230)  # of 230 words 25 are of the subject


def test_two_languages_and_no_pairs_are_refused(task):
    with pytest.raises(BadInput, match="needs the same words on both sides"):
        SMALL.fit(in_two_languages(task), np.random.default_rng(0))
    with pytest.raises(BadInput, match="no training pair"):
        SMALL.fit(dataclasses.replace(task, train=Pairs.of([])), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"initial": "zero"}, "initial='zero'"),
        ({"gamma": -0.1}, "gamma=-0.1"),
        ({"functional_budget": 0}, "functional_budget=0"),
        ({"diagonal": "half"}, "diagonal='half'"),
    ],
)
def test_wrong_values_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        HalfTransductive(**wrong)


"""Settings that models had which were saved before these were left to `Bilinear`."""


@pytest.mark.parametrize("how", [{}, {"tied": False}, {"dimensions": 20}], ids=str)
def test_memory_is_asked_for_three_times_the_rows_of_all_maps(how, task, monkeypatch):
    """Rows are padded to whole lines of a vector."""
    asked = []
    monkeypatch.setattr(
        module.resources, "require", lambda stage, memory, **more: asked.append(memory)
    )
    model = dataclasses.replace(SMALL, **how)
    model.check(task)
    words, documents = len(task.queries.views["raw"].words), len(task.documents)
    maps = (1 if model.tied else 2) * words + documents
    assert asked == [3 * 4 * padded(model.dimensions) * maps]
