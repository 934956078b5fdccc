import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ssi_core.evaluation import ranking as module
from ssi_core.evaluation.candidates import candidates as chosen_of
from ssi_core.evaluation.candidates import draw_tuples
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.measures import MEASURES, every_measure, hubness
from ssi_core.evaluation.ranking import Validator
from ssi_core.scoring.vectors import Inner
from ssi_core.types import BadInput, Pairs
from tests.evaluation import naive
from tests.evaluation.toy import Lookup, csr, random_task, texts


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    side=st.sampled_from(["valid", "test"]),
    pool=st.sampled_from([None, 0, 7]),
    dense=st.booleans(),
    listed=st.booleans(),
)
def test_measures_equal_those_of_the_definitions(seed, side, pool, dense, listed):
    task = random_task(np.random.default_rng(seed), pool=pool, listed=listed)
    scores = task.queries.matrix("counts").toarray()
    expected = {
        q: naive.measures(scores[q], *lists) for q, lists in naive.protocol(task, side).items()
    }

    report = evaluate(Lookup(dense), task, side=side, tuples=0)

    assert report.per_query["query"].to_list() == sorted(expected)
    for row in report.per_query.to_dicts():
        for name in MEASURES:
            assert row[name] == pytest.approx(expected[row["query"]][name], abs=1e-12), name


def test_all_queries_are_measured_unless_fewer_are_asked():
    task = random_task(np.random.default_rng(1), queries=1200, documents=30)
    judged = len(chosen_of(task, "test", None, 0).queries)
    assert judged > 1000
    assert len(evaluate(Lookup(), task, tuples=0).per_query) == judged
    assert len(evaluate(Lookup(), task, tuples=0, queries=7).per_query) == 7


def test_blocks_and_threads_change_nothing(monkeypatch):
    task = random_task(np.random.default_rng(1), queries=40, documents=60, pool=30)
    whole = evaluate(Lookup(), task, tuples=500)
    monkeypatch.setattr(module, "BLOCK_BYTES", 4 * 60 * 7)
    parts = evaluate(Lookup(), task, tuples=500, threads=3)
    assert whole.per_query.equals(parts.per_query)
    assert whole.means == parts.means
    assert whole.errors == parts.errors


@pytest.mark.parametrize("pool", [0, 5])
def test_queries_whose_own_documents_are_many_are_measured_in_parts(monkeypatch, pool):
    task = random_task(np.random.default_rng(2), queries=40, documents=60, pool=pool)
    chosen = chosen_of(task, "test", None, 0)
    assert [first for first, _ in chosen.parts()] == [0]
    whole = evaluate(Lookup(), task, tuples=500)
    monkeypatch.setattr("ssi_core.evaluation.candidates._FEWEST", 7)
    sizes, end = [], 0
    for first, part in chosen.parts():
        assert (first, part.queries.tolist()) == (
            end,
            chosen.queries[end:][: len(part.queries)].tolist(),
        )
        own = np.setdiff1d(np.arange(len(part.documents)), part.outside)
        assert part.documents[own].tolist() == task.pool.tolist()
        sizes.append(len(part.outside))
        end += len(part.queries)
    assert end == len(chosen.queries)
    most = max(np.diff(chosen.relevant.start))
    assert len(sizes) > 4
    assert max(sizes) <= max(7, most)
    parts = evaluate(Lookup(), task, tuples=500)
    assert whole.per_query.equals(parts.per_query)
    assert (whole.means, whole.errors) == (parts.means, parts.errors)
    assert whole.slices.equals(parts.slices)


def test_a_judged_list_is_all_that_a_query_ranks():
    """Blocks and the sum of two models' scores find the same; a constant model is no oracle."""
    task = random_task(np.random.default_rng(1), queries=40, documents=60, listed=True)
    report = evaluate(Lookup(), task)
    assert "rank_loss_tuples" not in report.means
    assert report.candidates == "the documents that were judged for the query"
    validator = Validator(task, "test")
    assert validator.rank_loss(Lookup()) == pytest.approx(report.means["rank_loss"])
    scores = validator.scores(Lookup())
    assert validator.rank_loss_of(scores) == pytest.approx(report.means["rank_loss"])
    alike = dataclasses.replace(task, queries=texts(csr(np.ones((40, 60))), "a query"))
    constant = evaluate(Lookup(), alike)
    assert 0.4 < constant.means["rank_loss"] <= 0.5
    assert constant.means["ndcg_at_3"] < 0.9


