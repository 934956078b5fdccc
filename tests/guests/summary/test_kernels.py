"""The walk over sentences, the choice of those that differ, common subsequences."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from ssi_core.guests.summary.kernels.lcs import mark_common
from ssi_core.guests.summary.kernels.walk import choose_apart, walk
from ssi_core.kernels.sparse import unit_rows
from tests.guests.summary import naive


def rows_of(seed, n=9, columns=7):
    dense = np.random.default_rng(seed).random((n, columns))
    dense[dense < 0.6] = 0
    dense[2] = 0
    rows = sparse.csr_array(dense)
    start, data = rows.indptr.astype(np.int64), rows.data
    unit_rows(start, data)
    return start, rows.indices.astype(np.int32), data, rows.toarray()


@pytest.mark.parametrize("seed", range(4))
def test_the_walk_is_that_over_all_pairs(seed):
    start, indices, data, dense = rows_of(seed)
    bias = np.random.default_rng(seed).dirichlet(np.ones(len(dense)))
    scores = np.full(len(dense), 1 / len(dense))
    mass, total = np.empty(dense.shape[1]), np.empty(len(dense))
    steps = walk(start, indices, data, bias, 0.3, 1e-7, 1000, mass, total, scores)
    assert 1 < steps < 1000
    expected = naive.walk((dense @ dense.T).tolist(), bias.tolist(), 0.3, 1e-7)
    assert scores == pytest.approx(np.array(expected), abs=1e-12)
    assert walk(start, indices, data, bias, 0.3, 1e-7, 3, mass, total, np.zeros(len(dense))) == 3


@pytest.mark.parametrize("fitting", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_the_choice_is_that_of_the_definition(seed, fitting):
    start, indices, data, dense = rows_of(seed)
    rng = np.random.default_rng(seed)
    scores, lengths = rng.random(len(dense)), rng.integers(1, 9, len(dense))
    order, chosen = np.argsort(-scores), np.empty(len(dense), np.int64)
    count = choose_apart(start, indices, data, order, lengths, 15, 0.5, fitting, chosen)
    similarity = (dense @ dense.T).tolist()
    expected = naive.choose(scores, similarity, lengths, 15, 0.5, fitting)
    assert chosen[:count].tolist() == expected


@pytest.mark.parametrize("seed", range(6))
def test_what_is_marked_is_a_longest_common_subsequence(seed):
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, 3, 7), rng.integers(0, 3, 6)

    def inside(some, of):
        left = iter(of)
        return all(any(word == next_ for next_ in left) for word in some)

    subsets = itertools.chain.from_iterable(itertools.combinations(one, k) for k in range(8))
    longest = max(len(some) for some in subsets if inside(some, other))
    marked = np.zeros(len(one), np.bool_)
    mark_common(one, other, np.empty((8, 7), np.int32), marked)
    assert marked.sum() == longest
    assert inside(one[marked], other)
    mark_common(one, other[:0], np.empty((8, 7), np.int32), empty := np.zeros(len(one), np.bool_))
    assert not empty.any()
