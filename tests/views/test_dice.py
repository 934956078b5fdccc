"""DICE against twins from the definition and from scipy's product."""

from contextlib import nullcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ssi_core.arrays import save_csr
from ssi_core.views import matching
from ssi_core.views.dice import dice, document_frequency
from ssi_core.views.hashing import Hashing


def matrix(rng, documents, columns, density=0.2):
    there = rng.random((documents, columns)) < density
    return sparse.csr_array((there * rng.integers(1, 9, there.shape)).astype(np.float32))


def naive_matches(items, words, frequent, k, itself):
    """S_1(i) .. S_k(i) with exact fractions; a frequent word is its own first match."""
    a, b = items.toarray() > 0, words.toarray()[:, :frequent] > 0
    found = []
    for i in range(a.shape[1]):
        ranked = []
        for j in range(b.shape[1]):
            both, either = int((a[:, i] & b[:, j]).sum()), int(a[:, i].sum() + b[:, j].sum())
            if both:
                ranked.append((not (itself and i == j), -Fraction(2 * both, either), j))
        found.append([(j, float(-value)) for _, value, j in sorted(ranked)[:k]])
    return found


def as_lists(matches):
    rows = zip(matches.bins.tolist(), matches.values.tolist(), strict=True)
    return [[(j, v) for j, v in zip(*row, strict=True) if j >= 0] for row in rows]


def approx(rows):
    return [[(j, pytest.approx(value, rel=1e-6)) for j, value in row] for row in rows]


@given(
    seed=st.integers(0, 2**32 - 1),
    documents=st.integers(1, 30),
    frequent=st.integers(1, 25),
    k=st.integers(1, 7),
    postings=st.sampled_from([1, 13, 1000]),
    threads=st.sampled_from([1, 3]),
)
def test_equals_the_definition(seed, documents, frequent, k, postings, threads):
    words = matrix(np.random.default_rng(seed), documents, 20)
    found = dice(words, frequent, k, postings=postings, threads=threads)
    assert as_lists(found) == approx(naive_matches(words, words, frequent, k, True))
    assert found.bins.dtype == np.int32
    assert found.values.dtype == np.float32
    assert ((found.values >= 0) & (found.values <= 1)).all()
    assert (found.values[found.bins < 0] == 0).all()


@given(seed=st.integers(0, 2**32 - 1), frequent=st.integers(1, 20))
def test_a_frequent_word_matches_itself_best(seed, frequent):
    rng = np.random.default_rng(seed)
    words = matrix(rng, 12, 20, 0.6)
    # Two words in the very same documents: the tie would go to the first.
    words = sparse.csr_array(sparse.hstack([words, words]))
    words.sort_indices()
    there = np.diff(words.tocsc().indptr)[:frequent] > 0
    found = dice(words, frequent, 2, last=frequent)
    assert found.bins[there, 0].tolist() == np.flatnonzero(there).tolist()
    assert (found.values[there, 0] == 1).all()


@pytest.mark.parametrize("few", [{"k": 0, "frequent": 1}, {"k": 1, "frequent": 0}])
def test_a_match_is_of_one_word_at_least(few):
    with pytest.raises(ValueError, match=f"k={few['k']}, frequent={few['frequent']}; expected at"):
        dice(matrix(np.random.default_rng(0), 3, 4), few["frequent"], few["k"])


def test_equals_the_product_of_scipy():
    rng = np.random.default_rng(3)
    words = matrix(rng, 300, 500, 0.05)
    frequent, k = 100, 5
    found = dice(words, frequent, k, first=frequent)
    binary = sparse.csc_array((words > 0).astype(np.float64))
    shared = (binary[:, frequent:].T @ binary[:, :frequent]).toarray()
    df = binary.sum(axis=0)
    table = 2 * shared / (df[frequent:, None] + df[None, :frequent])
    np.testing.assert_allclose(found.values, -np.sort(-table, axis=1)[:, :k], rtol=1e-6)
    at = np.arange(len(table))[:, None]
    np.testing.assert_allclose(found.values, table[at, found.bins], rtol=1e-6)


def test_other_items_are_matched_with_the_words_of_their_documents():
    rng = np.random.default_rng(5)
    words, items = matrix(rng, 40, 30), matrix(rng, 40, 12)
    found = dice(words, 10, 3, items=items)
    assert as_lists(found) == approx(naive_matches(items, words, 10, 3, False))


def test_only_the_chosen_documents_count():
    rng = np.random.default_rng(7)
    words = matrix(rng, 40, 30)
    chosen = rng.random(40) < 0.5
    np.testing.assert_array_equal(
        document_frequency(words, chosen), (words.toarray()[chosen] > 0).sum(axis=0)
    )
    some, own = dice(words, 10, 3, documents=chosen), dice(words[chosen], 10, 3)
    np.testing.assert_array_equal(some.bins, own.bins)
    np.testing.assert_array_equal(some.values, own.values)


@pytest.mark.parametrize("n", [1, 2])
def test_blocks_of_columns_have_the_matches_of_all_and_are_matched_once(tmp_path, monkeypatch, n):
    def run_here(stage, parts, where):
        made.extend(stage.make(part) or part.first for part in parts)
        return nullcontext(())

    rng, made = np.random.default_rng(7), []
    counts = {n: tmp_path / str(n) for n in (1, 2)}
    for path in counts.values():
        save_csr(path, matrix(rng, 31, 20))
    monkeypatch.setattr(matching, "BLOCK", 7)
    monkeypatch.setattr(matching, "run_parts", run_here)
    fitting = rng.random(31) < 0.8
    here, there = (
        matching.Matching(counts, fitting, tmp_path, where).of(n, Hashing(3, 5, (n,)))
        for where in ("local", "dask:tcp://a:1")
    )
    assert made == ([5, 12, 19] if n == 1 else [0, 7, 14])
    np.testing.assert_array_equal(there.bins, here.bins)
    np.testing.assert_array_equal(there.values, here.values)
    monkeypatch.setattr(matching, "dice", None)  # what is whole is read
    again = matching.Matching(counts, fitting, tmp_path, "dask:tcp://a:1")
    np.testing.assert_array_equal(again.of(n, Hashing(3, 5, (n,))).bins, here.bins)


def test_dice_is_symmetric():
    words = matrix(np.random.default_rng(9), 30, 15, 0.4)
    found = dice(words, 15, 15)
    table = np.zeros((15, 15), np.float32)
    for i, (bins, values) in enumerate(zip(found.bins, found.values, strict=True)):
        table[i, bins[bins >= 0]] = values[bins >= 0]
    np.testing.assert_array_equal(table, table.T)


@pytest.mark.parametrize(
    "arguments", [{"k": 0}, {"frequent": 0}, {"first": 8, "last": 3}, {"last": 31}]
)
def test_refuses_what_no_match_can_be(arguments):
    words = matrix(np.random.default_rng(1), 10, 30)
    with pytest.raises(ValueError, match=r"expected"):
        dice(words, **{"frequent": 5, "k": 2, **arguments})
