"""Four rows of W at once: queries of any length, runs that go round once or many times."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from ssi_core.kernels.sparse import csr
from ssi_core.kernels.training.pair_forms import PRIME, pairs_add, pairs_score

WORDS = 31


def rows(rng, lengths):
    """CSR rows with so many non-zeros; the last one always has the last word."""
    made = np.zeros((len(lengths), WORDS), np.float32)
    for row, length in zip(made, lengths, strict=True):
        row[rng.permutation(WORDS)[:length]] = rng.normal(size=length)
    made[-1, -1] = 1
    return sparse.csr_array(made)


def weights(buckets, step, q, d):
    """Naive twin: what each pair of words adds to its bucket."""
    total = np.zeros(buckets)
    for s, t in itertools.product(np.flatnonzero(q), np.flatnonzero(d)):
        total[(int(s) * step + int(t)) % buckets] += q[s] * d[t]
    return total


@pytest.mark.parametrize(
    ("buckets", "step"),
    [*((n, PRIME) for n in (1, 7, 29, 31, 61, 127, 257, 509, 1009)), (WORDS**2, WORDS)],
)
def test_score_and_step_agree_with_the_naive_twin(buckets, step):
    rng = np.random.default_rng(buckets)
    queries, documents = rows(rng, range(10)), rows(rng, (0, 1, 5, 20))
    sides = csr(queries), csr(documents)
    q_full, d_full = (m.toarray().astype(np.float64) for m in (queries, documents))
    for q, d in itertools.product(range(10), range(4)):
        W = rng.normal(size=buckets).astype(np.float32)
        before, met = W.astype(np.float64), weights(buckets, step, q_full[q], d_full[d])
        score = pairs_score(W, np.uint64(step), sides[0], q, sides[1], d)
        assert score == pytest.approx(before @ met, abs=2e-4)
        pairs_add(W, np.uint64(step), sides[0], q, sides[1], d, np.float32(0.5))
        np.testing.assert_allclose(W, before + 0.5 * met, atol=2e-4)
