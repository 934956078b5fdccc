import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ssi_core import store
from ssi_core.tasks import keywords
from ssi_core.tasks.keywords import draw_words
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import Refused
from ssi_core.views.weighting import Weighting, weigh
from tests.corpora import topical, write_corpus

DRAWS, WORDS = 3, 4


@pytest.fixture(scope="module", params=["pairs", "documents"])
def both(request, tmp_path_factory, corpus_dir):
    """The task of whole documents and the one of keyword queries."""
    out = tmp_path_factory.mktemp(f"keywords-{request.param}")
    how = dict(split=request.param, views=("counts", "raw", "sublinear", "sublinear:10"))
    build_task(corpus_dir, out / "whole", **how)
    build_task(corpus_dir, out / "words", **how, queries=f"words:{WORDS}", query_draws=DRAWS)
    return open_task(out / "whole"), open_task(out / "words")


def sources(task):
    rows = {name: row for row, name in enumerate(task.documents.ids)}
    return np.array([rows[name] for name in task.queries.ids])


def pairs_by_source(task, side):
    """{source: one set of targets for each of its queries}."""
    source, found = sources(task), {}
    for query in np.unique(getattr(task, side).rows[:, 0]):
        own = getattr(task, side).rows[getattr(task, side).rows[:, 0] == query, 1]
        found.setdefault(source[query], []).append(set(own.tolist()))
    return found


def test_pairs_are_those_of_the_documents(both):
    whole, task = both
    seen = []
    for side, each in (("train", DRAWS), ("valid", 1), ("test", 1)):
        links = getattr(whole, side).rows
        expected = {q: {d for p, d in links.tolist() if p == q} for q in set(links[:, 0].tolist())}
        found = pairs_by_source(task, side)
        assert {q: one[0] for q, one in found.items()} == expected
        assert all(len(one) == each and one == [one[0]] * each for one in found.values())
        rows = getattr(task, side).rows
        assert rows.dtype == np.int32
        assert rows.tolist() == sorted(rows.tolist())
        seen.append(set(rows[:, 0].tolist()))
    # A query of one side is not one of another.
    assert sum(len(s) for s in seen) == len(set().union(*seen)) == len(task.queries)


def test_candidates_are_those_of_the_document(both):
    """Neither the source nor what it links to on an earlier side."""
    whole, task = both
    source, exclude = sources(task), task.exclude.toarray()
    assert exclude.shape == (len(task.queries), len(task.documents))
    earlier = {"train": (), "valid": ("train",), "test": ("train", "valid")}
    for side, before in earlier.items():
        for query in np.unique(getattr(task, side).rows[:, 0]):
            links = np.concatenate([[(-1, -1)], *(getattr(whole, name).rows for name in before)])
            own = links[links[:, 0] == source[query], 1]
            assert set(np.flatnonzero(exclude[query])) == {source[query], *own}


def test_words_are_of_the_source_and_every_view_has_the_same(both):
    _, task = both
    counts, source = task.queries.matrix("counts"), sources(task)
    assert (np.diff(counts.indptr) == WORDS).all()
    own = task.documents.matrix("counts")[source].toarray()
    drawn = counts.toarray()
    assert (drawn[drawn > 0] == own[drawn > 0]).all()
    idf = task.queries.views["raw"].idf
    assert (idf[counts.indices] > 0).all()
    for view in ("raw", "sublinear", "sublinear:10"):
        expected = weigh(counts, idf, Weighting.parse(view))
        matrix = task.queries.matrix(view)
        np.testing.assert_array_equal(matrix.toarray(), expected.toarray())
        np.testing.assert_array_equal(matrix.indices, counts.indices)
        np.testing.assert_allclose((matrix**2).sum(axis=1), 1, rtol=1e-5)
    assert task.queries.views is task.documents.views


def test_draws_of_a_document_differ_and_are_the_same_again(both, corpus_dir, tmp_path):
    _, task = both
    split = store.read(task.path).configuration["split"]
    build_task(
        corpus_dir, tmp_path / "again", split=split, queries=f"words:{WORDS}", query_draws=DRAWS
    )
    mine = task.queries.matrix("counts")
    assert (open_task(tmp_path / "again").queries.matrix("counts") != mine).nnz == 0
    source, rows = sources(task), {}
    for query in np.unique(task.train.rows[:, 0]):
        rows.setdefault(source[query], set()).add(tuple(mine[[query]].indices))
    assert np.mean([len(own) == DRAWS for own in rows.values()]) > 0.95
    test = {tuple(mine[[query]].indices) for query in np.unique(task.test.rows[:, 0])}
    assert len(test & set().union(*rows.values())) < 0.02 * len(test)


def test_more_documents_leave_the_queries_of_the_others(tmp_path):
    """A draw is keyed by title and side, and not by the place among the queries."""
    texts, links = topical(120)
    small = write_corpus(tmp_path / "small", texts, links)
    large = write_corpus(tmp_path / "large", [*texts, texts[0]], [*links, (120, 1), (1, 120)])
    drawn = []
    for corpus in (small, large):
        build_task(
            corpus, tmp_path / f"{corpus.name}-task", queries=f"words:{WORDS}", query_draws=2
        )
        task = open_task(tmp_path / f"{corpus.name}-task")
        words = np.array(task.queries.views["counts"].words)
        counts = task.queries.matrix("counts")
        test = np.unique(task.test.rows[:, 0])
        drawn.append({task.queries.ids[int(q)]: set(words[counts[[q]].indices]) for q in test})
    # The vocabulary may be in another order where frequencies changed; most are equal.
    same = [drawn[0][name] == drawn[1][name] for name in drawn[0] if name in drawn[1]]
    assert len(same) > 50
    assert np.mean(same) > 0.5


