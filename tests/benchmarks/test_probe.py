"""The independent probe reads and writes what a step does; PyTorch scores the identity, too."""

from shutil import which

import numpy as np
import pytest
from scipy import sparse

from benchmarks.embedding_bag import bags, dots
from benchmarks.probe import probe
from ssi_core.kernels.sparse import aligned_empty, csr, floats, halved

WORDS, WIDTH, TEXTS = 40, 48, 9


@pytest.fixture
def texts():
    rng = np.random.default_rng(0)
    made = sparse.random_array((TEXTS, WORDS), density=0.3, format="csr", rng=rng)
    return csr(sparse.csr_array(made, dtype=np.float32))


@pytest.mark.skipif(which("cc") is None, reason="no compiler of C")
@pytest.mark.parametrize("stored", [np.asarray, halved])
def test_the_probe_gathers_every_row_of_a_triple_and_writes_it(stored, texts):
    rng = np.random.default_rng(1)
    U, V = (aligned_empty(WORDS, WIDTH) for _ in range(2))
    for one in (U, V):
        one[:] = rng.normal(size=one.shape)
    U, V = stored(U), stored(V)
    before = [floats(one).astype(np.float32) for one in (U, V)]
    triples = np.array([[0, 1, 2]])

    def words(text):
        return texts.indices[texts.indptr[text] : texts.indptr[text + 1]]

    sums = probe(U, V, texts, triples)()
    expected = before[0][words(0)].sum(0) + before[1][words(1)].sum(0) + before[1][words(2)].sum(0)
    np.testing.assert_allclose(sums, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(floats(U), before[0])
    np.testing.assert_array_equal(floats(V), before[1])

    # What is compiled loosely lets the whole process round small numbers to zero.
    assert np.float32(1e-40) * np.float32(1) > 0

    probe(U, V, texts, triples, factor=1)()
    pairs = zip(map(floats, (U, V)), before, strict=True)
    moved = [np.flatnonzero((now != then).any(1)) for now, then in pairs]
    assert set(moved[0]) == set(words(0))
    assert set(moved[1]) == set(words(1)) | set(words(2))


def test_the_peer_scores_the_identity(texts):
    torch = pytest.importorskip("torch")
    queries, documents = np.array([0, 1]), np.array([2, 3, 4, 5])
    rows = sparse.csr_array((texts.data, texts.indices, texts.indptr), (TEXTS, WORDS)).toarray()
    found = dots(torch, bags(torch, texts, queries), bags(torch, texts, documents), 2, WORDS)
    expected = [rows[q] @ rows[d] for q, d in zip([0, 1, 0, 1], documents, strict=True)]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)
