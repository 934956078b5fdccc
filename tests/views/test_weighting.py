import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from ssi_core.tasks.task import open_task
from ssi_core.views.statistics import Statistics
from ssi_core.views.weighting import (
    WEIGHTINGS,
    Weighting,
    weigh,
    weigh_side,
)
from tests.corpora import topical

COUNTS = arrays.arrays(np.float32, (6, 9), elements=st.integers(0, 4).map(float))
IDF = arrays.arrays(np.float32, 9, elements=st.sampled_from([0.0, 0.25, 0.5, 3.0]))
NAMES = st.sampled_from([f"{kind}{cut}" for kind in WEIGHTINGS for cut in ("", ":1", ":3", ":99")])


def naive(counts, idf, name):
    """A row at a time, in float64, from the definition."""
    kind, _, cut = name.partition(":")
    rows = []
    for row in counts.astype(float):
        tf = np.array(
            [
                0 if n == 0 else {"raw": n, "sublinear": 1 + np.log(n), "binary": 1}.get(kind, n)
                for n in row
            ]
        )
        weights = tf if kind == "counts" else tf * idf
        if cut:
            heaviest = sorted(range(len(row)), key=lambda i: (-weights[i], i))[: int(cut)]
            weights = np.where(np.isin(np.arange(len(row)), heaviest), weights, 0)
        norm = np.sqrt((weights**2).sum())
        rows.append(weights if kind == "counts" or norm == 0 else weights / norm)
    return np.array(rows)


@given(COUNTS, IDF, NAMES)
def test_weights_are_as_defined(counts, idf, name):
    rows = weigh(sparse.csr_array(counts), idf, Weighting.parse(name))
    np.testing.assert_allclose(rows.toarray(), naive(counts, idf, name), atol=1e-6)
    assert rows.has_sorted_indices
    assert (rows.data > 0).all()
    assert rows.data.dtype == np.float32
    assert rows.indices.dtype == np.int32


@given(COUNTS, IDF, NAMES)
def test_a_row_alone_is_bit_by_bit_as_among_others(counts, idf, name):
    weighting = Weighting.parse(name)
    together = weigh(sparse.csr_array(counts), idf, weighting)
    for i in range(len(counts)):
        alone = weigh(sparse.csr_array(counts[i : i + 1]), idf, weighting)
        assert alone.data.tobytes() == together[i : i + 1].data.tobytes()
        assert alone.indices.tolist() == together[i : i + 1].indices.tolist()


@given(COUNTS, IDF, st.sampled_from(["raw-sublinear", "binary-raw:3", "sublinear-binary@4"]))
def test_the_sides_of_a_view_of_two_weightings_are_those_of_each(counts, idf, name):
    kinds, cut = re.fullmatch("([a-z-]+)(.*)", name).groups()
    statistics = Statistics(idf, len(counts), 1.0)
    for kind, side in zip(kinds.split("-"), ("document", "query"), strict=True):
        rows = weigh_side(sparse.csr_array(counts), statistics, Weighting.parse(name), side)
        alone = weigh(sparse.csr_array(counts), idf, Weighting.parse(f"{kind}{cut}"))
        np.testing.assert_array_equal(rows.toarray(), alone.toarray())
    assert Weighting.parse(name).two_sided


def test_a_task_reads_queries_and_documents_by_the_weighting_of_each(task_dir):
    task = open_task(task_dir)
    for texts, plain in ((task.documents, "raw"), (task.queries, "sublinear")):
        expected = texts.matrix(plain).toarray()
        np.testing.assert_array_equal(texts.matrix("raw-sublinear").toarray(), expected)
        again = texts.views["raw-sublinear"].transform(topical()[0])
        np.testing.assert_array_equal(again.toarray(), expected)


def test_input_is_not_changed():
    counts = sparse.csr_array(np.array([[1, 2, 0], [0, 3, 1]], np.float32))
    before = counts.toarray()
    weigh(counts, np.ones(3, np.float32), Weighting("raw", 1))
    np.testing.assert_array_equal(counts.toarray(), before)


def test_agrees_with_counts_of_scikit_learn(task_dir):
    from ssi_core.tasks.task import open_task

    task = open_task(task_dir)
    texts, _ = topical()
    words = list(task.queries.views["raw"].words)
    counter = CountVectorizer(vocabulary=words, token_pattern=r"[^\W_]+", dtype=np.int64)
    counts = counter.transform(texts).toarray()
    idf = np.log(len(texts) / (counts > 0).sum(0))
    np.testing.assert_array_equal(task.queries.matrix("counts").toarray(), counts)
    for name in ("raw", "sublinear", "sublinear:10"):
        rows = naive(counts, idf, name)
        np.testing.assert_allclose(task.queries.matrix(name).toarray(), rows, atol=1e-6)


WRONG = ["", "tf", "raw:", "raw:0", "raw:-1", "raw:1.5", "raw:²", ":5", "raw@", "raw@0", "raw@5:2"]
OF_TWO = ["raw-", "raw-tf", "raw-counts", "counts-raw", "raw-bm25"]


@pytest.mark.parametrize("name", [*WRONG, *OF_TWO])
def test_a_wrong_name_is_told_all_weightings(name):
    with pytest.raises(ValueError, match="counts, raw, sublinear, binary"):
        Weighting.parse(name)


numbers = st.none() | st.integers(1, 10**6)


@given(st.sampled_from(WEIGHTINGS), numbers, numbers, st.booleans())
def test_a_name_reads_as_it_is_written(kind, cut, words, of_two):
    weighting = Weighting(kind, cut, words)
    if of_two:
        weighting = Weighting("binary", cut, words, asked="raw")
    assert Weighting.parse(str(weighting)) == weighting


@pytest.mark.parametrize("name", ["counts", "raw", "sublinear:10"])
def test_frequent_words_alone_are_the_first_columns(task_dir, name):
    """The unit norm is that of the whole vocabulary: nothing is scaled again."""
    task = open_task(task_dir)
    view, rows = task.queries.views[name], task.queries.matrix(name)
    words = len(view.words)
    for n in (1, 30, words, words + 5):
        some = weigh(task.queries.matrix("counts"), view.idf, Weighting.parse(f"{name}@{n}"))
        np.testing.assert_array_equal(some.toarray(), rows.toarray()[:, :n])
        assert some.shape[1] == len(view.named(f"{name}@{n}").words) == min(n, words)
