"""IBM model 1 against a twin made of dictionaries, and its scores against the formula."""

import json
from collections import Counter, defaultdict
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ssi_core.guests.clickthrough.translation_model import Training, TranslationModel
from ssi_core.integrity import seal_directory
from ssi_core.models import load_model
from ssi_core.models.language_model import LanguageModel
from ssi_core.types import Pairs, Texts
from tests.scores import all_scores

pytestmark = pytest.mark.trains
WORDS = 6


def twin(pairs, passes):
    """IBM model 1 as its definition has it: pairs of lists of words, a dictionary t[w][i]."""
    t = defaultdict(lambda: defaultdict(lambda: 1 / WORDS))
    likelihoods = []
    for _ in range(passes):
        counts, likelihood = defaultdict(Counter), 0.0
        for query, document in pairs:
            for i in query:
                whole = sum(t[w][i] for w in document)
                likelihood += np.log(whole / len(document))
                for w in document:
                    counts[w][i] += t[w][i] / whole
        likelihoods.append(likelihood / len(pairs))
        for w, row in counts.items():
            t[w] = defaultdict(float, {i: n / row.total() for i, n in row.items()})
    return t, likelihoods


def texts(lists):
    rows = np.array([np.bincount(words, minlength=WORDS) for words in lists], np.float32)
    matrix = sparse.csr_array(rows)
    ids = pl.Series([str(n) for n in range(len(lists))])
    view = SimpleNamespace(space="words")
    return Texts(ids, ids, {"counts": matrix}, {"counts": view})


def training(queries, documents, rows, threads=1):
    task = SimpleNamespace(
        queries=texts(queries), documents=texts(documents), train=Pairs.of(rows), path="here"
    )
    return Training(TranslationModel(), task, None, threads)


def dense(trained):
    starts, words, chances = trained._table
    return sparse.csr_array((chances, words, starts), (WORDS, WORDS)).toarray()


text = st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=5)


@st.composite
def logs(draw):
    queries, documents = (
        draw(st.lists(text, min_size=1, max_size=5)),
        draw(st.lists(text, min_size=1, max_size=4)),
    )
    place = st.tuples(st.integers(0, len(queries) - 1), st.integers(0, len(documents) - 1))
    return queries, documents, draw(st.lists(place, min_size=1, max_size=9, unique=True))


@given(logs())
def test_em_is_that_of_the_definition(log):
    """Every pass: its likelihood, which never falls, and each chance; rows sum to one."""
    queries, documents, rows = log
    ours = training(*log)
    objectives = [ours.sweep(len(rows))["train/objective"] for _ in range(6)]
    pairs = [(queries[q], documents[d]) for q, d in rows]
    t, expected = twin(pairs, 6)
    assert objectives == pytest.approx(expected, rel=1e-4, abs=1e-5)
    assert np.diff(objectives).min() >= -1e-5
    table = dense(ours)
    np.testing.assert_allclose(
        table, [[t[w][i] if w in t else 0 for i in range(WORDS)] for w in range(WORDS)], atol=1e-4
    )
    known = sorted({w for _, document in pairs for w in document})
    np.testing.assert_allclose(table[known].sum(axis=1), 1, rtol=1e-5)


@given(logs())
def test_em_is_that_of_nltk(log):
    """It adds a word to each document, as here, and counts a word of a query once."""
    ibm = pytest.importorskip("nltk.translate", reason="nltk is not here")
    queries, documents, rows = log
    none = WORDS - 1
    queries = [sorted({w % none for w in query}) for query in queries]
    documents = [[w % none for w in document] for document in documents]
    ours = training(queries, [[none, *document] for document in documents], rows)
    for _ in range(5):
        ours.sweep(len(rows))
    pairs = sorted(set(rows))
    sentences = [
        ibm.AlignedSent([str(w) for w in queries[q]], [str(w) for w in documents[d]])
        for q, d in pairs
    ]
    theirs = ibm.IBMModel1(sentences, 5).translation_table
    table = dense(ours)
    for q, d in pairs:
        for i in queries[q]:
            assert table[none, i] == pytest.approx(theirs[str(i)][None], abs=1e-4)
            for w in documents[d]:
                assert table[w, i] == pytest.approx(theirs[str(i)][str(w)], abs=1e-4)


