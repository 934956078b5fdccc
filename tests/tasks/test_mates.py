import numpy as np
import polars as pl
import pytest

from ssi_core import store
from ssi_core.collection import open_collection
from ssi_core.tasks.kinds import only_relevant
from ssi_core.tasks.linked import read_linked
from ssi_core.tasks.split import TEST, TRAIN, VALID, side_of_documents
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput
from tests.corpora import topical, write_mates
from tests.seals import reseal


@pytest.fixture
def tasks(mates_task_dirs):
    return {relevant: open_task(path) for relevant, path in mates_task_dirs.items()}


def sides_of(task):
    return side_of_documents(task.documents.titles, seed=0)


def test_the_mate_of_a_query_is_its_answer(tasks):
    task = tasks["mate"]
    sides = sides_of(task)
    for pairs, side in ((task.train, TRAIN), (task.valid, VALID), (task.test, TEST)):
        own = np.flatnonzero(sides[:197] == side)
        np.testing.assert_array_equal(pairs.rows, np.column_stack([own, own]))
    assert task.exclude.nnz == 0
    assert task.exclude.shape == (197, 200)
    assert task.pool is None
    assert set(task.auxiliary) == {"monolingual", "monolingual_queries"}


def test_what_the_mate_links_to_is_the_answer_and_the_mate_never(tasks):
    task = tasks["link"]
    sides = sides_of(task)
    links = {(a, b) for a, b in topical()[1] if a < 197}
    for pairs, side in ((task.train, TRAIN), (task.valid, VALID), (task.test, TEST)):
        expected = sorted((a, b) for a, b in links if sides[a] == side)
        assert list(map(tuple, pairs.rows.tolist())) == expected
    np.testing.assert_array_equal(task.exclude.toarray(), np.eye(197, 200, dtype=bool))


def test_links_are_those_of_the_translation_whatever_its_number(tmp_path):
    mates = write_mates(tmp_path / "mates")
    for part in (mates / "relations" / "translation").glob("*.parquet"):
        number = pl.col("source").str.strip_prefix("d").cast(pl.Int64) + 1
        pl.read_parquet(part).with_columns(target=pl.format("d{}", number)).write_parquet(part)
    reseal(mates)
    build_task(mates, tmp_path / "task", relevant="translation > link")
    task = open_task(tmp_path / "task")
    found = np.concatenate([pairs.rows for pairs in (task.train, task.valid, task.test)])
    expected = {(a - 1, b) for a, b in topical()[1] if 1 <= a <= 197}
    assert set(map(tuple, found.tolist())) == expected
    # A frozen set is drawn from the same pairs, but for those of a translation and its text.
    drawn = read_linked(mates, "translation > link").pairs
    assert set(map(tuple, drawn.tolist())) == {(a, b) for a, b in expected if b != a + 1}


def test_further_tasks_are_on_the_sides_of_the_articles(tasks):
    task = tasks["link"]
    np.testing.assert_array_equal(task.auxiliary["mates"].train.rows, tasks["mate"].train.rows)
    other = task.auxiliary["monolingual"]
    assert other.queries is task.documents
    sides = sides_of(task)
    assert set(sides[other.train.rows[:, 0]]) == {TRAIN}
    assert set(sides[other.test.rows[:, 0]]) == {TEST}
    total = sum(len(pairs) for pairs in (other.train, other.valid, other.test))
    assert total == len(topical()[1])
    np.testing.assert_array_equal(other.exclude.toarray(), np.eye(200, dtype=bool))


def test_the_queries_own_links_lead_to_queries_of_training(tasks):
    for task in tasks.values():
        own = task.auxiliary["monolingual_queries"]
        sides = sides_of(task)[:197]
        trained = np.flatnonzero(sides == TRAIN)
        assert own.queries is task.queries
        assert own.documents.ids.to_list() == [f"d{i}" for i in trained]
        for pairs, side in ((own.train, TRAIN), (own.valid, VALID), (own.test, TEST)):
            rows = np.column_stack([pairs.rows[:, 0], trained[pairs.rows[:, 1]]]).tolist()
            links = [(a, b) for a, b in topical()[1] if max(a, b) < 197 and sides[b] == TRAIN]
            assert list(map(tuple, rows)) == sorted((a, b) for a, b in links if sides[a] == side)
        excluded = own.exclude.toarray()
        assert excluded.shape == (197, len(trained))
        np.testing.assert_array_equal(np.argwhere(excluded)[:, 0], trained)
        np.testing.assert_array_equal(np.argwhere(excluded)[:, 1], np.arange(len(trained)))


def test_a_query_with_two_mates_is_on_the_later_side(tmp_path):
    found = write_mates(tmp_path / "mates")
    sides = side_of_documents(pl.Series([f"Page {i}" for i in range(200)]), seed=0)
    first, last = (int(np.flatnonzero(sides == side)[0]) for side in (TRAIN, TEST))
    with_translation(found, f"d{first}", f"d{last}")
    build_task(found, tmp_path / "task", relevant="translation", views=())
    task = open_task(tmp_path / "task")
    assert first not in task.train.rows[:, 0]
    assert task.test.rows[task.test.rows[:, 0] == first, 1].tolist() == sorted([first, last])


