"""RM3 beside a twin written from the papers, and the settings that validation chooses."""

import dataclasses
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest

import ssi_core as ssi
from ssi_core.collection import open_collection
from ssi_core.estimator import parse
from ssi_core.evaluation.measures import MEASURES
from ssi_core.evaluation.ranking import Validator
from ssi_core.models import load_model
from ssi_core.models.base import FitOptions
from ssi_core.models.bm25 import Bm25
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.rm3 import Rm3
from ssi_core.scoring.scorer import Scorer
from ssi_core.tasks.build import build_task
from ssi_core.tasks.task import open_task
from ssi_core.tasks.unseen import documents_of, texts_in_views
from ssi_core.text.fields import FIELDS
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import Pairs, Texts
from tests.fielded import word, write_fielded

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return write_fielded(tmp_path_factory.mktemp("fielded") / "collection", 60)


@pytest.fixture(scope="module")
def task(place, tmp_path_factory):
    out = tmp_path_factory.mktemp("task") / "task"
    build_task(place, out, relevant="self", queries="words:3", words="all", fields=FIELDS)
    return open_task(out)


def naive(query, bags, first, *, documents, terms, original, common, logarithms):
    """The expanded query by the equations of the papers: word -> weight.

    ``bags`` are the words of each document, ``first`` the score of each under the first pass.
    """
    found = sorted((-score, n) for n, score in enumerate(first) if score > 0)[:documents]
    if not found:
        return dict(Counter(query))
    likelihood = {n: math.exp(-score) if logarithms else -score for score, n in found}
    evidence = sum(likelihood.values())
    df = Counter(term for bag in bags for term in set(bag))
    relevance = Counter()
    for n, value in likelihood.items():
        for term, count in Counter(bags[n]).items():
            if df[term] <= common * len(bags):
                relevance[term] += count / len(bags[n]) * value / evidence
    best = dict(sorted(relevance.items(), key=lambda one: -one[1])[:terms])
    total = sum(best.values())
    expanded = {term: original * count for term, count in Counter(query).items()}
    for term, probability in best.items():
        weight = (1 - original) * len(query) * probability / total
        expanded[term] = expanded.get(term, 0.0) + weight
    return expanded


def raw_texts(fit, queries):
    """Queries as the model reads them."""
    frame = pl.DataFrame({"id": [f"q{n}" for n in range(len(queries))], "text": queries})
    frame = frame.with_columns(title=pl.col("text"), language=pl.lit("en"))
    return texts_in_views(frame, fit.query_views)


@pytest.mark.parametrize("first", ["language_model", "bm25", "bm25f"])
@pytest.mark.parametrize(
    ("documents", "terms", "original", "common"),
    [(1, 200, 0.5, 1.0), (3, 7, 0.3, 0.2), (10, 40, 0.0, 1.0), (5, 4, 0.9, 0.9)],
)
def test_the_expanded_query_is_that_of_the_papers(
    place, task, first, documents, terms, original, common
):
    settings = {"documents": (documents,), "terms": (terms,), "original": (original,)}
    # k3 far away: the weights of a query's words are their counts.
    part = {"model": first} | ({} if first == "language_model" else {"k3": 1e6})
    model = Rm3(parts=(part,), common=common, **settings)
    fit = model.fit(task, RNG)
    raw = documents_of(open_collection(place))
    texts = texts_in_views(raw, fit.document_views)
    columns = list(fit.query_views["counts"].words)
    counts = texts.matrix("counts")
    bags = [
        [columns[i] for i, tf in zip(row.indices, row.data, strict=True) for _ in range(int(tf))]
        for row in (counts[[n]] for n in range(len(raw)))
    ]
    queries = [
        f"{word(1007)} title7 {word(3)}",
        f"{word(5)} {word(5)} {word(6)}",
        f"{word(4011)} see",
        "xx",
    ]
    plain = parse(type(model.models()[0]), {k: v for k, v in part.items() if k != "model"})
    plain = plain.fit(task, RNG)
    scorer = Scorer(plain.embed_documents(texts))
    scores = scorer.score(plain.embed_queries(raw_texts(plain, queries)))
    rows = fit.embed_queries(raw_texts(fit, queries)).sparse.toarray()
    # Behind the words phrases; they stay, times the weight of the query.
    asked = plain.embed_queries(raw_texts(plain, queries)).sparse.toarray()[:, len(columns) :]
    assert first != "bm25f" or asked.any()
    np.testing.assert_allclose(rows[:3, len(columns) :], original * asked[:3], rtol=1e-6)
    rows = rows[:, : len(columns)]
    assert (np.count_nonzero(rows[:3], axis=1) > 2).any()
    for query, row, score in zip(queries, rows, scores, strict=True):
        expected = np.zeros(len(columns))
        known = [one for one in tokenize(query) if one in columns]
        twin = naive(
            known, bags, score.tolist(), documents=documents, terms=terms, original=original,
            common=common, logarithms=first == "language_model",
        )  # fmt: skip
        assert len(set(twin)) >= len(set(known))
        for term, weight in twin.items():
            expected[columns.index(term)] = weight
        # Equal words at the cut are any of them: the sorted weights are compared, and the sums.
        np.testing.assert_allclose(np.sort(row), np.sort(expected), rtol=2e-5, atol=1e-7)
        assert row.sum() == pytest.approx(len(known), rel=1e-5)
        cut = terms < 200 and len(twin) - len(set(known)) >= 1
        if not cut:
            np.testing.assert_allclose(row, expected, rtol=2e-5, atol=1e-7)
    found = fit.embed_documents(texts).sparse
    np.testing.assert_array_equal(found.data, plain.embed_documents(texts).sparse.data)


