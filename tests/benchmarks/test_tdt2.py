"""Divisions of TDT2: words and weights of the training side, rows of unit length."""

import numpy as np
from scipy import sparse

from benchmarks.tdt2 import TRAIN, better, division


def test_a_division_weighs_words_by_its_training_side():
    random = np.random.default_rng(0)
    counts = sparse.csr_array(random.poisson(0.3, (200, 40)).astype(np.float64))
    topics = random.integers(0, 3, 200).astype(np.int32)
    train, test = division(counts, topics, 1)
    assert len(train.labels) == round(200 * TRAIN)
    assert len(train.labels) + len(test.labels) == 200
    order = np.random.default_rng([1]).permutation(200)
    dense = counts.toarray()[order[: len(train.labels)]]
    df = (dense > 0).sum(axis=0)
    expected = dense[:, df >= 2] * np.log(len(dense) / df[df >= 2])
    lengths = np.linalg.norm(expected, axis=1, keepdims=True)
    expected = expected / np.where(lengths > 0, lengths, 1)
    np.testing.assert_allclose(train.rows.toarray(), expected, rtol=1e-5)
    np.testing.assert_array_equal(test.labels, topics[order[len(train.labels) :]])
    assert test.rows.shape[1] == train.rows.shape[1]


def test_divisions_with_a_decided_gain_are_counted():
    def won(wins, losses, p):
        return {"precision": {"wins": wins, "losses": losses, "p": p}}

    assert better([won(9, 1, 0.001), won(1, 9, 0.001), won(9, 1, 0.02)]) == {"precision": 1}