def test_queries_are_drawn_once_whatever_the_model():
    task = random_task(np.random.default_rng(2), queries=50)
    one = evaluate(Lookup(), task, queries=10, tuples=0)
    other = evaluate(Lookup(dense=True), task, queries=10, tuples=0)
    different = evaluate(Lookup(), task, queries=10, tuples=0, seed=1)
    assert len(one.per_query) == 10
    assert one.per_query["query"].equals(other.per_query["query"])
    assert not one.per_query["query"].equals(different.per_query["query"])


def test_report_says_errors_bounds_and_slices():
    task = random_task(np.random.default_rng(3))
    report = evaluate(Lookup(), task, tuples=0)
    frame = report.per_query
    ap = frame["map"].to_numpy()
    assert report.means["map"] == pytest.approx(ap.mean())
    assert report.errors["map"] == pytest.approx(np.sqrt(ap.var(ddof=1) / len(ap)))
    assert report.bounds["p_at_10"] == pytest.approx(frame["relevant"].clip(0, 10).mean() / 10)
    counts = task.queries.matrix("counts").toarray()[frame["query"].to_numpy()]
    assert frame["query_words"].to_list() == np.count_nonzero(counts, axis=1).tolist()
    assert frame["id"].to_list() == [f"a query {q:02}" for q in frame["query"]]


@pytest.mark.parametrize("pool", [None, 9])
def test_tuples_are_uniform_over_queries_then_relevant_then_irrelevant(pool):
    task = random_task(np.random.default_rng(4), queries=6, documents=12, pool=pool)
    lists = naive.protocol(task, "test")
    lists = {q: both for q, both in lists.items() if both[1]}
    n = 60_000
    expected = {
        (q, r, i): n / len(lists) / len(own) / len(others)
        for q, (own, others) in lists.items()
        for r in own
        for i in others
    }
    drawn = np.column_stack(draw_tuples(task, "test", n, seed=0))
    kinds, counts = np.unique(drawn, axis=0, return_counts=True)
    assert {tuple(k) for k in kinds.tolist()} == set(expected)
    wanted = np.array([expected[tuple(k)] for k in kinds.tolist()])
    chi2 = np.sum((counts - wanted) ** 2 / wanted)
    freedom = len(wanted) - 1
    assert abs(chi2 - freedom) < 5 * np.sqrt(2 * freedom)


def test_what_is_headed_percent_is_shown_in_percent():
    headed = {name: m for name, m in every_measure().items() if m.title}
    assert {name for name, m in headed.items() if m.percent} == {
        name for name, m in headed.items() if m.title.endswith("%")
    }


def test_the_tuples_estimate_the_rank_loss_over_all_queries():
    task = random_task(np.random.default_rng(5), queries=60, documents=40)
    report = evaluate(Lookup(), task, queries=1000, tuples=50_000)
    values = report.per_query["rank_loss"]
    assert report.means["rank_loss_tuples"] == pytest.approx(values.mean(), abs=0.005)
    # Few queries and many tuples: nearly all of the error comes from the queries.
    assert report.errors["rank_loss_tuples"] == pytest.approx(report.errors["rank_loss"], rel=0.015)


def test_a_perfect_ranker_reaches_every_bound():
    task = random_task(np.random.default_rng(6))
    grade = np.zeros((len(task.queries), len(task.documents)))
    grade[tuple(task.test.rows.T)] = task.test.grade
    perfect = dataclasses.replace(task, queries=texts(csr(grade), "q"))
    report = evaluate(Lookup(), perfect)
    for name, bound in {"map": 1, "mrr": 1, "p_at_1": 1, "ndcg_at_10": 1, "rank_loss": 0}.items():
        assert report.means[name] == pytest.approx(bound), name
    assert report.means["rank_loss_tuples"] == 0
    assert report.means["p_at_10"] == pytest.approx(report.bounds["p_at_10"])


def test_empty_texts_are_all_ties():
    task = random_task(np.random.default_rng(7))
    empty = texts(csr(np.zeros((12, 20))), "q")
    report = evaluate(Lookup(), dataclasses.replace(task, queries=empty))
    assert set(report.per_query["rank_loss"]) == {0.5}
    assert report.means["rank_loss_tuples"] == 0.5
    assert set(report.per_query["query_words"]) == {0}


class Diverged(Lookup):
    def embed_queries(self, queries):
        vectors = super().embed_queries(queries)
        vectors.dense[:] = np.nan
        return vectors


def test_a_diverged_model_is_no_report_and_half_the_pairs_wrong_in_validation():
    task = random_task(np.random.default_rng(8))
    assert Validator(task).rank_loss(Diverged(dense=True)) == 0.5
    with pytest.raises(BadInput, match="queries: the model gives vectors that hold NaN"):
        evaluate(Diverged(dense=True), task)