def test_all_weight_on_the_query_is_the_first_pass(task):
    plain = Bm25F().fit(task, RNG).embed_queries(task.queries).sparse
    same = Rm3(original=(1.0,)).fit(task, RNG).embed_queries(task.queries).sparse
    assert (plain != same).nnz == 0


def test_a_query_whose_documents_have_common_words_alone_stays(task):
    plain = Bm25F().fit(task, RNG).embed_queries(task.queries).sparse
    same = Rm3(original=(0.3,), common=1e-3).fit(task, RNG).embed_queries(task.queries).sparse
    np.testing.assert_allclose(same.toarray(), plain.toarray(), rtol=1e-6)


def test_words_of_a_document_are_another_text_than_the_document(task):
    fit = Rm3(documents=(1,), original=(0.0,)).fit(task, RNG)
    named = task.queries.take(np.arange(20))
    assert set(named.ids) <= set(task.documents.ids)
    other = Texts(named.ids + "!", named.titles, named.matrices, named.views)
    ours, theirs = (fit.embed_queries(texts).sparse for texts in (named, other))
    assert (ours != theirs).nnz == 0


@pytest.fixture(scope="module")
def documents_ask(task_dir):
    return open_task(task_dir)


def test_a_document_that_asks_is_not_among_its_own_top(documents_ask):
    task = documents_ask
    settings = {"documents": (1,), "terms": (300,), "original": (0.0,), "common": 1.0}
    fit = Rm3(parts=({"model": "bm25"},), **settings).fit(task, RNG)
    asked = fit.embed_queries(task.queries.take(np.arange(10))).sparse
    own = task.documents.matrix("counts")[:10]
    assert all(set(asked[[n]].indices) != set(own[[n]].indices) for n in range(10))
    # A text of the same id that is no document of the collection has it at the top.
    other = task.queries.take(np.arange(10))
    other = Texts(other.ids, other.titles + "!", other.matrices, other.views)
    asked = fit.embed_queries(other).sparse
    assert all(set(asked[[n]].indices) == set(own[[n]].indices) for n in range(10))


def test_validation_chooses_and_keeps_the_first_pass_where_nothing_is_better(task):
    model = Rm3.tuned(parts=({"model": "bm25"},), measure="map")
    fit = model.fit(task, RNG)
    validator = Validator(task, "valid", model.validation_queries)
    plain = MEASURES["map"](validator.ranks(Bm25().fit(task, RNG)))
    every = {}
    for documents in model.documents:
        for terms in model.terms:
            for original in model.original:
                one = dataclasses.replace(
                    model, documents=(documents,), terms=(terms,), original=(original,)
                )
                means = MEASURES["map"](validator.ranks(one.fit(task, RNG)))
                every[documents, terms, original] = float(means.mean())
    chosen = fit.facts["chosen"]
    assert fit.facts["val/map of the first pass"] == pytest.approx(float(plain.mean()))
    reached = every.get(tuple(chosen.values()), float(plain.mean()))
    assert fit.facts["val/map"] == pytest.approx(reached, abs=1e-6)
    # Three words of a document find it best as they are.
    assert chosen["original"] == 1.0


