import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssi_core.tasks.task import open_task
from ssi_core.text import tokenizer
from ssi_core.types import BadInput
from ssi_core.views import text_view as views
from ssi_core.views.lexicon import Vocabulary
from ssi_core.views.statistics import Statistics
from ssi_core.views.text_view import TextView, load_view
from ssi_core.views.weighting import Weighting
from tests.corpora import topical


def view_of(words, name="raw", language="en"):
    statistics = Statistics(np.linspace(0.5, 2, len(words), dtype=np.float32), 100, 10.0)
    return TextView(language, Vocabulary(pl.Series(words)), statistics, Weighting.parse(name))


@pytest.fixture
def view():
    return view_of(["the", "cat", "sat", "été"], "sublinear:2")


def test_raw_texts_give_the_rows_of_the_task_bit_by_bit(task_dir):
    task = open_task(task_dir)
    texts, _ = topical()
    for name, view in task.queries.views.items():
        rows = view.transform(texts)
        kept = task.queries.matrix(name)
        assert rows.data.tobytes() == kept.data.tobytes()
        assert rows.indices.tolist() == kept.indices.tolist()
        assert rows.indptr.tolist() == kept.indptr.tolist()
        one = view.transform(texts[17:18])
        assert one.data.tobytes() == kept[17:18].data.tobytes()


def test_no_text_and_unknown_words_are_empty_rows(view):
    assert view.transform([]).shape == (0, 4)
    rows = view.transform(["", "nothing known here", "été"])
    assert np.diff(rows.indptr).tolist() == [0, 0, 1]


def test_saving_and_loading_is_the_identity(view, tmp_path):
    view.save(tmp_path / "view")
    loaded = load_view(tmp_path / "view")
    assert (loaded.name, loaded.language, loaded.space) == (view.name, view.language, view.space)
    assert list(loaded.words) == list(view.words)
    np.testing.assert_array_equal(loaded.idf, view.idf)
    texts = ["the cat, the ÉTÉ", "sat"]
    assert (loaded.transform(texts) != view.transform(texts)).nnz == 0


def test_spaces_of_equal_size_are_told_apart():
    words = ["a", "b", "c"]
    space = view_of(words).space
    assert view_of(words, "sublinear:2").space == space
    assert view_of(["a", "c", "b"]).space != space
    assert view_of(["a", "b", "d"]).space != space
    assert view_of(words, language="ja").space != space


def test_another_version_of_the_tokenizer_is_another_space(view, monkeypatch):
    space = view.space
    monkeypatch.setattr(tokenizer, "VERSION", tokenizer.VERSION + 1)
    assert view_of(list(view.words)).space != space


def test_views_on_one_vocabulary_differ_in_name_alone(view):
    other = view.named("counts")
    assert (other.name, other.space) == ("counts", view.space)
    assert other.transform(["cat cat"]).toarray().tolist() == [[0, 2, 0, 0]]
    assert view.name == "sublinear:2"


def test_unknown_words_do_not_pile_up(view, monkeypatch):
    monkeypatch.setattr(views, "_MOST_UNKNOWN", 10)
    for i in range(50):
        row = view.transform([f"cat unknown{i} u{i}"])
        assert row.indices.tolist() == [1]
    assert len(view._counter._lexicon) <= 4 + 10 + 2


@given(st.lists(st.text(), max_size=5))
def test_any_text_has_a_row(texts):
    rows = view_of(["a", "b", "1", "é"]).transform(texts)
    assert rows.shape == (len(texts), 4)


def test_a_lone_surrogate_is_a_separator(view):
    assert view.transform(["cat\ud800sat"]).nnz == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: (d / "view.json").write_text("{"), "not JSON"),
        (lambda d: (d / "words.parquet").unlink(), r"words\.parquet: No such file"),
        (lambda d: (d / "words.parquet").write_bytes(b"PAR1"), r"words\.parquet: parquet:"),
        (lambda d: (d / "idf.npy").unlink(), "idf.npy"),
        (lambda d: np.save(d / "idf.npy", np.ones(1, np.float32)), "idf.npy: .*expected float32"),
        (
            lambda d: pl.DataFrame({"word": ["x"] * 4}).write_parquet(d / "words.parquet"),
            "words were changed",
        ),
        (
            lambda d: np.save(d / "idf.npy", -np.ones(4, np.float32)),
            "expected at least 0",
        ),
    ],
)
def test_a_damaged_view_is_refused_with_its_file(view, tmp_path, change, said):
    view.save(tmp_path)
    change(tmp_path)
    with pytest.raises(BadInput, match=said):
        load_view(tmp_path)
