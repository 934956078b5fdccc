"""Packed codes, balls and their measures, beside numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssi_core.guests.codes.measures import ball_measures
from ssi_core.guests.codes.packed import BallIndex, pack, unpack


def distances(codes, query):
    return np.bitwise_count(codes ^ query).sum(axis=1)


@pytest.mark.parametrize("bits", [1, 4, 63, 64, 65, 130])
def test_bits_come_back_from_codes(bits):
    rows = np.random.default_rng(bits).random((50, bits)) < 0.5
    codes = pack(rows)
    assert codes.shape == (50, -(-bits // 64))
    np.testing.assert_array_equal(unpack(codes, bits), rows)
    np.testing.assert_array_equal(distances(codes, codes[0]), (rows ^ rows[0]).sum(axis=1))


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 70), st.integers(1, 200), st.integers(0, 4), st.integers(0, 10**6))
def test_a_ball_holds_what_numpy_finds(bits, count, radius, seed):
    random = np.random.default_rng(seed)
    # Few distinct codes, so that balls are not empty and codes repeat.
    centres = random.random((4, bits)) < 0.5
    rows = centres[random.integers(0, 4, count)] ^ (random.random((count, bits)) < 0.05)
    codes, query = pack(rows), pack(centres[:1])[0]
    far = distances(codes, query)
    expected = np.flatnonzero(far <= radius)
    index = BallIndex(codes, bits)
    np.testing.assert_array_equal(index.scan(query, radius), expected)
    answer = index.search(query, radius)
    np.testing.assert_array_equal(answer, expected[np.argsort(far[expected], kind="stable")])


def test_measures_are_those_of_a_ball_that_is_counted_by_hand():
    codes = np.array([[0b000], [0b001], [0b111], [0b110]], np.uint64)
    labels = np.array([0, 1, 1, 1], np.int32)
    queries = np.array([[0b000], [0b011], [0b10000]], np.uint64)
    measures = ball_measures(codes, labels, queries, np.array([0, 1, 1], np.int32))
    # The first ball has a text of each class: the first class wins. The second has 001 and 111.
    # The third has 000 alone.
    np.testing.assert_allclose(measures["precision"], [0.5, 1.0, 0.0])
    np.testing.assert_allclose(measures["recall"], [1.0, 2 / 3, 0.0])
    np.testing.assert_allclose(measures["accuracy"], [1.0, 1.0, 0.0])
    np.testing.assert_allclose(measures["empty"], [0.0, 0.0, 0.0])


def test_an_empty_ball_has_no_precision_and_a_wrong_vote():
    codes, query = np.array([[0], [1]], np.uint64), np.array([[0b1110]], np.uint64)
    measures = ball_measures(codes, np.array([0, 1], np.int32), query, np.array([0], np.int32))
    assert {name: float(values[0]) for name, values in measures.items()} == {
        "precision": 0.0,
        "recall": 0.0,
        "accuracy": 0.0,
        "empty": 1.0,
    }


@pytest.mark.parametrize("radius", [0, 1, 3])
def test_measures_are_those_of_numpy(radius):
    random = np.random.default_rng(3)
    rows, asked = random.random((300, 70)) < 0.08, random.random((40, 70)) < 0.03
    codes, queries = pack(rows), pack(asked)
    labels = random.integers(0, 5, 300).astype(np.int32)
    query_labels = random.integers(0, 5, 40).astype(np.int32)
    measures = ball_measures(codes, labels, queries, query_labels, radius)
    for position, query in enumerate(queries):
        inside = labels[distances(codes, query) <= radius]
        right = int(np.sum(inside == query_labels[position]))
        assert measures["precision"][position] == (right / len(inside) if len(inside) else 0)
        assert measures["recall"][position] == right / np.sum(labels == query_labels[position])
        vote = np.bincount(inside, minlength=5).argmax() if len(inside) else -1
        assert measures["accuracy"][position] == (vote == query_labels[position])