def test_validation_takes_feedback_where_it_helps(task):
    settings = {"parts": ({"model": "bm25"},), "documents": (5,), "terms": (30,)}
    fit = Rm3(original=(0.5,), **settings).fit(task, RNG)
    scores = Scorer(fit.embed_documents(task.documents)).score(fit.embed_queries(task.queries))
    # Relevant is what the expanded query has first, so that it has the highest mean.
    best = np.argmax(scores, axis=1)
    rows = np.column_stack([np.arange(len(best)), best])
    asked = dataclasses.replace(task, train=Pairs.of(rows[::2]), valid=Pairs.of(rows[1::2]))
    chosen = Rm3(original=(0.95, 0.5), **settings).learn(asked, RNG, FitOptions())
    assert chosen.facts["chosen"] == {"documents": 5, "terms": 30, "original": 0.5}
    assert chosen.facts["val/mrr"] == pytest.approx(1.0)
    assert chosen.facts["val/mrr of the first pass"] < 1


def test_feedback_that_is_better_by_less_than_its_error_is_not_taken(task):
    settings = {"parts": ({"model": "bm25"},), "documents": (5,), "terms": (30,)}
    ranks = []
    for original in (1.0, 0.5):
        fit = Rm3(original=(original,), **settings).fit(task, RNG)
        scores = Scorer(fit.embed_documents(task.documents)).score(fit.embed_queries(task.queries))
        ranks.append(np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1))
    # A query gains 1/2, another one loses 1/6: the mean is higher, and tells nothing.
    better = np.argwhere((ranks[0] == 1) & (ranks[1] == 0))
    worse = np.argwhere((ranks[0] == 1) & (ranks[1] == 2))
    worse = worse[worse[:, 0] != better[0, 0]]
    two = np.vstack([better[:1], worse[:1]])
    # Nothing else is known of the two, so that all documents are candidates.
    train = task.train.take(~np.isin(task.train.rows[:, 0], two[:, 0]))
    asked = dataclasses.replace(task, train=train, valid=Pairs.of(two))
    fit = Rm3(original=(0.5, 0.99), **settings).learn(asked, RNG, FitOptions())
    assert fit.facts["chosen"]["original"] == 1.0
    validator = Validator(asked, "valid", 10)
    half = Rm3(original=(0.5,), **settings).fit(task, RNG)
    mean = MEASURES["mrr"](validator.ranks(half)).mean()
    assert mean > fit.facts["val/mrr of the first pass"] == fit.facts["val/mrr"]


def test_a_saved_model_keeps_what_was_chosen(task, place, tmp_path):
    fit = Rm3(parts=({"model": "bm25f", "title": (5.0,)},), documents=(3,)).fit(task, RNG)
    fit.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    texts = raw_texts(fit, [f"{word(1003)} {word(7)}", "unheardof"])
    ours, theirs = (one.embed_queries(texts).sparse for one in (fit, again))
    assert (ours != theirs).nnz == 0
    assert ours[[1]].nnz == 0


@pytest.mark.parametrize("parts", [(), ({"model": "tfidf"},), ({"model": "bm25"},) * 2])
def test_other_first_passes_are_refused(parts):
    with pytest.raises(ValueError, match="expected one model, of bm25f, bm25, language_model"):
        Rm3(parts=parts)


def test_a_search_and_an_explanation_have_the_words_that_were_added(tmp_path):
    rows = [{"id": f"d{n}", "text": f"{word(n // 4)} {word(100 + n // 4)} {n}"} for n in range(60)]
    rows.append({"id": "only", "text": f"{word(100)} alone"})
    docs = ssi.read(rows, language="en", out=tmp_path / "docs")
    task = ssi.Task.of(docs, "self", queries="words:2", out=tmp_path / "task")
    index = ssi.Ranker("rm3").fit(task).index(docs, out=tmp_path / "index")
    scores = {hit.id: hit.score for hit in index.search(word(0), k=10)}
    # It has no word of the query, but one of the documents that have it.
    assert "only" in scores
    why = index.explain(word(0), "only")
    assert [(one.query_word, one.document_word) for one in why.parts] == [(word(100), word(100))]
    assert why.score == pytest.approx(scores["only"], rel=1e-5)
