from dataclasses import replace

import ir_measures
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ir_measures import AP, RR, P, nDCG

from ssi_core.evaluation.candidates import candidates
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.trec import escape, write_trec
from ssi_core.scoring.decreasing import strictly_decreasing
from tests.evaluation import naive
from tests.evaluation.toy import Lookup, csr, random_task, texts

THEIRS = {"map": AP, "mrr": RR, "p_at_1": P @ 1, "p_at_10": P @ 10}


def read(paths):
    run, qrels = (str(path) for path in paths)
    return list(ir_measures.read_trec_qrels(qrels)), list(ir_measures.read_trec_run(run))


def test_another_tool_finds_the_same_gain_of_grades(tmp_path):
    """Theirs is told the gains: 2^grade - 1."""
    task = random_task(np.random.default_rng(3), queries=30, documents=90, levels=3)
    report = evaluate(Lookup(), task, queries=20, tuples=0)
    assert {*task.test.grade} == {1, 2, 3}
    qrels, run = read(write_trec(Lookup(), task, tmp_path, queries=20))
    theirs = nDCG(gains={1: 1, 2: 3, 3: 7}) @ 10
    found = {m.query_id: m.value for m in ir_measures.iter_calc([theirs], qrels, run)}
    linear = {m.query_id: m.value for m in ir_measures.iter_calc([nDCG @ 10], qrels, run)}
    for row in report.per_query.to_dicts():
        assert row["ndcg_at_10"] == pytest.approx(found[escape(row["id"])], abs=1e-6)
    assert found != pytest.approx(linear, abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("pool", "listed"), [(None, False), (60, False), (None, True)])
def test_another_tool_finds_the_same_measures_in_spite_of_ties(tmp_path, seed, pool, listed):
    size = {"queries": 30, "documents": 90, "levels": 3}
    task = random_task(np.random.default_rng(seed), pool=pool, listed=listed, **size)
    task.test.grade[:] = 1
    report = evaluate(Lookup(), task, queries=20, tuples=0)
    qrels, run = read(write_trec(Lookup(), task, tmp_path, queries=20))
    theirs = {**THEIRS, **{f"ndcg_at_{k}": nDCG @ k for k in (1, 3, 10)}}
    found = {
        (m.query_id, m.measure): m.value
        for m in ir_measures.iter_calc(list(theirs.values()), qrels, run)
    }
    for row in report.per_query.to_dicts():
        for ours, measure in theirs.items():
            value = found[escape(row["id"]), measure]
            assert row[ours] == pytest.approx(value, abs=1e-6), (ours, row)


@pytest.mark.parametrize("values", [1, 2])
def test_where_all_scores_are_equal_the_order_of_the_documents_decides(tmp_path, values):
    task = random_task(np.random.default_rng(4), queries=30, documents=90)
    task.test.grade[:] = 1
    table = np.tile(1 + np.arange(90) % values, (30, 1))
    task = replace(task, queries=texts(csr(table), "a query"))
    report = evaluate(Lookup(), task, queries=20, tuples=0)
    qrels, run = read(write_trec(Lookup(), task, tmp_path, queries=20))
    theirs = {**THEIRS, "ndcg_at_10": nDCG @ 10}
    found = ir_measures.calc_aggregate(list(theirs.values()), qrels, run)
    for ours, measure in theirs.items():
        assert report.means[ours] == pytest.approx(found[measure], abs=1e-6)
    ids = [escape(name) for name in task.documents.ids]
    place = {name: (-table[0, row], row) for row, name in enumerate(ids)}
    for query in {line.query_id for line in run}:
        ranking = [place[line.doc_id] for line in run if line.query_id == query]
        assert ranking == sorted(ranking)
    if values == 1:
        assert report.means["rank_loss"] == 0.5


def test_a_run_lists_every_candidate_in_our_order_and_a_depth_cuts_it(tmp_path):
    task = random_task(np.random.default_rng(9))
    scores = task.queries.matrix("counts").toarray()
    lists = naive.protocol(task, "test")
    _, run = read(write_trec(Lookup(), task, tmp_path / "whole"))
    _, cut = read(write_trec(Lookup(), task, tmp_path / "cut", depth=3))
    documents = {escape(name): i for i, name in enumerate(task.documents.ids)}
    for q, (own, others) in lists.items():
        order = sorted([*own, *others], key=lambda d: (-scores[q, d], d))
        mine = [r for r in run if r.query_id == f"a%20query%20{q:02}"]
        assert [documents[r.doc_id] for r in mine] == order
        assert all(np.diff(np.array([r.score for r in mine], np.float32)) < 0)
        short = [r for r in cut if r.query_id == f"a%20query%20{q:02}"]
        assert [documents[r.doc_id] for r in short] == order[:3]


def test_a_run_of_queries_in_parts_is_the_whole_run(tmp_path, monkeypatch):
    task = random_task(np.random.default_rng(4), queries=30, documents=60, pool=8)
    whole = write_trec(Lookup(), task, tmp_path / "whole", depth=9)
    monkeypatch.setattr("ssi_core.evaluation.candidates._FEWEST", 9)
    assert len(list(candidates(task, "test", None, 0).parts())) > 3
    parts = write_trec(Lookup(), task, tmp_path / "parts", depth=9)
    assert [path.read_text() for path in parts] == [path.read_text() for path in whole]


def test_qrels_carry_the_grades(tmp_path):
    task = random_task(np.random.default_rng(10))
    qrels, _ = read(write_trec(Lookup(), task, tmp_path))
    expected = {
        (f"a%20query%20{q:02}", f"50%25%20document%20{d:02}", grade)
        for q, (own, _) in naive.protocol(task, "test").items()
        for d, grade in own.items()
    }
    assert {(r.query_id, r.doc_id, r.relevance) for r in qrels} == expected


@given(st.lists(st.floats(-100, 100, width=32), max_size=60))
@example([2.0**-130, 2.0**-130])
def test_scores_fall_strictly_and_stay_where_they_fell(values):
    scores = np.array(sorted(values, reverse=True), dtype=np.float32)
    fallen = strictly_decreasing(scores)
    assert (np.diff(fallen) < 0).all()
    largest = np.abs(scores).max(initial=0)
    largest = max(largest, 2.0**-100) if largest else 1
    assert (np.abs(fallen - scores) <= 1.01 * len(scores) * largest / 2**20).all()
    gaps = np.diff(scores)
    if len(gaps) and (gaps < -2 * largest / 2**20).all():
        np.testing.assert_allclose(fallen, scores, rtol=1e-6, atol=1e-6 * largest)


def test_scores_without_order_fall_too():
    lowest = np.finfo(np.float32).min
    assert (
        np.diff(strictly_decreasing(np.array([np.inf, 1, lowest, lowest], np.float32))) < 0
    ).all()


def test_ids_become_one_field():
    assert escape("a b\tc\u00a0d%") == "a%20b%09c%C2%A0d%25"
    assert escape("plain_é") == "plain_é"