def test_queries_whose_candidates_are_all_relevant_have_no_wrong_pair():
    task = random_task(np.random.default_rng(9), queries=1, documents=3)
    nothing = Pairs.of(np.zeros((0, 2)))
    all_three = Pairs.of([[0, 0], [0, 1], [0, 2]])
    exclude = csr(np.zeros((1, 3))).astype(bool)
    task = dataclasses.replace(task, train=nothing, valid=nothing, test=all_three, exclude=exclude)
    report = evaluate(Lookup(), task)
    assert report.means["rank_loss"] == 0
    assert report.means["map"] == 1
    assert np.isnan(report.errors["map"])
    assert "rank_loss_tuples" not in report.means


@pytest.mark.parametrize("side", ["train", "valid"])
def test_the_validator_equals_the_definition_and_the_evaluation(side):
    task = random_task(np.random.default_rng(10), pool=8)
    scores = task.queries.matrix("counts").toarray()
    lists = naive.protocol(task, side)
    expected = np.mean([naive.measures(scores[q], *x)["rank_loss"] for q, x in lists.items()])
    validator = Validator(task, side)
    assert validator.rank_loss(Lookup()) == pytest.approx(expected)
    assert validator.rank_loss(Lookup()) == validator.rank_loss(Lookup())
    report = evaluate(Lookup(), task, side=side)
    assert validator.measures(Lookup()) == pytest.approx(
        {name: report.means[name] for name in MEASURES}
    )
    assert Validator(task, side).rank_loss(Lookup()) == validator.rank_loss(Lookup())


def test_the_validator_follows_a_model_that_learns(monkeypatch):
    """Sparse scores that are kept from the call before are kept only while they are true."""

    class Learning(Lookup):
        diagonal, weight = csr(np.eye(20)), np.float32(1)
        dense_query = np.zeros((12, 1), np.float32)

        def embed_documents(self, documents):
            return Inner(self.diagonal, np.arange(20, dtype=np.float32)[:, None] % 7)

        def embed_queries(self, queries):
            rows = [int(name[-2:]) for name in queries.ids]
            return Inner(queries.matrix("counts") * self.weight, self.dense_query[rows])

    rng = np.random.default_rng(13)
    task, model, kept = random_task(rng), Learning(), None
    validator = Validator(task)
    for what in ("nothing", "diagonal", "dense", "query", "dense", "both", "nothing"):
        if what in ("diagonal", "both"):
            model.diagonal.data[:] = rng.random(20)
        if what in ("dense", "both"):
            model.dense_query[:] = rng.random((12, 1))
        if what == "query":
            model.weight = np.float32(3)
        fresh = Validator(task).rank_loss(model)
        assert validator.rank_loss(model) == fresh
        assert kept is None or (fresh == kept) == (what == "nothing")
        kept = fresh
    monkeypatch.setattr(module, "BLOCK_BYTES", 4 * 20 * 3)
    assert Validator(task).rank_loss(model) == kept


def test_a_side_without_pairs_and_an_unknown_side_are_refused():
    task = random_task(np.random.default_rng(11))
    with pytest.raises(ValueError, match="no query with a relevant document"):
        evaluate(Lookup(), dataclasses.replace(task, test=Pairs.of(np.zeros((0, 2)))))
    with pytest.raises(ValueError, match="expected one of train, valid, test"):
        Validator(task, "tset")


def test_progress_rises_to_one():
    told = []
    task = random_task(np.random.default_rng(12))
    evaluate(Lookup(), task, progress=lambda fraction, message: told.append((fraction, message)))
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
    assert all(message for _, message in told)


@pytest.mark.parametrize("pool", [None, 7])
def test_hubness_is_the_skewness_of_the_counts_of_the_first_ten(pool):
    task = random_task(np.random.default_rng(4), queries=30, documents=25, pool=pool)
    scores = task.queries.matrix("counts").toarray()
    found = np.zeros(25)
    columns = set()
    for q, (candidates, relevant) in naive.protocol(task, "test").items():
        own = sorted({*candidates, *relevant})
        columns |= {*own}
        for d in sorted(own, key=lambda d: (-scores[q, d], d))[:10]:
            found[d] += 1
    report = evaluate(Lookup(), task, tuples=0)
    assert report.means["hubness"] == pytest.approx(stats.skew(found[sorted(columns)]))
    assert "hubness" not in report.errors


def test_a_document_that_everything_finds_is_a_hub():
    assert hubness(np.array([3, 3, 3])) == 0
    assert hubness(np.array([0] * 99 + [50])) > hubness(np.array([0] * 50 + [1] * 50)) == 0
