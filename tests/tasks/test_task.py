from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ssi_core import store
from ssi_core.collection import open_collection
from ssi_core.evaluation.candidates import candidates
from ssi_core.tasks import reading
from ssi_core.tasks.frozen import freeze
from ssi_core.tasks.spec import TaskSpec
from ssi_core.tasks.split import TEST, TRAIN, VALID, side_of_documents, side_of_links
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput, Refused
from tests.corpora import topical, write_corpus
from tests.fielded import write_fielded
from tests.killing import contents
from tests.seals import reseal


@pytest.fixture
def task(task_dir):
    return open_task(task_dir)


@pytest.fixture(scope="module")
def by_document(tmp_path_factory, corpus_dir):
    out = tmp_path_factory.mktemp("by_document") / "task"
    build_task(corpus_dir, out, split="documents")
    return open_task(out)


def rows_of_links(corpus):
    """Links as rows of documents, from the corpus itself."""
    ids = open_collection(corpus).frame("documents")["id"].to_list()
    links = open_collection(corpus).frame("relations/link")
    place = {name: row for row, name in enumerate(ids)}
    return {(place[a], place[b]) for a, b in links.select("source", "target").iter_rows()}


def test_documents_are_queries_in_the_order_of_the_corpus(task):
    assert task.queries.ids is task.documents.ids
    assert task.queries.ids.to_list() == [f"d{i}" for i in range(200)]
    assert task.queries.titles.to_list() == [f"Page {i}" for i in range(200)]
    views = {"counts", "raw", "raw-sublinear", "sublinear", "sublinear:10"}
    assert set(task.queries.matrices) == views
    differ = {name for name in views if task.queries.views[name] is not task.documents.views[name]}
    assert differ == {"raw-sublinear"}
    assert {name: view.name for name, view in task.queries.views.items()} == {
        name: name for name in task.queries.matrices
    }
    assert len({view.space for view in task.queries.views.values()}) == 1


def test_every_link_is_on_the_side_that_its_titles_give(task, corpus_dir):
    links = np.array(sorted(rows_of_links(corpus_dir)))
    titles = task.queries.titles
    sides = side_of_links(titles[links[:, 0]], titles[links[:, 1]], seed=0)
    for pairs, side in ((task.train, TRAIN), (task.valid, VALID), (task.test, TEST)):
        np.testing.assert_array_equal(pairs.rows, links[sides == side])
        assert pairs.rows.dtype == np.int32
        assert len(pairs.weight) == len(pairs.grade) == len(pairs)
        assert (pairs.weight == 1).all()


def test_a_document_is_never_its_own_candidate(task):
    assert (task.exclude.toarray() == np.eye(200, dtype=bool)).all()
    assert task.pool is None
    assert task.valid_pool is None


def test_matrices_are_memory_mapped(task):
    for matrix in task.queries.matrices.values():
        for array in (matrix.data, matrix.indices, matrix.indptr):
            base = array
            while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
                base = base.base
            assert isinstance(base, np.memmap)
        assert matrix.data.dtype == np.float32
        assert matrix.indices.dtype == np.int32


def test_the_manifest_counts_what_there_is(task, task_dir, corpus_dir):
    texts, links = topical()
    said = store.read(task_dir, "task").counts
    tokens = sum(len(text.split()) for text in texts)
    assert said["documents"] == 200
    assert said["tokens"] == tokens
    assert said["out_of_vocabulary_tokens"] == 0
    assert said["empty_documents"] == 0
    assert said["words"] == said["distinct_words"] == len(task.queries.views["raw"].words)
    assert said["nonzeros"] == {n: m.nnz for n, m in task.queries.matrices.items()}
    assert sum(said["pairs"].values()) == len(links) == len(rows_of_links(corpus_dir))
    assert said["queries"]["test"] == len(np.unique(task.test.rows[:, 0]))


def test_words_out_of_the_vocabulary_are_counted(corpus_dir, tmp_path, task):
    said = build_task(corpus_dir, tmp_path / "task", words=20, views=()).counts
    small = open_task(tmp_path / "task").queries
    assert said["words"] == 20
    assert set(small.matrices) == {"counts"}
    kept = task.queries.matrix("counts")[:, :20]
    assert (small.matrix("counts") != kept).nnz == 0
    assert said["out_of_vocabulary_tokens"] == said["tokens"] - int(kept.sum())


def test_every_word_can_be_taken(corpus_dir, tmp_path, task):
    build_task(corpus_dir, tmp_path / "task", words="all", views=())
    words = open_task(tmp_path / "task").queries.views["counts"].words
    assert list(words) == list(task.queries.views["counts"].words)


