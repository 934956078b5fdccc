"""Choices after training: no query chooses for itself."""

import dataclasses

import numpy as np
import pytest

from ssi_core.evaluation.evaluate import evaluate
from ssi_core.selection.two_folds import halves, two_folds
from tests.evaluation.toy import Lookup, random_task


class Reversed(Lookup):
    """Scores with the other sign."""

    def embed_queries(self, given):
        vectors = super().embed_queries(given)
        return dataclasses.replace(vectors, sparse=-vectors.sparse)


@pytest.fixture
def task():
    return random_task(np.random.default_rng(7), queries=30, documents=40, listed=True)


@pytest.mark.parametrize("measure", ["ndcg_at_3", "rank_loss"])
def test_each_half_has_what_is_best_on_the_other(task, measure):
    reports = [evaluate(one, task, tuples=0) for one in (Lookup(), Reversed())]
    half = halves(reports[0].per_query["id"], 0)
    values = np.stack([report.per_query[measure].to_numpy() for report in reports])
    expected = np.empty(len(half))
    for one in (0, 1):
        means = values[:, half != one].mean(axis=1)
        best = means.argmin() if measure == "rank_loss" else means.argmax()
        expected[half == one] = values[best, half == one]

    report = two_folds([Lookup(), Reversed()], task, measure)

    assert report.per_query["query"].equals(reports[0].per_query["query"])
    assert report.per_query[measure].to_numpy() == pytest.approx(expected)
    assert report.means[measure] == pytest.approx(expected.mean())
    assert set(report.slices["id"]) <= set(report.per_query["id"])
    assert {measure, "map", "ndcg_at_10"} <= set(report.means)


def test_one_variant_is_measured_as_it_is(task):
    assert two_folds([Lookup()], task, "map").means == evaluate(Lookup(), task, tuples=0).means


def test_the_order_of_the_queries_decides_no_half(task):
    ids = task.queries.ids
    half = halves(ids, 0)
    assert abs(int(half.sum()) - len(ids) / 2) <= 0.5
    assert halves(ids.reverse(), 0).tolist() == half[::-1].tolist()
    assert halves(ids, 1).tolist() != half.tolist()
