"""Correlated feature hashing against Algorithm 1, and as a view of a task."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ssi_core.arrays import ArraySpec
from ssi_core.tasks.task import build_task, open_task
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput
from ssi_core.views.dice import Matches, dice
from ssi_core.views.hashing import Hashing, feature_map, load_view, parse_view
from ssi_core.views.weighting import Weighting, weigh
from tests.corpora import topical, write_corpus
from tests.seals import accepted

NAMES = (
    "cfh:k=3,words=60,ngrams=1",
    "cfh:k=3,words=60,ngrams=1,weighting=sublinear:10",
    "cfh:k=2,words=40,ngrams=2",
    "cfh:k=3,words=60,ngrams=1+2",
)


@pytest.fixture(scope="module", params=["pairs", "documents"])
def task(request, tmp_path_factory, corpus_dir):
    out = tmp_path_factory.mktemp("hashed") / "task"
    build_task(corpus_dir, out, words="all", views=("raw", *NAMES), split=request.param)
    return open_task(out)


def algorithm_1(q, d, bins, frequent):
    """Sum over all k * k cross bins, as printed (conference paper, Algorithm 1)."""
    k = bins.shape[1]
    a, b = np.zeros(frequent), np.zeros(frequent)
    for p in range(k):
        for i in range(len(bins)):
            if bins[i, p] >= 0:
                a[bins[i, p]] += q[i]
                b[bins[i, p]] += d[i]
    return np.outer(a, b) / k


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 6))
def test_the_expanded_map_scores_like_algorithm_1(seed, k):
    rng = np.random.default_rng(seed)
    frequent, others = 8, 20
    bins = np.argsort(rng.random((others, frequent)), axis=1)[:, :k].astype(np.int32)
    # A word that meets few others has fewer bins, the last ones missing.
    bins[np.arange(k) >= rng.integers(0, k + 1, others)[:, None]] = -1
    q, d = rng.random((2, others)) * (rng.random((2, others)) < 0.4)
    W = rng.standard_normal((frequent, frequent))
    phi = feature_map(Matches(bins, np.zeros(bins.shape, np.float32)), frequent)
    expanded = (q @ phi) @ W @ (phi.T @ d)
    assert expanded == pytest.approx((algorithm_1(q, d, bins, frequent) * W).sum(), abs=1e-5)


def test_a_name_says_what_it_means():
    for name in NAMES:
        assert str(parse_view(name)) == name
    assert parse_view(NAMES[1]) == Hashing(3, 60, (1,), Weighting("sublinear", 10))
    assert parse_view("raw:10") == Weighting("raw", 10)


@pytest.mark.parametrize(
    "name",
    [
        "cfh:",
        "cfh:k=0,words=60,ngrams=1",
        "cfh:words=60,k=3,ngrams=1",
        "cfh:k=3,words=60,ngrams=2+1",
        "cfh:k=3,words=60,ngrams=1+1",
        "cfh:k=3,words=060,ngrams=1",
        "cfh:k=3,words=60,ngrams=1,weighting=raw",
        "cfh:k=3,words=60,ngrams=1,weighting=counts",
        "cfh:k=3,words=60,ngrams=1,weighting=heavy",
    ],
)
def test_a_wrong_name_is_told_how_one_is_written(name):
    with pytest.raises(ValueError, match=r"cfh:k=5,words=30000,ngrams=1|WEIGHTING"):
        parse_view(name)


def test_rows_are_the_other_words_times_phi(task):
    """Unit rows over all words, then the words from the F-th on, each in its k bins."""
    counts = task.documents.matrix("counts")
    base = task.documents.views["counts"]
    for name in NAMES[:2]:
        hashing = parse_view(name)
        view, rows = task.documents.views[name], task.documents.matrix(name)
        unit = weigh(counts, base.idf, hashing.weighting).toarray()
        others = unit[:, 60:]
        phi = np.zeros((others.shape[1], 60))
        for i, bins in enumerate(view.matches[1].bins):
            phi[i, bins[bins >= 0]] = 1 / np.sqrt(3)
        np.testing.assert_allclose(rows.toarray(), others @ phi, atol=1e-5)
        assert rows.shape == (200, 60) == (len(counts.toarray()), len(view.words))
        assert rows.has_sorted_indices
        assert view.words[:5] == base.words[:5]


def test_matches_are_those_of_the_fitting_documents(task):
    counts = task.documents.matrix("counts")
    fitting = np.ones(200, np.bool_)
    if len(task.pool if task.pool is not None else fitting) < 200:
        fitting[task.pool] = False
    found = dice(counts, 60, 3, first=60, documents=fitting)
    view = task.documents.views[NAMES[0]]
    np.testing.assert_array_equal(view.matches[1].bins, found.bins)
    np.testing.assert_array_equal(view.matches[1].values, found.values)


def test_runs_of_two_words_are_hashed_as_they_are(task):
    view, rows = task.documents.views[NAMES[2]], task.documents.matrix(NAMES[2])
    texts, words = topical()[0], {word: i for i, word in enumerate(view.base.words)}
    runs = [[words[w] for w in tokenize(text)] for text in texts]
    counts = np.zeros((200, len(view.ngrams[2])))
    for row, run in enumerate(runs):
        for pair in pairwise(run):
            number = view.ngrams[2].find(pair)
            if number >= 0:
                counts[row, number] += 1
    assert counts.sum() > 200
    unit = weigh(sparse.csr_array(counts.astype(np.float32)), view.idf[2], Weighting("raw"))
    phi = feature_map(view.matches[2], 40)
    np.testing.assert_allclose(rows.toarray(), (unit @ phi).toarray(), atol=1e-5)


def test_both_kinds_add_up(task):
    both, words = task.documents.matrix(NAMES[3]), task.documents.matrix(NAMES[0])
    view = task.documents.views[NAMES[3]]
    runs = view.ngrams[2]
    texts = [text.encode() for text in topical()[0]]
    counts = sparse.vstack([runs.count(*block) for block in view.base.in_order(texts)])
    alone = view.hashed({2: sparse.csr_array(counts)})
    np.testing.assert_allclose(both.toarray(), words.toarray() + alone.toarray(), atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_saved_view_embeds_raw_texts_as_the_task_does(task, name, tmp_path):
    view = task.documents.views[name]
    view.save(tmp_path)
    loaded = load_view(tmp_path)
    assert (loaded.name, loaded.space) == (name, view.space)
    rows = loaded.transform([*topical()[0], "", "never seen"])
    expected = task.documents.matrix(name)
    np.testing.assert_array_equal(rows[:200].toarray(), expected.toarray())
    assert rows.dtype == np.float32
    assert rows[200:].nnz == 0


def test_other_bins_are_another_space(task):
    views = task.documents.views
    assert len({views[name].space for name in ("raw", *NAMES)}) == len(NAMES) + 1


def test_a_view_that_was_changed_is_refused(task, tmp_path):
    task.documents.views[NAMES[0]].save(tmp_path)
    bins = tmp_path / "hashed-1" / "bins.npy"
    np.save(bins, np.load(bins)[::-1])
    with pytest.raises(BadInput, match=r"bins were changed"):
        load_view(tmp_path)
    bins.unlink()
    with pytest.raises(BadInput, match=r"bins\.npy"):
        load_view(tmp_path)


@pytest.mark.hostile("resealed directories")
@pytest.mark.parametrize("name", NAMES)
def test_arrays_that_are_not_as_they_are_declared_are_refused(task, name, tmp_path):
    view = task.documents.views[name]
    view.save(tmp_path)
    k, words, specs = view.hashing.k, view.hashing.words, {}
    for n in view.hashing.ngrams:
        items = len(view.ngrams[n]) if n > 1 else len(view.base.words) - words
        specs[f"hashed-{n}/bins"] = ArraySpec("int32", (items, k), least=-1, most=words - 1)
        specs[f"hashed-{n}/dice"] = ArraySpec("float32", (items, k), least=0, most=1)
        if n > 1:
            specs[f"hashed-{n}/idf"] = ArraySpec("float32", (items,), least=0)
        for m in range(2, n + 1):
            specs[f"hashed-{n}/pairs-{m}"] = ArraySpec("uint64", (f"runs of {m}",))
    assert not accepted(tmp_path, None, load_view, specs)


def test_keyword_queries_are_hashed_too(tmp_path, corpus_dir):
    """They are bags of words: the words beyond the frequent ones count, and runs there are none."""
    names = (NAMES[0], NAMES[2])
    build_task(corpus_dir, tmp_path / "task", words="all", views=names, queries="words:5")
    queries = open_task(tmp_path / "task").queries
    view = queries.views[NAMES[0]]
    expected = view.hashed({1: queries.matrix("counts")})
    np.testing.assert_array_equal(queries.matrix(NAMES[0]).toarray(), expected.toarray())
    assert expected.nnz > 0
    assert queries.matrix(NAMES[2]).shape == (len(queries), 40)
    assert queries.matrix(NAMES[2]).nnz == 0


def test_a_vocabulary_of_frequent_words_only_is_refused(tmp_path, corpus_dir):
    with pytest.raises(
        BadInput,
        match=r"has 60 words\. Take all words for the task \(ssi\.Task\.of\(docs, words='all'\)\)",
    ):
        build_task(corpus_dir, tmp_path / "task", words=60, views=(NAMES[0],))


def test_texts_without_runs_in_common_are_refused(tmp_path):
    texts = [f"a{i} b{i}" for i in range(40)]
    links = [(i, (i + j) % 40) for i in range(40) for j in (1, 2, 3)]
    corpus = write_corpus(tmp_path / "corpus", texts, links)
    with pytest.raises(BadInput, match=r"no run of 2 words"):
        build_task(corpus, tmp_path / "task", words="all", views=("cfh:k=1,words=5,ngrams=2",))
