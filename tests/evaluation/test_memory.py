"""What ranking takes is estimated from the documents that are ranked, not from all pairs."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from ssi_core.evaluation.candidates import candidates, draw_tuples, ranking_memory
from ssi_core.models.measuring import _BASE, evaluation_memory, require_evaluation
from ssi_core.models.tfidf import TfIdf
from ssi_core.tasks.task import open_task
from ssi_core.types import Pairs, Refused
from tests.evaluation.toy import random_task

SPARSE = {"dense": 0, "block": 0}


def documents_said(task, queries, **how):
    """Candidates of which an estimate is made, by the non-zeros that it counts for them."""
    of = [
        ranking_memory(task, "test", queries=queries, nonzeros=n, **SPARSE, **how)
        for n in (10**9, 2 * 10**9)
    ]
    return (of[1] - of[0]) / (20 * 10**9) * len(task.documents)


def test_candidates_are_the_pool_and_what_is_relevant_to_the_queries_that_are_asked():
    task = random_task(np.random.default_rng(3), queries=40, documents=400, pool=30)
    for queries in (1, 5, 40):
        said = documents_said(task, queries)
        for seed in range(5):
            assert len(candidates(task, "test", queries, seed).documents) <= said + 1e-6
    every = documents_said(task, None)
    assert every == documents_said(task, 40) > documents_said(task, 1)
    most = np.bincount(task.test.rows[:, 0]).max()
    assert round(documents_said(task, 1)) == 30 + most


def test_candidates_of_queries_in_parts_are_those_of_the_largest_part(monkeypatch):
    task = random_task(np.random.default_rng(3), queries=40, documents=400, pool=30)
    every, most = documents_said(task, None), np.bincount(task.test.rows[:, 0]).max()
    assert documents_said(task, None, in_parts=True) == every
    monkeypatch.setattr("ssi_core.models.measuring._TUPLES", 0)
    whole = evaluation_memory(TfIdf(view="counts"), task)
    for fewest, own in ((100, 100), (10, max(30, most))):
        monkeypatch.setattr("ssi_core.evaluation.candidates._FEWEST", fewest)
        said = documents_said(task, None, in_parts=True)
        assert round(said) == 30 + own
        parts = [part for _, part in candidates(task, "test", None, 0).parts()]
        assert max(len(part.documents) for part in parts) <= said + 1e-6
    assert documents_said(task, None) == every
    assert evaluation_memory(TfIdf(view="counts"), task) < whole


def test_columns_of_frequent_words_take_four_times_their_entries_up_to_a_bound():
    task = replace(random_task(np.random.default_rng(3), queries=40, documents=400), pool=None)

    def said(nonzeros):
        return ranking_memory(task, "test", queries=1, nonzeros=nonzeros, **SPARSE)

    assert said(10**6) - said(0) == 36 * 10**6
    assert said(10**8) - said(0) == 20 * 10**8 + (64 << 20)


def test_without_a_pool_all_documents_are_candidates():
    task = replace(random_task(np.random.default_rng(3), queries=40, documents=400), pool=None)
    assert round(documents_said(task, 1)) == 400


@pytest.mark.parametrize("shares", [(0.3, 0.1), (0.05, 0.35)], ids=["training", "test"])
def test_pairs_take_no_more_than_is_said_and_half_of_it(shares):
    rng = np.random.default_rng(0)
    task = random_task(rng, queries=300, documents=1000, pool=20)
    side = rng.random((300, 1000))
    train, test = (Pairs.of(np.argwhere((side > a) & (side < b))) for a, b in _ranges(*shares))
    task = replace(task, train=train, test=test)
    said = ranking_memory(task, "test", queries=300, nonzeros=0, **SPARSE)
    tracemalloc.start()
    draw_tuples(task, "test", 100, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert said / 3 < peak < said


def test_what_ranking_takes_is_what_its_parts_take():
    task = random_task(np.random.default_rng(3), queries=40, documents=400, pool=30)
    sizes = {"dense": 10, "nonzeros": 5000, "block": 1000}
    said = [
        ranking_memory(task, side, queries=queries, **sizes, further=further)
        for side, queries, further in (("test", 5, 0), ("valid", None, 0), ("test", 5, 50))
    ]
    assert said == [627_820, 642_280, 639_480]


def _ranges(train, test):
    return (0.0, train), (train, train + test)


def test_a_refusal_asks_for_fewer_queries_only_where_that_helps(task_dir, monkeypatch):
    task = open_task(task_dir)
    monkeypatch.setenv("SSI_MEMORY", "1")
    with pytest.raises(Refused, match=r"about 101 MB .* One query would take as much"):
        require_evaluation(TfIdf(), task)
    one = _BASE + evaluation_memory(TfIdf(), task, 1)
    assert one < _BASE + evaluation_memory(TfIdf(), task)
    monkeypatch.setenv("SSI_MEMORY", str(one))
    with pytest.raises(Refused, match="ssi lab evaluate --max-queries"):
        require_evaluation(TfIdf(), task)