def test_a_view_that_weighs_queries_otherwise_has_a_matrix_of_each_side(corpus_dir, tmp_path):
    build_task(corpus_dir, tmp_path / "task", views=("counts", "bm25"))
    task = open_task(tmp_path / "task")
    query, document = (side.matrix("bm25") for side in (task.queries, task.documents))
    assert query.nnz == document.nnz > 0
    assert not np.array_equal(query.data, document.data)


def test_documents_on_two_sides_have_no_training_link(by_document, corpus_dir):
    sides = side_of_documents(by_document.queries.titles, seed=0)
    for pairs, query, document in (
        (by_document.train, {TRAIN}, {TRAIN}),
        (by_document.valid, {VALID}, {TRAIN, VALID}),
        (by_document.test, {TEST}, {TEST}),
    ):
        assert len(pairs)
        assert set(sides[pairs.rows[:, 0]]) <= query
        assert set(sides[pairs.rows[:, 1]]) <= document
    np.testing.assert_array_equal(by_document.pool, np.flatnonzero(sides == TEST))
    np.testing.assert_array_equal(by_document.valid_pool, np.flatnonzero(sides != TEST))
    artefact = store.read(by_document.path, "task")
    crossing = artefact.skipped["links_across_the_split"]
    assert crossing + sum(artefact.counts["pairs"].values()) == len(rows_of_links(corpus_dir))


def test_both_splits_can_be_asked_for_what_neither_has_seen(
    corpus_dir, task, by_document, tmp_path
):
    both = {}
    for split in ("pairs", "documents"):
        made = build_task(corpus_dir, tmp_path / split, split=split, held_out="both")
        both[split] = open_task(tmp_path / split)
        assert made.skipped["links_held_out_once"] > 0
    # Each is trained, and stopped, as it is by itself.
    for split, alone in (("pairs", task), ("documents", by_document)):
        for side in ("train", "valid"):
            one, other = (getattr(t, side).rows for t in (both[split], alone))
            np.testing.assert_array_equal(one, other)
        one, other = (candidates(t, "valid", None, 0) for t in (both[split], alone))
        np.testing.assert_array_equal(one.excluded.items, other.excluded.items)
        np.testing.assert_array_equal(one.relevant.items, other.relevant.items)
    documents = side_of_documents(task.documents.titles, seed=0)
    held_out = {tuple(pair) for pair in task.test.rows.tolist()}
    expected = {pair for pair in held_out if all(documents[row] == TEST for row in pair)}
    seen = {tuple(p) for side in (task.train, task.valid) for p in side.rows.tolist()}
    assert expected
    for one in both.values():
        assert {tuple(pair) for pair in one.test.rows.tolist()} == expected
        asked = candidates(one, "test", None, 0)
        assert set(documents[asked.documents]) == {TEST}
        assert len(asked.outside) == 0
        for position, query in enumerate(asked.queries.tolist()):
            excluded = {query} | {b for a, b in seen if a == query and documents[b] == TEST}
            assert {int(asked.documents[c]) for c in asked.excluded.of(position)} == excluded
    # No model has learned from a pair that either is tested on.
    learned = {tuple(p) for one in both.values() for p in one.train.rows.tolist()}
    assert not learned & expected


def test_a_frozen_link_is_no_candidate_of_either_split(corpus_dir, tmp_path):
    freeze(corpus_dir, tmp_path / "frozen", queries=20, pool=60, split_seed=3)
    asked = []
    for split in ("pairs", "documents"):
        how = {"split": split, "held_out": "both", "frozen": [tmp_path / "frozen"]}
        build_task(corpus_dir, tmp_path / split, **how)
        asked.append(candidates(open_task(tmp_path / split), "test", None, 0))
    np.testing.assert_array_equal(asked[0].queries, asked[1].queries)
    for name in ("excluded", "relevant"):
        one, other = (getattr(lists, name) for lists in asked)
        np.testing.assert_array_equal(one.start, other.start)
        np.testing.assert_array_equal(one.items, other.items)


def test_test_documents_tell_nothing_about_words(tmp_path):
    texts, links = topical()
    titles = pl.Series([f"Page {i}" for i in range(len(texts))])
    unseen = np.flatnonzero(side_of_documents(titles, seed=0) == TEST)
    changed = [t + " secret secret" if i in set(unseen) else t for i, t in enumerate(texts)]
    views = []
    for name, some in (("one", texts), ("two", changed)):
        corpus = write_corpus(tmp_path / name, some, links)
        build_task(corpus, tmp_path / f"{name}-task", split="documents")
        views.append(open_task(tmp_path / f"{name}-task").queries.views["raw"])
    assert views[0].space == views[1].space
    np.testing.assert_array_equal(views[0].idf, views[1].idf)
    assert "secret" not in views[1].words


