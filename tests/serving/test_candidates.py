"""Candidates beside naive programs: by signs of vectors, and by words."""

import numpy as np
import pytest
from scipy import sparse

from ssi_core.arrays import ArraySpec
from ssi_core.scoring.inner import best_of
from ssi_core.scoring.scorer import Scorer
from ssi_core.scoring.vectors import Inner
from ssi_core.serving import candidates
from ssi_core.serving.candidates import BITS, PartScores, SignCodes, planes, write_signs
from tests.seals import accepted


def random_vectors(n, seed, *, dimensions=7, words=40):
    random = np.random.default_rng(seed)
    dense = random.normal(size=(n, dimensions)) * random.lognormal(0, 0.5, (n, 1))
    rows = sparse.random_array((n, words), density=0.1, rng=random, format="csr")
    rows.data -= 0.3  # some weights are negative
    return Inner(sparse.csr_array(rows.astype(np.float32)), dense.astype(np.float32))


@pytest.mark.hostile("resealed directories")
def test_codes_that_are_not_as_they_are_declared_are_refused(tmp_path):
    documents, path = random_vectors(200, 0).dense, tmp_path / "codes.npy"
    write_signs(documents, path)
    specs = {"codes": ArraySpec("uint64", (BITS // 64, 200))}
    assert not accepted(tmp_path, None, lambda place: SignCodes(documents, path), specs)


@pytest.mark.parametrize("count", [1, 5, 60, 200])
def test_signs_rank_as_a_naive_count_of_them_does(tmp_path, monkeypatch, count):
    monkeypatch.setattr("ssi_core.serving.candidates._BLOCK", 64)
    documents, queries = random_vectors(200, 0).dense, random_vectors(9, 1).dense
    write_signs(documents, tmp_path / "codes.npy")
    rows, products = SignCodes(documents, tmp_path / "codes.npy")(queries, count)
    columns = planes(7)
    for query, found, product in zip(queries, rows, products, strict=True):
        far = [np.sum((query @ columns > 0) != (d @ columns > 0)) for d in documents]
        ranking = np.linalg.norm(documents, axis=1) * (BITS - 2 * np.array(far))
        assert len(set(found.tolist())) == count
        np.testing.assert_allclose(
            np.sort(ranking[found]), np.sort(ranking)[-count:], rtol=1e-5, atol=1e-3
        )
        np.testing.assert_allclose(product, documents[found] @ query, rtol=1e-5, atol=1e-5)


def test_what_else_is_asked_does_not_matter(tmp_path):
    documents, queries = random_vectors(300, 2).dense, random_vectors(20, 3).dense
    write_signs(documents, tmp_path / "codes.npy")
    near = SignCodes(documents, tmp_path / "codes.npy")
    together, _ = near(queries, 30)
    alone = np.concatenate([near(queries[i : i + 1], 30)[0] for i in range(20)])
    np.testing.assert_array_equal(together, alone)


def test_planes_of_a_block_are_orthogonal():
    columns = planes(100)
    assert columns.shape == (100, BITS)
    for first in range(0, BITS, 100):
        block = columns[:, first : first + 100]
        np.testing.assert_allclose(block.T @ block, np.eye(block.shape[1]), atol=1e-5)


@pytest.mark.parametrize("words", [1, 6])
def test_scores_are_those_of_all_documents_and_the_best_by_words_are_there(
    tmp_path, monkeypatch, words
):
    monkeypatch.setattr(candidates, "_BY_WORDS", words)
    documents, queries = random_vectors(200, 4), random_vectors(9, 5)
    write_signs(documents.dense, tmp_path / "codes.npy")
    near = SignCodes(documents.dense, tmp_path / "codes.npy")
    scorer = PartScores(near, documents, 12)
    exact = Scorer(documents).score(queries)
    by_words = Scorer(Inner(documents.sparse, None)).score(Inner(queries.sparse, None))
    for _ in range(2):  # the scratch is as it was
        rows, scores = scorer(queries, 1)
        assert rows.shape == (9, 12 + words)
        for query, (row, score) in enumerate(zip(rows, scores, strict=True)):
            some = row[row >= 0]
            assert np.all(np.diff(some) > 0)
            np.testing.assert_allclose(score[row >= 0], exact[query, some], rtol=1e-4, atol=1e-5)
            assert np.all(score[row < 0] == -np.inf)
            given = set(near(queries.dense[query : query + 1], 12)[0][0].tolist())
            met = [d for d in np.argsort(-by_words[query]) if by_words[query, d] > 0]
            assert given | set(met[:words]) <= set(some.tolist())


def test_best_of_gives_rows_and_fills_up_with_none():
    rows = np.array([[-1, 2, 5, 9]], np.int32)
    scores = np.array([[-np.inf, 1.0, 3.0, 1.0]], np.float32)
    found, best = best_of(rows, scores, 4)
    assert found.tolist() == [[5, 2, 9, -1]]
    assert best.tolist() == [[3.0, 1.0, 1.0, -np.inf]]
