"""Topic models against the formulas of their paper."""

import errno
import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from ssi_core.guests.clickthrough import topic_model
from ssi_core.guests.clickthrough.kernels.topics import em_pass
from ssi_core.guests.clickthrough.topic_model import TopicModel
from ssi_core.kernels.sparse import csr, read_only
from ssi_core.models.language_model import LanguageModel
from ssi_core.serving.explain import explain_pair
from ssi_core.types import Pairs, Refused
from tests.scores import all_scores

pytestmark = pytest.mark.trains
SMALL = {"topics": 6, "passes": 4}
KINDS = {
    "PLSA": {"texts": "documents"},
    "BLTM": {},
    "BLTM-PR": {"projected": True},
    "BLTM-PR-1V": {"projected": True, "merged": True},
}


@pytest.fixture(scope="module")
def thin(task):
    """A task whose documents have words that no training pair has, on neither side."""
    return replace(task, train=Pairs.of(task.train.rows[:8]))


def fit(task, seed=0, threads=1, watch=None, checkpoint=None, **settings):
    model = TopicModel(**SMALL | settings)
    how = {"threads": threads, "watch": watch, "checkpoint": checkpoint}
    return model.fit(task, np.random.default_rng(seed), **how)


@pytest.mark.parametrize("kind", KINDS)
def test_documents_are_ranked_by_the_likelihood_of_the_query(task, kind):
    """ln P(q | d) of (14) to (17), but for what is the same for every document."""
    fitted = fit(task, background=(0.3,), unigram=(0.4,), **KINDS[kind])
    counts = task.documents.matrix("counts").toarray().astype(float)
    share = np.maximum(counts.sum(axis=0), 1) / counts.sum()
    phi = fitted.arrays["topics"] * share[:, None]
    np.testing.assert_allclose(phi.sum(axis=0), 1, rtol=1e-4)
    theta = fitted.embed_documents(task.documents).dense * 0.3 / (0.7 * 0.6)
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=1e-5)
    own = counts / counts.sum(axis=1, keepdims=True)
    chance = 0.3 * share + 0.7 * (0.4 * own + 0.6 * theta @ phi.T)
    expected = counts @ np.log(chance).T - (counts @ np.log(0.3 * share))[:, None]
    np.testing.assert_allclose(all_scores(fitted, task), expected, rtol=1e-6, atol=1e-4)


def folded(text, phi, alpha, passes):
    """Topic weights of one text by EM (17), from equal ones; alpha is the prior."""
    topics, words = phi.shape[1], np.flatnonzero(text)
    theta = np.full(topics, 1 / topics)
    for _ in range(passes):
        posterior = theta * phi[words]
        shares = alpha - 1 + (text[words] / posterior.sum(axis=1)) @ posterior
        theta = shares / shares.sum()
    return theta


@pytest.mark.parametrize("unigram", [0.0, 0.4])
@pytest.mark.parametrize("kind", KINDS)
def test_unseen_words_become_themselves(thin, kind, unigram):
    """Their share of the document is theirs; the topics of the other words have the rest."""
    task = thin
    how = {"background": (0.3,), "unigram": (unigram,), "passes": 1, "folding": 5, **KINDS[kind]}
    plain, fitted = fit(task, **how), fit(task, unseen="itself", **how)
    np.testing.assert_array_equal(fitted.arrays["topics"], plain.arrays["topics"])
    queries, counts = (
        texts.matrix("counts").toarray().astype(float) for texts in (task.queries, task.documents)
    )
    asked, found = task.train.rows[:, 0], task.train.rows[:, 1]
    met = counts[found].any(axis=0)
    if kind == "BLTM-PR-1V":  # one vocabulary: words of queries are learnt for both
        met |= queries[asked].any(axis=0)
    assert counts[:, ~met].any()
    share = np.maximum(counts.sum(axis=0), 1) / counts.sum()
    phi, titles = fitted.arrays["topics"] * share[:, None], np.asarray(plain.arrays["words"], float)
    themselves, nothing = [], []
    for text in counts:
        own, known = text / text.sum(), np.where(met, text, 0)
        theta, whole = (folded(some, titles, fitted.model.alpha, 5) for some in (known, text))
        learnt = unigram * own + (1 - unigram) * known.sum() / text.sum() * (phi @ theta)
        chance = 0.3 * share + 0.7 * np.where(met, learnt, own + learnt - unigram * own)
        themselves.append(np.log(chance / (0.3 * share)))
        chance = 0.3 * share + 0.7 * (unigram * own + (1 - unigram) * (phi @ whole))
        nothing.append(np.log(chance / (0.3 * share)))
    for model, lines in ((fitted, themselves), (plain, nothing)):
        expected = queries @ np.array(lines).T
        np.testing.assert_allclose(all_scores(model, task), expected, rtol=1e-6, atol=1e-4)


