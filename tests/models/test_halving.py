"""Successive halving, with trainings whose scores are known."""

import math

import pytest

from ssi_core.models.halving import halve


def trainings(scores):
    """Return what trains, and a list of what it was asked: the score grows with the triples."""
    calls = []

    def train(number, triples):
        calls.append((number, triples))
        return scores[number] * triples, triples

    return train, calls


def test_a_third_goes_on_with_three_times_the_triples():
    train, calls = trainings(list(range(9)))
    best, drawn = halve(9, train, first=10, budget=10_000)
    assert best == 8
    rounds = [[n for n, triples in calls if triples == size] for size in (10, 30)]
    assert [sorted(one) for one in rounds] == [list(range(9)), [6, 7, 8]]
    assert drawn == 9 * 10 + 3 * 20


@pytest.mark.parametrize(("budget", "begun"), [(90, 9), (45, 4), (5, 1)])
def test_no_more_are_begun_than_the_budget_has_room_for(budget, begun):
    train, calls = trainings(list(range(9)))
    _, drawn = halve(9, train, first=10, budget=budget)
    assert len({number for number, _ in calls}) == begun
    assert drawn <= budget


def test_a_training_that_diverged_is_never_left():
    train, _ = trainings([1, -math.inf, 3])
    assert halve(3, train, first=10, budget=30)[0] == 2
    train, _ = trainings([-math.inf] * 3)
    assert halve(3, train, first=10, budget=300) == (None, 30)