def test_a_word_is_told_from_those_that_stand_beside_it():
    """The textbook's example: das Haus, das Buch, ein Buch."""
    the, house, book, a = range(4)
    documents = [[the, house], [the, book], [a, book]]
    ours = training(documents, documents, [(0, 0), (1, 1), (2, 2)])
    for _ in range(30):
        ours.sweep(3)
    assert dense(ours)[:4, :4].argmax(axis=1).tolist() == [the, house, book, a]
    assert dense(ours)[the, the] > 0.95


@pytest.fixture(scope="module")
def thin(task):
    """A task whose documents have words that no training pair has."""
    return replace(task, train=Pairs.of(task.train.rows[:8]))


def fit(task, **settings):
    how = {
        name: settings.pop(name) for name in ("threads", "watch", "checkpoint") if name in settings
    }
    return TranslationModel(**{"passes": 3} | settings).fit(task, np.random.default_rng(0), **how)


def table_of(fitted):
    arrays = fitted.arrays
    width = len(arrays["share"])
    parts = arrays["chances"], arrays["words"], arrays["starts"]
    return sparse.csr_array(parts, (width, width)).toarray().astype(float)


@pytest.mark.parametrize("unseen", ["nothing", "itself"])
@pytest.mark.parametrize("unigram", [0.0, 0.4])
def test_documents_are_ranked_by_the_likelihood_of_the_query(thin, unigram, unseen):
    """ln P(q | d), but for what is the same for every document; unseen words by either rule."""
    task = thin
    fitted = fit(task, background=(0.3,), unigram=(unigram,), least=0.0, unseen=unseen)
    counts = task.documents.matrix("counts").toarray().astype(float)
    share = np.maximum(counts.sum(axis=0), 1) / counts.sum()
    own = counts / counts.sum(axis=1, keepdims=True)
    table = table_of(fitted)
    strange = np.flatnonzero(~table.any(axis=1))
    met = task.documents.matrix("counts")[task.train.rows[:, 1]].sum(axis=0) > 0
    np.testing.assert_array_equal(strange, np.flatnonzero(~met))
    assert own[:, strange].any()
    np.testing.assert_allclose(table[met].sum(axis=1), 1, rtol=1e-5)
    if unseen == "itself":
        table[strange, strange] = 1
    chance = 0.3 * share + 0.7 * (unigram * own + (1 - unigram) * own @ table)
    expected = counts @ np.log(chance).T - (counts @ np.log(0.3 * share))[:, None]
    np.testing.assert_allclose(all_scores(fitted, task), expected, rtol=1e-6, atol=1e-4)


def test_without_translations_it_is_the_language_model(task):
    other = LanguageModel((0.4,)).fit(task, np.random.default_rng(0))
    for settings in ({"unigram": (1.0,)}, {"unigram": (0.0,), "least": 1.0, "unseen": "itself"}):
        ours = fit(task, background=(0.4,), **settings)
        if "least" in settings:
            assert len(ours.arrays["chances"]) == 0
        np.testing.assert_allclose(all_scores(ours, task), all_scores(other, task), rtol=1e-4)


def test_unseen_words_may_become_nothing(task):
    """Where no word has a translation, nothing of a document is left."""
    ours = fit(task, background=(0.4,), unigram=(0.0,), least=1.0, unseen="nothing")
    assert not all_scores(ours, task).any()


def test_a_model_saved_before_the_rule_had_a_name_scores_as_it_did(thin, tmp_path):
    task = thin
    fitted = fit(task, unseen="itself", unigram=(0.0,))
    fitted.save(tmp_path / "model")
    manifest = json.loads((tmp_path / "model" / "model.json").read_text())
    del manifest["parameters"]["unseen"], manifest["digest"]
    (tmp_path / "model" / "model.json").unlink()
    seal_directory(tmp_path / "model", "model.json", manifest)
    read = load_model(tmp_path / "model")
    assert read.model.unseen == "itself"
    np.testing.assert_array_equal(all_scores(read, task), all_scores(fitted, task))