def test_a_large_corpus_has_a_pool(corpus_dir, tmp_path):
    build_task(corpus_dir, tmp_path / "task", pool=50)
    build_task(corpus_dir, tmp_path / "other", pool=50, split_seed=1)
    pool, other = open_task(tmp_path / "task").pool, open_task(tmp_path / "other").pool
    assert len(pool) == len(set(pool)) == 50
    assert pool.dtype == np.int32
    assert (np.diff(pool) > 0).all()
    assert pool.tolist() != other.tolist()


def test_a_second_build_finds_it_up_to_date(corpus_dir, tmp_path):
    out = tmp_path / "task"
    first = build_task(corpus_dir, out, views=("raw", "counts"))
    written = (out / store.MANIFEST).stat().st_mtime_ns
    again = build_task(corpus_dir, out, views=("counts", "raw", "raw"))
    assert again.key == first.key
    assert (out / store.MANIFEST).stat().st_mtime_ns == written
    with pytest.raises(Refused, match="Remove it"):
        build_task(corpus_dir, out, views=("raw",), words=10)
    assert build_task(corpus_dir, out, views=("raw",), words=10, force=True).counts["words"] == 10


def test_every_setting_is_in_the_key(corpus_dir, tmp_path):
    settings = [
        {},
        {"words": 7},
        {"words": "all"},
        {"split": "documents"},
        {"views": ("raw",)},
        {"split_seed": 1},
        {"pool": 5},
        {"queries": "words:3"},
        {"queries": "words:3", "query_draws": 2},
        {"held_out": "both"},
    ]
    keys = {build_task(corpus_dir, tmp_path / str(i), **one).key for i, one in enumerate(settings)}
    assert len(keys) == len(settings)


def test_progress_rises_to_the_end(corpus_dir, tmp_path):
    seen = []
    build_task(corpus_dir, tmp_path / "task", progress=lambda *step: seen.append(step))
    fractions = [fraction for fraction, _ in seen]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1
    assert {message for _, message in seen} == {"words", "vocabulary", "views"}


def test_an_empty_document_is_an_empty_row_and_counted(tmp_path):
    texts, links = topical()
    texts[3], texts[4] = "", "--- ! ---"
    corpus = write_corpus(tmp_path / "corpus", texts, links)
    assert build_task(corpus, tmp_path / "task").counts["empty_documents"] == 2
    counts = open_task(tmp_path / "task").queries.matrix("raw")
    assert np.flatnonzero(np.diff(counts.indptr) == 0).tolist() == [3, 4]


def test_languages_without_spaces(tmp_path):
    _, links = topical()
    texts = [f"京都市の{'寺' if i % 2 else '駅'}とタワー{i}" for i in range(200)]
    corpus = write_corpus(tmp_path / "corpus", texts, links, language="ja")
    build_task(corpus, tmp_path / "task")
    queries = open_task(tmp_path / "task").queries
    assert {"京都", "市", "寺", "駅", "タワー"} < set(queries.views["raw"].words)
    rows = queries.views["raw"].transform(texts)
    assert (rows != queries.matrix("raw")).nnz == 0


def links_of(n):
    return [(i, (i + k) % n) for i in range(n) for k in (1, 2, 3)]


@pytest.mark.parametrize(
    ("texts", "links", "said"),
    [
        ([], [], "no documents"),
        (["a b", "b c"], [], "it has no links"),
        (["a b", "b c"], [(0, 1)], "none is left for"),
        (["word"] * 100, links_of(100), "1 words"),
        ([" "] * 100, links_of(100), "0 words"),
        (["same two"] * 100, links_of(100), "nothing can be weighed"),
    ],
)
def test_a_corpus_that_cannot_be_a_task(tmp_path, texts, links, said):
    corpus = write_corpus(tmp_path / "corpus", texts, links)
    with pytest.raises(BadInput, match=said):
        build_task(corpus, tmp_path / "task")
    assert not (tmp_path / "task").exists()


def test_one_word_that_some_documents_have_is_enough(tmp_path):
    texts = ["word" if i % 2 else "" for i in range(100)]
    corpus = write_corpus(tmp_path / "corpus", texts, links_of(100))
    build_task(corpus, tmp_path / "task")
    assert open_task(tmp_path / "task").queries.matrix("raw").nnz == 50


