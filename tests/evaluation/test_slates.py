"""Measures on slates, against a count by hand over every slate."""

from dataclasses import replace

import numpy as np
import pytest

from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.slates import (
    SLATE_MEASURES,
    SlateValidator,
    of_queries,
    slate_measures,
)
from ssi_core.types import Judged
from tests.evaluation.toy import Lookup, random_task


def random_slates(rng, events=60, queries=8, documents=12):
    query = np.sort(rng.integers(queries, size=events)).astype(np.int32)
    query[:queries] = np.arange(queries)
    query.sort()
    sizes = rng.integers(1, 9, size=events)
    shown = [np.sort(rng.permutation(documents)[:n]) for n in sizes]
    clicked = [rng.random(n) < 0.3 for n in sizes]
    for one in clicked:
        one[rng.integers(len(one))] = True
    start = np.concatenate([[0], np.cumsum(sizes)])
    documents, grade = np.concatenate(shown), np.concatenate(clicked)
    return Judged(query, start, documents.astype(np.int32), grade.astype(np.float32))


def naive(documents, scores, clicked):
    """Rank loss, average precision, P@1 and nDCG@10 of one slate."""
    good = [s for s, c in zip(scores, clicked, strict=True) if c]
    bad = [s for s, c in zip(scores, clicked, strict=True) if not c]
    wrong = [1.0 if b > g else 0.5 if b == g else 0.0 for g in good for b in bad]
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], documents[i]))
    hits = [bool(clicked[i]) for i in order]
    precision = [sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit]
    gain = sum(1 / np.log2(2 + i) for i, hit in enumerate(hits[:10]) if hit)
    ideal = sum(1 / np.log2(2 + i) for i in range(min(10, len(good))))
    loss = np.mean(wrong) if wrong else 0.0
    return [loss, np.mean(precision), float(hits[0]), gain / ideal]


@pytest.mark.parametrize("seed", range(5))
def test_measures_are_those_of_a_count_by_hand(seed):
    rng = np.random.default_rng(seed)
    slates = random_slates(rng)
    # Few values, so that there are ties.
    scores = rng.integers(4, size=len(slates.documents)).astype(np.float32)
    queries = np.unique(slates.query)
    found = slate_measures(slates, scores, queries)
    expected = []
    for query in queries:
        each = []
        for event in np.flatnonzero(slates.query == query):
            part = slice(slates.start[event], slates.start[event + 1])
            each.append(naive(slates.documents[part], scores[part], slates.grade[part] > 0))
        expected.append(np.mean(each, axis=0))
    assert list(found) == list(SLATE_MEASURES)
    np.testing.assert_allclose(np.column_stack(list(found.values())), expected)


def test_a_score_that_is_no_number_ranks_last():
    slates = Judged(np.array([0], np.int32), np.array([0, 3]), np.array([1, 2, 3], np.int32),
                    np.array([1, 0, 0], np.float32))  # fmt: skip
    scores = np.array([np.nan, -5, -9], np.float32)
    found = slate_measures(slates, scores, np.array([0], np.int32))
    assert found["slate_rank_loss"].tolist() == [1.0]
    assert found["slate_map"].tolist() == pytest.approx([1 / 3])


def test_the_events_of_some_queries_are_whole():
    slates = random_slates(np.random.default_rng(0))
    some = of_queries(slates, np.array([1, 4], np.int32))
    assert set(some.query) == {1, 4}
    both = np.column_stack([slates.rows, slates.grade])
    kept = np.column_stack([some.rows, some.grade])
    np.testing.assert_array_equal(kept, both[np.isin(both[:, 0], [1, 4])])


@pytest.mark.parametrize("dense", [False, True])
def test_a_report_has_the_measures_of_the_drawn_queries(dense):
    rng = np.random.default_rng(3)
    task = random_task(rng)
    asked = np.unique(task.test.rows[:, 0])
    slates = random_slates(rng, 100, 12, 20)
    task = replace(task, test=replace(task.test, shown=slates))
    report = evaluate(Lookup(dense), task, queries=5)
    drawn = report.per_query["query"].to_numpy()
    assert len(drawn) == 5 < len(asked)
    table = task.queries.matrix("counts").toarray()
    own = of_queries(slates, drawn)
    pairs = own.rows
    expected = slate_measures(own, table[pairs[:, 0], pairs[:, 1]].astype(np.float32), drawn)
    for name in SLATE_MEASURES:
        np.testing.assert_allclose(report.per_query[name], expected[name])
        assert report.means[name] == pytest.approx(expected[name].mean())
        assert report.errors[name] > 0
    assert "slate_map" not in evaluate(Lookup(), task, side="valid").means


def test_a_validator_gives_the_loss_of_the_report():
    rng = np.random.default_rng(4)
    task = random_task(rng)
    asked = np.unique(task.test.rows[:, 0])
    slates = of_queries(random_slates(rng, 100, 12, 20), asked)
    task = replace(task, test=replace(task.test, shown=slates))
    losses = evaluate(Lookup(), task).per_query["slate_rank_loss"].drop_nans().to_numpy()
    expected = losses.mean()
    for dense in (False, True):
        found = SlateValidator(task, "test").rank_loss(Lookup(dense))
        assert found == pytest.approx(expected, abs=1e-6)
    few = SlateValidator(task, "test", queries=len(losses) - 1)
    found = few.rank_loss(Lookup())
    assert found == few.rank_loss(Lookup())
    without_one = (losses.sum() - losses) / (len(losses) - 1)  # each query is drawn once
    assert np.abs(found - without_one).min() < 1e-6