def test_short_documents_keep_what_they_have_and_are_counted(tmp_path):
    texts, links = topical()
    texts[3], texts[5], texts[7] = "", "boats1 birds2 birds2", "--"
    corpus = write_corpus(tmp_path / "corpus", texts, links)
    said = build_task(corpus, tmp_path / "task", queries=f"words:{WORDS}").counts["keywords"]
    task = open_task(tmp_path / "task")
    asked = {q for q, _ in links}
    assert {3, 5, 7} <= asked
    assert said["sources"] == len(asked)
    assert said["sources_with_fewer_words"] == 3
    assert said["sources_without_words"] == 2
    assert said["queries"]["test"] == len(np.unique(task.test.rows[:, 0]))
    lengths = np.diff(task.queries.matrix("raw").indptr)
    assert set(lengths[sources(task) == 5]) == {2}
    assert set(lengths[sources(task) == 3]) == {0}


def test_every_word_is_as_likely_as_any_other():
    counts = sparse.csr_array(np.array([[1, 0, 2, 3, 4, 5, 9]], np.float32))
    idf = np.array([1, 1, 1, 0, 2, 3, 4], np.float32)
    n = 20_000
    states = np.random.default_rng(0).integers(0, 2**64, n, np.uint64)
    drawn = draw_words(counts, idf, np.zeros(n, np.int32), 2, states)
    assert (np.diff(drawn.indptr) == 2).all()
    share = np.bincount(drawn.indices, minlength=7) / n
    np.testing.assert_allclose(share[[0, 2, 4, 5, 6]], 2 / 5, atol=0.02)
    assert share[[1, 3]].tolist() == [0, 0]
    pairs = np.unique(drawn.indices.reshape(-1, 2), axis=0, return_counts=True)[1]
    np.testing.assert_allclose(pairs / n, 1 / 10, atol=0.01)


@given(seed=st.integers(0, 1000), words=st.integers(1, 8))
def test_a_draw_is_a_subset_of_its_row(seed, words):
    rng = np.random.default_rng(seed)
    counts = sparse.csr_array(rng.integers(0, 3, (6, 9)).astype(np.float32))
    idf = rng.integers(0, 2, 9).astype(np.float32)
    rows = rng.integers(0, 6, 11).astype(np.int32)
    states = rng.integers(0, 2**64, 11, np.uint64)
    drawn = draw_words(counts, idf, rows, words, states).toarray()
    whole = counts.toarray()[rows] * (idf > 0)
    assert ((drawn == 0) | (drawn == whole)).all()
    assert ((drawn > 0).sum(axis=1) == np.minimum(words, (whole > 0).sum(axis=1))).all()


def test_draws_that_do_not_fit_are_refused(corpus_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_MEMORY", "200M")
    with pytest.raises(Refused, match=r"keyword queries takes about 55 GB .*--query-draws"):
        build_task(corpus_dir, tmp_path / "task", queries=f"words:{WORDS}", query_draws=1_000_000)


class Asked(Exception):
    """What is asked for."""


def test_what_draws_take_grows_by_pairs_queries_and_words(corpus_dir, tmp_path, monkeypatch):
    def require(stage, memory, disk, **more):
        raise Asked(memory, disk)

    monkeypatch.setattr(keywords, "require", require)
    found = {}
    for words, draws in ((4, 1), (4, 3), (8, 1), (12, 1)):
        with pytest.raises(Asked) as asked:
            build_task(
                corpus_dir, tmp_path / f"{words} {draws}", queries=f"words:{words}",
                query_draws=draws,
            )  # fmt: skip
        found[words, draws] = np.array(asked.value.args)
    assert (found[4, 3] == 3 * found[4, 1]).all()
    (no_memory, four), (_, eight) = found[8, 1] - found[4, 1], found[12, 1] - found[4, 1]
    pairs = len(open_task_pairs(corpus_dir, tmp_path / "whole"))
    assert (no_memory, eight) == (0, 2 * four)
    assert found[4, 1][1] - four == 8 * pairs


def open_task_pairs(corpus, path):
    build_task(corpus, path)
    return open_task(path).train.rows


@pytest.mark.trains
def test_models_train_and_rank_with_keyword_queries(both):
    from ssi_core.evaluation.evaluate import evaluate
    from ssi_core.models import MODELS

    _, task = both
    small = dict(dimensions=8, rates=(0.1,), epoch=500, budget=2000, search_budget=200)
    reports = {}
    for name, how in (
        ("tfidf", {}),
        ("bilinear", {"margin": 0.3, **small}),
        ("query_expansion", {"expansions": (3,), "betas": (0.5,)}),
    ):
        fit = MODELS[name](**how).fit(task, np.random.default_rng(0))
        assert fit.query_views is fit.document_views
        reports[name] = evaluate(fit, task, tuples=1000)
    words = reports["tfidf"].per_query["query_words"]
    assert words.max() == WORDS
    assert isinstance(words, pl.Series)
    assert reports["bilinear"].means["rank_loss"] < reports["tfidf"].means["rank_loss"]