def test_without_topics_it_is_the_language_model(task):
    ours = fit(task, background=(0.4,), unigram=(1.0,), passes=1)
    other = LanguageModel((0.4,)).fit(task, np.random.default_rng(0))
    np.testing.assert_allclose(all_scores(ours, task), all_scores(other, task), rtol=1e-5)


def test_one_topic_is_the_unigram_model_of_the_queries(task):
    fitted = fit(task, topics=1, unigram=(0.0,), background=(0.5,), beta=1.01)
    counts = task.queries.matrix("counts")[task.train.rows[:, 0]].sum(axis=0) + 0.01
    whole = np.maximum(task.documents.matrix("counts").sum(axis=0), 1)
    share = whole / task.documents.matrix("counts").sum()
    expected = counts / counts.sum() / share
    np.testing.assert_allclose(fitted.arrays["topics"][:, 0], expected, rtol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_the_objective_never_falls(task, kind):
    curve = []
    fit(task, passes=6, watch=lambda step, metrics: curve.append(metrics), **KINDS[kind])
    objective = [metrics["train/objective"] for metrics in curve if "train/objective" in metrics]
    assert len(objective) == 6
    assert np.diff(objective).min() > 0
    counted = [metrics for metrics in curve if "train/gradients" in metrics]
    assert len(counted) == (6 if "PR" in kind else 0)


def test_the_projection_brings_the_topics_of_both_texts_together(task):
    """Expected shares of the words of queries and documents, under the values that were learnt."""

    def difference(**settings):
        fitted = fit(task, passes=8, unigram=(0.0,), background=(0.5,), **settings)
        sides = []
        for texts, name in ((task.queries, "topics"), (task.documents, "words")):
            phi = np.asarray(fitted.arrays[name], float)
            counts = texts.matrix("counts").toarray()
            theta = fitted.embed_documents(task.documents).dense  # odds of the collection are 1
            rows = task.train.rows[:40]
            row = rows[:, 0] if texts is task.queries else rows[:, 1]
            shares = []
            for text, weights in zip(counts[row], theta[rows[:, 1]], strict=True):
                joint = phi * weights
                joint /= joint.sum(axis=1, keepdims=True)
                shares.append((text[:, None] * joint).sum(axis=0) / text.sum())
            sides.append(np.array(shares))
        return np.abs(sides[0] - sides[1]).sum(axis=1).mean()

    assert difference(projected=True) < difference()


def test_threads_and_checkpoints_give_the_same_model(task, tmp_path):
    plain = fit(task)
    stopped = []

    def stop(step, metrics):
        stopped.append(step)
        if len(stopped) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(task, watch=stop, checkpoint=tmp_path / "c")
    resumed = fit(task, checkpoint=tmp_path / "c")
    both = fit(task, threads=2)
    for name, array in plain.arrays.items():
        np.testing.assert_array_equal(resumed.arrays[name], array)
        np.testing.assert_allclose(both.arrays[name], array, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("kind", ["BLTM", "PLSA"])
def test_topic_weights_in_a_file_give_the_same_bits(task, tmp_path, monkeypatch, kind):
    """With a break, whose checkpoint has what the file had; nothing is left beside it."""
    plain = fit(task, **KINDS[kind])
    monkeypatch.setattr(topic_model, "memory_available", lambda: 0)

    def stop(step, metrics):
        if step > len(task.train):
            raise KeyboardInterrupt

    path = tmp_path / "new" / "state"
    if kind == "BLTM":
        with pytest.raises(KeyboardInterrupt):
            fit(task, watch=stop, checkpoint=path)
        names = {file.name.partition("-")[0] for file in path.iterdir()}
        assert names >= {"theta", "documents"}
        assert not list(path.glob("theta-*-best*"))
    for checkpoint in (path, None):
        for name, array in fit(task, checkpoint=checkpoint, **KINDS[kind]).arrays.items():
            np.testing.assert_array_equal(plain.arrays[name], array)
    assert [one.name for one in path.parent.iterdir()] == ["state"]


def test_the_cost_counts_topic_weights_in_memory_or_on_disk(task, monkeypatch):
    model, size = TopicModel(topics=7), 4 * 7 * len(task.train)
    before = model.cost(task)
    monkeypatch.setattr(topic_model, "memory_available", lambda: 2 * size - 1)
    after = model.cost(task)
    assert (before.memory - after.memory, after.disk - before.disk) == (size, size)


def test_a_disk_without_room_is_said_before_the_training(task, tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(topic_model, "memory_available", lambda: 0)
    monkeypatch.setattr(topic_model.os, "posix_fallocate", full)
    with pytest.raises(Refused, match="no space is left"):
        fit(task, checkpoint=tmp_path / "state")


def test_variants_are_the_choices_of_the_weights(task):
    """They need no training: each ranks as a model that had no other choice."""
    choices = {"background": (0.2, 0.6), "unigram": (0.0, 0.5, 1.0)}
    fitted = fit(task, passes=1, **choices)
    variants = list(fitted.model.variants(fitted))
    assert [(one.facts["background"], one.facts["unigram"]) for one in variants] == [
        *itertools.product(*choices.values())
    ]
    for one in variants:
        given = {name: (one.facts[name],) for name in choices}
        alone = all_scores(fit(task, passes=1, **given), task)
        np.testing.assert_allclose(all_scores(one, task), alone, rtol=1e-5)


@pytest.mark.parametrize("unseen", ["nothing", "itself"])
@pytest.mark.parametrize("unigram", [0.0, 0.4])
def test_an_explanation_adds_up_and_names_words_that_share_topics(thin, unigram, unseen):
    task = thin
    fitted = fit(task, unigram=(unigram,), unseen=unseen, **KINDS["BLTM-PR"])
    for q, d in ((0, 5), (3, 3)):
        query, document = task.queries.take([q]), task.documents.take([d])
        explanation = explain_pair(fitted, query, document, k=60)
        total = sum(part.part for part in explanation.parts) + explanation.rest
        assert total == pytest.approx(explanation.score, rel=1e-6)
        assert explanation.score == pytest.approx(all_scores(fitted, task)[q, d], rel=1e-4)
        assert any(part.query_word != part.document_word for part in explanation.parts)


@pytest.mark.parametrize("unseen", ["nothing", "itself"])
def test_topics_of_words_are_those_of_their_document_but_for_the_prior(thin, unseen):
    fitted = fit(thin, unseen=unseen, unigram=(0.4,), background=(0.3,), folding=500)
    document, alpha = thin.documents.take([5]), fitted.model.alpha
    text, given = fitted.model.topic_words(fitted, document)
    theta = fitted.embed_documents(document).dense[0]
    seen = fitted.arrays["words"][text.indices, 0] > 0
    assert seen.all() == (unseen == "nothing")
    np.testing.assert_array_equal(given[~seen], 0)
    known = text.data[seen].sum()
    prior = (alpha - 1) / (known + len(theta) * (alpha - 1)) * known / text.data.sum()
    found = given.sum(axis=0) + 0.6 * 0.7 / 0.3 * prior
    np.testing.assert_allclose(found, theta, rtol=1e-5)


def test_a_start_of_equal_weights_is_never_left():
    """Why the first values are noise (the paper's uniform start is a fixed point)."""
    start = csr(sparse.csr_array(np.ones((1, 2), np.float32)))
    theta, phi = np.full((1, 3), 1 / 3, np.float32), np.full((2, 3), 0.5, np.float32)
    sums = np.zeros((2, 3))
    pairs = read_only(np.zeros((1, 2), np.int32))
    em_pass(start, start, pairs, theta, (phi, phi), (sums, sums), 1.1, False, np.zeros(2, np.int64))
    np.testing.assert_allclose(theta, 1 / 3)
    np.testing.assert_allclose(sums / sums.sum(axis=0), 0.5)
