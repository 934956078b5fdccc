"""The graph and its eigenmap beside naive programs: dense eigenvectors, all pairs of rows."""

import numpy as np
import pytest
from scipy import linalg, sparse

from ssi_core.guests.codes.eigenmap import eigenmap
from ssi_core.guests.codes.graph import neighbour_graph
from ssi_core.types import BadInput


def points(n, seed=0, columns=5):
    return sparse.csr_array(np.random.default_rng(seed).random((n, columns)))


def naive_graph(x, k, similarity, labels=None):
    n = len(x)
    near = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if similarity == "cosine":
                near[i, j] = x[i] @ x[j] / np.linalg.norm(x[i]) / np.linalg.norm(x[j])
            else:
                near[i, j] = np.exp(-np.sum((x[i] - x[j]) ** 2) / (2 * 0.3**2))
    graph = np.zeros((n, n))
    for i in range(n):
        others = [j for j in range(n) if j != i and (labels is None or labels[i] == labels[j])]
        for j in sorted(others, key=lambda j: -near[i, j])[:k]:
            graph[i, j] = graph[j, i] = near[i, j]
    return graph


@pytest.mark.parametrize("similarity", ["cosine", "heat"])
@pytest.mark.parametrize("classes", [None, 3])
def test_the_graph_is_that_of_all_pairs(similarity, classes):
    rows = points(40)
    labels = None if classes is None else (np.arange(40) % classes).astype(np.int32)
    graph = neighbour_graph(rows, 4, similarity=similarity, sigma=0.3, labels=labels)
    expected = naive_graph(rows.toarray(), 4, similarity, labels)
    np.testing.assert_allclose(graph.toarray(), expected, atol=1e-12)


@pytest.mark.parametrize("n", [60, 700])
def test_eigenvectors_are_those_of_a_dense_solution(n):
    graph = neighbour_graph(points(n, columns=3), 6, similarity="heat", sigma=0.2)
    dense = graph.toarray()
    degree = dense.sum(axis=1)
    values, vectors = linalg.eigh(np.diag(degree) - dense, np.diag(degree))
    embedded = eigenmap(graph, 5, np.random.default_rng(0))
    assert embedded.parts == 1
    np.testing.assert_allclose(embedded.eigenvalues, values[1:6], atol=1e-8)
    # The same up to a sign, in the inner product of D.
    overlap = np.abs(embedded.values.T @ np.diag(degree) @ vectors[:, 1:6])
    np.testing.assert_allclose(overlap, np.eye(5), atol=1e-5)


def test_of_a_graph_in_parts_only_the_constant_is_left_out():
    labels = (np.arange(90) % 3).astype(np.int32)
    graph = neighbour_graph(points(90), 5, labels=labels)
    embedded = eigenmap(graph, 6, np.random.default_rng(1))
    degree = graph.sum(axis=1)
    assert embedded.parts == 3
    np.testing.assert_allclose(embedded.eigenvalues[:2], 0)
    assert embedded.eigenvalues[2] > 1e-3
    # The constraints of (4).
    np.testing.assert_allclose(embedded.values.T @ degree, 0, atol=1e-8)
    gram = embedded.values.T @ (degree[:, None] * embedded.values)
    np.testing.assert_allclose(gram, np.eye(6), atol=1e-7)
    # Two columns are constant on each class, and tell all three apart.
    rows = np.unique(np.round(embedded.values[:, :2], 9), axis=0)
    assert len(rows) == 3
    # The others are on one class each, and exactly 0 on the rest: no noise to cut at a median.
    classes = [set(labels[column != 0]) for column in embedded.values[:, 2:].T]
    assert all(len(some) == 1 for some in classes)
    residual = degree[:, None] * embedded.values - graph @ embedded.values
    expected = degree[:, None] * embedded.values * embedded.eigenvalues
    np.testing.assert_allclose(residual, expected, atol=1e-7)


def test_the_rotation_follows_the_seed():
    graph = neighbour_graph(points(90), 5, labels=(np.arange(90) % 3).astype(np.int32))
    one, same, other = (eigenmap(graph, 2, np.random.default_rng(s)).values for s in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert not np.allclose(np.abs(one), np.abs(other))


def test_rows_without_an_edge_are_nowhere():
    rows = sparse.csr_array(np.vstack([points(30).toarray(), np.zeros((2, 5))]))
    embedded = eigenmap(neighbour_graph(rows, 4), 3, np.random.default_rng(0))
    assert embedded.parts == 1
    np.testing.assert_array_equal(embedded.values[30:], 0)


def test_more_bits_than_texts_are_refused():
    with pytest.raises(BadInput, match="30 bits need more than 30 texts"):
        eigenmap(neighbour_graph(points(30), 4), 30, np.random.default_rng(0))