def test_rare_translations_are_left_out(task):
    whole, cut = fit(task, least=0.0, passes=1), fit(task, least=0.01, passes=1)
    expected = table_of(whole)
    expected[expected < np.float32(0.01)] = 0
    np.testing.assert_array_equal(table_of(cut), expected)
    assert 0 < cut.facts["translations"] < whole.facts["translations"]


def test_threads_and_breaks_change_no_bit(task, tmp_path):
    plain = fit(task)

    def stop(step, metrics):
        if step > len(task.train):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(task, watch=stop, checkpoint=tmp_path / "state")
    for other in (fit(task, threads=3), fit(task, checkpoint=tmp_path / "state")):
        for name, array in plain.arrays.items():
            np.testing.assert_array_equal(other.arrays[name], array)


def test_variants_are_the_choices_of_the_weights(task):
    fitted = fit(task, background=(0.2, 0.6), unigram=(0.0, 0.5), passes=1)
    variants = list(fitted.model.variants(fitted))
    assert [one.arrays["weights"].tolist() for one in variants] == [
        [0.2, 0.0],
        [0.2, 0.5],
        [0.6, 0.0],
        [0.6, 0.5],
    ]
    alone = fit(task, background=(0.2,), unigram=(0.5,), passes=1)
    np.testing.assert_array_equal(all_scores(variants[1], task), all_scores(alone, task))


def test_texts_are_translated_once_for_all_weights(task, monkeypatch):
    products, multiply = [], sparse.csr_array.__matmul__

    def counted(one, other):
        products.append(other.shape)
        return multiply(one, other)

    monkeypatch.setattr(sparse.csr_array, "__matmul__", counted)
    weights = {"background": (0.2, 0.6), "unigram": (0.0, 0.5)}
    one = fit(task, passes=1)
    tables = products.count(2 * (len(one.arrays["share"]),))
    products.clear()
    fitted = fit(task, passes=1, **weights)
    # A pass is judged by one table, the choice of four weights by another one.
    assert products.count(2 * (len(one.arrays["share"]),)) == tables > 0
    products.clear()
    together = [all_scores(variant, task) for variant in fitted.model.variants(fitted)]
    assert products.count(2 * (len(one.arrays["share"]),)) == 1
    apart = [all_scores(variant, task) for variant in list(fitted.model.variants(fitted))]
    assert products.count(2 * (len(one.arrays["share"]),)) == 5
    np.testing.assert_array_equal(together, apart)


def test_other_texts_are_translated_anew(task):
    fitted = fit(task, passes=1, unigram=(0.0, 0.5))
    others = replace(task, documents=task.documents.take(np.arange(len(task.documents))[::-1]))
    together = [
        (all_scores(variant, task), all_scores(variant, others), all_scores(variant, task))
        for variant in fitted.model.variants(fitted)
    ]
    for variant, (first, other, last) in zip(
        list(fitted.model.variants(fitted)), together, strict=True
    ):
        np.testing.assert_array_equal(first, all_scores(variant, task))
        np.testing.assert_array_equal(other, all_scores(variant, others))
        np.testing.assert_array_equal(last, first)


def test_the_cost_has_room_for_what_is_learnt(task):
    model = TranslationModel(passes=1, least=0.0)
    fitted = model.fit(task, np.random.default_rng(0))
    entries = len(fitted.arrays["chances"])
    assert model.vector_shape(task)[1] >= fitted.embed_documents(task.documents).sparse.nnz
    assert model.cost(task).memory > 20 * entries
    assert model.cost(task).disk >= 16 * entries


def test_each_thread_costs_a_number_and_a_place_for_each_word(task):
    model = TranslationModel()
    one, three = (model.cost(task, threads).memory for threads in (1, 3))
    assert three - one == 2 * 12 * task.queries.width("counts")
