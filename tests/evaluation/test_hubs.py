"""Hubs of graphs of neighbours, beside a naive program."""

import numpy as np
import pytest
from scipy import sparse, stats

import ssi_core as ssi
from ssi_core.evaluation.hubs import hubs, neighbours
from ssi_core.scoring.vectors import Inner, Likelihood
from ssi_core.types import BadInput


def naive(points, labels, k, similarity):
    """S_Nk and the ratio of BN_k, as the paper defines them."""
    occurrences, bad = [0] * len(points), [0] * len(points)
    for i, x in enumerate(points):
        near = []
        for j, y in enumerate(points):
            value = float(x @ y)
            if similarity == "cosine":
                value /= np.linalg.norm(x) * np.linalg.norm(y)
            if j != i:
                near.append((-value, j))
        for _, j in sorted(near)[:k]:
            occurrences[j] += 1
            bad[j] += labels[i] != labels[j]
    return occurrences, bad, float(stats.skew(occurrences)), sum(bad) / sum(occurrences)


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
@pytest.mark.parametrize("parts", ["sparse", "dense", "both"])
def test_counts_are_those_of_a_naive_program(similarity, parts, monkeypatch):
    monkeypatch.setattr("ssi_core.evaluation.hubs._BLOCK_BYTES", 4 * 60 * 7)
    random = np.random.default_rng(0)
    words = sparse.random_array((60, 30), density=0.3, rng=random, format="csr")
    words = sparse.csr_array(words.astype(np.float32))
    dense = (random.normal(size=(60, 4)) * random.lognormal(0, 1, (60, 1))).astype(np.float32)
    labels = random.integers(0, 3, 60)
    vectors = Inner(words if parts != "dense" else None, dense if parts != "sparse" else None)
    columns = {"dense": [dense], "sparse": [words.toarray()], "both": [words.toarray(), dense]}
    whole = np.hstack(columns[parts])
    found = hubs(vectors, k=5, labels=labels, similarity=similarity)
    occurrences, bad, skewness, ratio = naive(whole.astype(float), labels, 5, similarity)
    assert found.occurrences.tolist() == occurrences
    assert found.bad.tolist() == bad
    assert found.skewness == pytest.approx(skewness)
    assert found.bad_ratio == pytest.approx(ratio)
    assert found.points == 60


def test_a_star_is_a_hub_and_clusters_of_one_label_are_not_bad():
    random = np.random.default_rng(1)
    centre = np.repeat([[20.0, 0.0], [0.0, 20.0]], 30, axis=0)
    points = (centre + random.normal(size=(60, 2))).astype(np.float32)
    labels = np.repeat([0, 1], 30)
    apart = hubs(Inner(None, points), k=5, labels=labels)
    assert apart.bad_ratio == 0
    others = random.permutation(labels)
    mixed = hubs(Inner(None, points), k=5, labels=others)
    assert mixed.bad_ratio == pytest.approx(naive(points.astype(float), others, 5, "cosine")[-1])
    # Under the inner product the longest vector is near all others.
    points[0] *= 10
    assert hubs(Inner(None, points), k=5, similarity="dot").skewness > apart.skewness + 1
    assert hubs(Inner(None, points), k=5).bad_ratio is None


def test_texts_without_a_vector_are_left_out():
    points = np.eye(4, dtype=np.float32)[[0, 0, 1, 1, 2]]
    points[4] = 0
    found = hubs(Inner(None, points), k=1, labels=np.array([0, 0, 1, 1, 1]))
    assert (found.points, found.occurrences.tolist(), found.bad_ratio) == (4, [1, 1, 1, 1], 0)
    with pytest.raises(BadInput, match="4 texts have a vector, and 4 neighbours"):
        hubs(Inner(None, points), k=4)


def test_vectors_of_arrays_and_of_sparse_matrices_are_alike():
    points = np.random.default_rng(2).random((30, 6)) * (np.arange(30) % 2 + 1)[:, None]
    labels = ["one" if i % 3 else "other" for i in range(30)]
    first = ssi.hubs(points, labels, k=4, similarity="dot")
    other = ssi.hubs(sparse.csr_array(points), labels, k=4, similarity="dot")
    assert first.bad.tolist() == other.bad.tolist()
    assert first.skewness == other.skewness
    with pytest.raises(BadInput, match="30 vectors have 2 labels"):
        ssi.hubs(points, ["a", "b"])


def test_models_without_inner_products_are_refused():
    dense = np.ones((3, 2), np.float32)
    with pytest.raises(BadInput, match="no inner products"):
        hubs(Likelihood(None, dense, dense), k=1)


def test_equal_ones_come_by_ascending_row():
    assert neighbours(Inner(None, np.ones((4, 2), np.float32)), 2).tolist() == [
        [1, 2],
        [0, 2],
        [0, 1],
        [0, 1],
    ]
