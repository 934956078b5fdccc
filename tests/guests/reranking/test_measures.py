"""LETOR's measures against their definitions, and against rules of its script."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssi_core.guests.reranking.kernels.rank_lists import sort_lists
from ssi_core.guests.reranking.measures import MEASURES, Grades, means, measure_named, per_query
from tests.guests.reranking import made, naive

ALL = (*MEASURES, "letor_p_at_3", "letor_ndcg_at_1")
LISTS = st.lists(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from([-1.0, 0.0, 0.5, 2.0])),
        min_size=1,
        max_size=14,
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=100, deadline=None)
@given(LISTS)
def test_measures_equal_their_definitions(lists):
    features = made.of(lists)
    values = per_query(features, features.values[:, 0], ALL)
    for n, one in enumerate(lists):
        expected = naive.measures([value for _, value in one], [grade for grade, _ in one])
        for name in ALL:
            assert values[name][n] == pytest.approx(expected[name], abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(LISTS, st.randoms(use_true_random=False))
def test_insertion_gives_the_order_of_a_stable_sort(lists, random):
    features = made.of(lists)
    grades = Grades.of(features)
    order = np.arange(len(features))
    for first, last in zip(features.start, features.start[1:], strict=False):
        rows = order[first:last].tolist()
        random.shuffle(rows)
        order[first:last] = rows
    sort_lists(features.values[:, 0].copy(), features.start, order)
    assert order.tolist() == grades.order_of(features.values[:, 0]).tolist()


def test_rules_of_the_script():
    # Two documents: NDCG@10 is 0, P@10 divides by 10, the second rank has no discount.
    short = per_query(made.of([[(0, 2), (2, 1)]]), np.array([2.0, 1.0]), (*ALL, "letor_ndcg_at_2"))
    assert short["letor_ndcg_at_10"] == 0
    assert short["letor_p_at_10"] == 0.1
    assert short["letor_ndcg_at_2"] == 1
    assert short["letor_mean_ndcg"] == 0.5
    # A query without a relevant document counts with 0.
    two = per_query(made.of([[(1, 1)], [(0, 1)]]), np.ones(2))
    assert means(two)["letor_map"] == 0.5
    # Equal scores keep the order of the file: a constant ranker has no perfect value.
    constant = made.of([[(0, 1), (0, 1), (1, 1)]])
    assert per_query(constant, np.zeros(3))["letor_map"] == pytest.approx(1 / 3)


def test_a_measure_without_meaning_is_refused():
    for name in ("map", "letor_p_at_0", "letor_ndcg", "letor_p_at_100000"):
        with pytest.raises(ValueError, match="expected letor_map"):
            measure_named(name)
    with pytest.raises(ValueError, match="finite"):
        per_query(made.of([[(1, 1), (0, 1)]]), np.array([np.nan, 0]))