def test_articles_of_the_test_tell_nothing_about_words(tasks):
    task = tasks["mate"]
    kept = sides_of(task)[:197] != TEST
    counts = task.queries.matrix("counts")[np.flatnonzero(kept)]
    occurring = (counts > 0).sum(axis=0)
    np.testing.assert_allclose(
        task.queries.views["raw"].idf, np.log(kept.sum() / occurring), rtol=1e-6
    )
    assert occurring.min() > 0


def test_a_translated_query_has_the_columns_of_the_documents(tasks):
    task = tasks["link"]
    view, plain = task.queries.views["dictionary.raw"], task.documents.views["raw"]
    assert view.space == plain.space == task.documents.views["dictionary.raw"].space
    rows, documents = task.queries.matrix("dictionary.raw"), task.documents.matrix("raw")
    assert rows.shape == (197, documents.shape[1])
    assert (task.documents.matrix("dictionary.raw") != documents).nnz == 0
    # Words of the subjects are translated, common ones are not, and both weigh in the documents.
    known = [
        i for i, word in enumerate(plain.words) if word.startswith("stars") and word != "stars"
    ]
    assert rows[[5]][:, known].nnz == documents[[5]][:, known].nnz > 0
    unknown = [i for i, word in enumerate(plain.words) if word.startswith("common")]
    assert rows[:, unknown].nnz == 0


def test_titles_are_cut_out(tasks):
    task = tasks["link"]
    words = task.queries.views["raw"].words
    titles = [i for i, word in enumerate(words) if word.startswith("titulo")]
    assert titles
    assert task.queries.matrix("raw")[:, titles].nnz > 0
    cut = task.queries.matrix("untitled.raw")
    assert cut[:, titles].nnz == 0
    assert cut.nnz == task.queries.matrix("raw").nnz - task.queries.matrix("raw")[:, titles].nnz


def test_translations_can_be_given(mates, tmp_path):
    texts, _ = topical()
    given = pl.DataFrame({"id": [f"d{i}" for i in range(150)], "text": texts[:150]})
    given.write_parquet(tmp_path / "translated.parquet")
    artefact = build_task(
        mates,
        tmp_path / "task",
        views=("translated.raw",),
        translations=tmp_path / "translated.parquet",
        relevant="translation > link",
    )
    task = open_task(tmp_path / "task")
    same = (
        task.queries.matrix("translated.raw")[:150] != task.documents.matrix("translated.raw")[:150]
    )
    assert same.nnz == 0
    assert artefact.skipped["queries_without_given_translation"] == 47
    assert task.queries.matrix("translated.raw")[150:].nnz == 0


def test_views_that_have_nothing_to_read_are_refused(mates, tmp_path):
    bare = write_mates(tmp_path / "bare", dictionary=False)
    with pytest.raises(BadInput, match="no dictionary"):
        build_task(
            bare, tmp_path / "task", views=("dictionary.raw",), relevant="translation > link"
        )
    with pytest.raises(BadInput, match="--translations"):
        build_task(
            mates, tmp_path / "task", views=("translated.raw",), relevant="translation > link"
        )
    with pytest.raises(ValueError, match="none is hashed"):
        build_task(
            mates,
            tmp_path / "task",
            views=("cfh:k=5,words=10,ngrams=1",),
            relevant="translation > link",
        )
    with pytest.raises(ValueError, match="relevant='links'"):
        build_task(mates, tmp_path / "task", relevant="links")


def test_who_has_translations_says_what_is_relevant(mates):
    with pytest.raises(BadInput, match=r"which documents are relevant\? Say so: .*relevant=.* or "):
        only_relevant(open_collection(mates))


def test_a_translation_that_is_no_document_is_told(tmp_path):
    wrong = with_translation(write_mates(tmp_path / "mates"), "d1", "nobody")
    with pytest.raises(BadInput, match="1 translations have an end that is no text"):
        build_task(wrong, tmp_path / "task", relevant="translation > link")


def with_translation(path, query, document):
    """Add a translation to a collection."""
    part = path / "relations" / "translation" / "part-00000.parquet"
    pair = pl.DataFrame({"source": [query], "target": [document]})
    pl.concat([pl.read_parquet(part), pair]).write_parquet(part)
    reseal(path)
    return path


def test_counts_and_what_is_left_out(mates_task_dirs):
    said = store.read(mates_task_dirs["link"], "task")
    assert said.counts["documents"] == 200
    assert said.counts["query_texts"]["documents"] == 197
    assert said.skipped["queries_without_translation"] == 3
    without = sum(max(a, b) >= 197 for a, b in topical()[1])
    assert said.skipped["query_links_without_translation"] == without > 0
    assert sum(said.counts["mates_pairs"].values()) == 197
    assert said.counts["pairs"]["test"] > 0