def test_a_link_to_no_document_is_refused(tmp_path):
    corpus = write_corpus(tmp_path / "corpus", ["a", "b"], [(0, 1), (0, 7)])
    with pytest.raises(BadInput, match="1 links have an end that is no document"):
        build_task(corpus, tmp_path / "task")


@pytest.mark.parametrize("kind", ["link", "mates", "fields", "words"])
def test_what_is_counted_in_parts_is_what_is_counted_at_once(
    corpus_dir, mates, tmp_path, monkeypatch, kind
):
    """Parts are counted as a cluster does it, each into a directory of its own."""
    hashed = "cfh:k=3,words=20,ngrams=1"
    collection, how = {
        "link": (corpus_dir, {"views": ["counts", hashed]}),
        "mates": (mates, {"relevant": "translation", "vocabularies": "two"}),
        "fields": (write_fielded(tmp_path / "fielded", 60), {"fields": ("text", "url")}),
        "words": (corpus_dir, {"queries": "words:2", "views": ["counts", hashed]}),
    }[kind]
    build_task(collection, tmp_path / "at_once", **how)
    queries = open_task(tmp_path / "at_once").queries
    assert all(queries.matrix(name).nnz for name in how.get("views", ()))
    monkeypatch.setattr("ssi_core.tasks.texts.LOCAL", "elsewhere")
    build_task(collection, tmp_path / "in_parts", **how)
    assert contents(tmp_path / "in_parts") == contents(tmp_path / "at_once")


def test_a_corpus_without_its_parts_is_refused(tmp_path):
    corpus = write_corpus(tmp_path / "corpus", *topical(20))
    for part in (corpus / "documents").iterdir():
        part.unlink()
    reseal(corpus)
    with pytest.raises(BadInput, match=r"part-\*\.parquet"):
        build_task(corpus, tmp_path / "task")


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"words": 0}, "words=0"),
        ({"split": "lines"}, "'pairs', 'documents'"),
        ({"pool": -1}, "pool=-1"),
        ({"held_out": "once"}, "'split' or 'both'"),
        ({"held_out": "both", "cold": 0.2}, "none of them cold"),
        ({"held_out": "both", "split": "queries"}, "expected 'pairs' or 'documents'"),
        ({"held_out": "both", "queries": "words:3"}, "queries='documents'"),
        ({"views": ("tfidf",)}, "counts, raw, sublinear, binary"),
    ],
)
def test_a_wrong_setting_is_named(corpus_dir, tmp_path, setting, said):
    with pytest.raises(ValueError, match=said):
        build_task(corpus_dir, tmp_path / "task", **setting)


def test_blocks_of_any_size_give_one_matrix(corpus_dir, tmp_path, task, monkeypatch):
    from ssi_core.views import counting, lexicon

    monkeypatch.setattr(lexicon.batches, "__defaults__", (900,))
    monkeypatch.setattr(counting.row_blocks, "__defaults__", (70,))
    build_task(corpus_dir, tmp_path / "task")
    small = open_task(tmp_path / "task").queries
    for name in ("counts", "raw", "sublinear"):
        assert small.matrix(name).data.tobytes() == task.queries.matrix(name).data.tobytes()
        assert small.matrix(name).indices.tolist() == task.queries.matrix(name).indices.tolist()


def test_nothing_provisional_is_left(task_dir):
    assert sorted(p.name for p in (task_dir / "matrices").iterdir()) == [
        "counts",
        "raw",
        "raw-sublinear",
        "sublinear",
        "sublinear-10",
    ]


def test_choices_are_what_differs_from_the_defaults_so_that_a_new_setting_changes_none():
    class Later(TaskSpec):
        shortest: int = 0

    chosen = {"relevant": "click", "split": "time", "split_seed": 3}
    assert Later(**chosen).choices() == TaskSpec(**chosen).choices() == chosen
    assert TaskSpec(relevant="judgement", split="queries", pool=0).choices() == {
        "relevant": "judgement"
    }
    assert Later(relevant="link", shortest=2).choices() == {"relevant": "link", "shortest": 2}


def test_texts_in_several_languages_are_named_up_to_five():
    every = pl.Series(["de", "en", "fr", "it", "ja", "zh", "en"])
    said = r"^queries: texts in 6 languages \(de, en, fr, it, ja\); one vocabulary has one\."
    with pytest.raises(BadInput, match=said):
        reading.language_of(Path("queries"), every)
    assert reading.language_of(Path("queries"), every[1:2]) == "en"
    assert reading.language_of(Path("queries"), pl.Series([None], dtype=pl.String)) == ""
