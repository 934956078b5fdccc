"""Fields of the documents of a task: what is read of them, and what must not be seen."""

import numpy as np
import polars as pl
import pytest

from ssi_core.collection import open_collection
from ssi_core.tasks.build import build_task
from ssi_core.tasks.fields import field_parts
from ssi_core.tasks.reading import fields_in
from ssi_core.tasks.split import TRAIN, side_of_documents
from ssi_core.tasks.task import open_task
from ssi_core.tasks.unseen import documents_of, texts_in_views
from ssi_core.text.fields import FIELDS, SHORT, join, split, take
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import DERIVED_VIEWS
from ssi_core.views.fields import of_field
from tests.fielded import word, write_fielded

ALL = {"words": "all", "fields": FIELDS}
N = 121


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return write_fielded(tmp_path_factory.mktemp("fielded") / "collection", N)


@pytest.fixture(scope="module")
def built(place, tmp_path_factory):
    """Make a task of the collection; its directory and its fields in one frame."""
    made = {}

    def build(**fields):
        name = str(sorted(fields.items()))
        if name not in made:
            out = tmp_path_factory.mktemp("task") / "task"
            build_task(place, out, **{**ALL, **fields})
            parts = field_parts(out)
            made[name] = out, pl.concat(map(pl.read_parquet, parts)) if parts else None
        return made[name]

    return build


def column(view, name):
    """Column of a word."""
    return list(view.words).index(name)


def keys(texts):
    """Texts as the tokenizer splits them."""
    return {" ".join(tokenize(text)) for text in texts} - {""}


def test_words_of_every_field_are_known(built):
    task = open_task(built(relevant="link")[0])
    words = set(task.documents.views["counts"].words)
    for start in (1000, 2000, 3000, 4000):
        assert {word(start + i) for i in range(N)} <= words


def test_counts_are_those_of_the_fields_that_a_document_has_itself(built, place):
    out, fields = built(relevant="link")
    task = open_task(out)
    counts, view = task.documents.matrix("counts"), task.documents.views["counts"]
    texts = open_collection(place).documents.collect()["text"]
    for i in (0, 61, N - 1):
        row = fields.row(i, named=True)
        tokens = tokenize("\n".join([texts[i], row["title"], row["headings"], row["url"]]))
        expected = np.zeros(len(view.words), np.float32)
        for token in tokens:
            expected[column(view, token)] += 1
        np.testing.assert_array_equal(counts[[i]].toarray()[0], expected)


def test_each_short_field_has_columns_of_its_own(built):
    out, fields = built(relevant="link")
    task = open_task(out)
    short, view = task.documents.matrix("fields"), task.documents.views["fields"]
    for name in SHORT:
        counts = of_field(short, name)
        for i in (3, 77):
            tokens = tokenize(fields[name][i])
            expected = np.zeros(len(view.words), np.float32)
            for token in tokens:
                expected[column(view, token)] += 1
            np.testing.assert_array_equal(counts[[i]].toarray()[0], expected)


def test_raw_documents_have_the_rows_of_a_task_that_hides_nothing(built, place):
    # The words of documents answer queries that are words of them: no field is hidden.
    out, _ = built(relevant="self", queries="words:3", views=("counts", "raw", "sublinear"))
    task = open_task(out)
    raw = documents_of(open_collection(place))
    read = texts_in_views(raw, task.documents.views)
    for name in ("counts", "raw", "sublinear", "fields"):
        ours, theirs = read.matrix(name), task.documents.matrix(name)
        for part in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(ours, part), getattr(theirs, part))


def test_a_task_of_texts_alone_reads_no_field_of_raw_documents(place, tmp_path):
    build_task(place, tmp_path / "task", relevant="link", words="all")
    task = open_task(tmp_path / "task")
    assert "fields" not in task.documents.views
    read = texts_in_views(documents_of(open_collection(place)), task.documents.views)
    ours, theirs = read.matrix("counts"), task.documents.matrix("counts")
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray())


def test_titles_that_are_asked_stand_in_no_field_of_their_document(built):
    out, fields = built(relevant="self")
    task = open_task(out)
    texts = task.queries.titles.to_list()
    names = [{f"Title{i} of {word(1000 + i)}", word(5000 + i)} for i in range(N)]
    assert keys(texts) == set().union(*map(keys, names))
    for i in range(N):
        row = fields.row(i, named=True)
        entries = [
            *row["headings"].split("\n"), *row["anchors"].split("\n"), *row["url"].split("/"),
            *row["title"].split("\n"),
        ]  # fmt: skip
        assert not keys(entries) & keys(names[i])
        # What is no name of the document stays.
        assert f"About {word(2000 + i)}" in row["headings"]
        assert word(3000 + i) in row["url"]
        assert f"see {word(6000 + i)}" in row["anchors"]


def test_held_out_wordings_stand_in_no_field(built, place):
    out, fields = built(relevant="anchor")
    task = open_task(out)
    seen = {name: keys(pl.Series(task.queries.titles)[np.unique(side.rows[:, 0])])
            for name, side in (("valid", task.valid), ("test", task.test))}  # fmt: skip
    shown = keys(line for text in fields["anchors"] for line in text.split("\n"))
    assert shown
    assert not shown & (seen["valid"] | seen["test"])


@pytest.mark.parametrize("relevant", ["link", "anchor"])
def test_wordings_are_divided_by_their_normalised_string(built, relevant):
    _, fields = built(relevant=relevant)
    shown = pl.Series(sorted(keys(line for text in fields["anchors"] for line in text.split("\n"))))
    assert len(shown) > N
    assert (side_of_documents(shown, seed=0) == TRAIN).all()


def test_anchors_of_held_out_links_stand_in_no_field(built):
    out, fields = built(relevant="link")
    task = open_task(out)
    training = {tuple(pair) for pair in task.train.rows.tolist()}
    for i in range(N):
        here = set(fields["anchors"][i].split("\n"))
        for k in range(1, 6):
            if ((i - k) % N, i) not in training:
                assert word(7000 + 10 * i + k) not in here
    assert sum(text != "" for text in fields["anchors"]) > N // 2


def test_no_training_reads_the_words_of_links(built):
    of_links = {word(7000 + 10 * i + k) for i in range(N) for k in range(1, 6)}
    for relevant in ("link", "anchor"):
        task = open_task(built(relevant=relevant)[0])
        view = task.documents.views["counts"]
        alone = [n for n, one in enumerate(view.words) if one in of_links]
        assert alone
        for name, matrix in task.documents.matrices.items():
            if name not in DERIVED_VIEWS:
                assert matrix[:, alone].nnz == 0


def test_document_frequencies_are_over_the_union_of_the_fields(built):
    out, _ = built(relevant="link")
    task = open_task(out)
    view, short = task.documents.views["counts"], task.documents.matrix("fields")
    both = task.documents.matrix("counts") + of_field(short, "anchors")
    df = np.bincount(both.indices, minlength=both.shape[1])
    known = df > 0
    np.testing.assert_allclose(view.idf[known], np.log(N / df[known]), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        (("title",), "expected 'text' among them"),
        (("text", "titel"), "no field 'titel'"),
    ],
)
def test_fields_that_mean_nothing_are_refused(place, fields, problem):
    with pytest.raises(ValueError, match=problem):
        build_task(place, relevant="link", fields=fields)


def test_a_separator_in_a_field_cannot_move_words_to_another():
    document = join(text="a\x1fb", title="c\x1fd", anchors="e")
    assert split(document) == {
        "text": "a b", "title": "c d", "headings": "", "url": "", "anchors": "e",
    }  # fmt: skip
    assert take("plain", ("title",)) == ""


def test_a_title_that_was_made_of_the_text_is_no_field(tmp_path):
    made = {
        "a": ("some words of a text that has more than sixty letters, so", None),
        "7": ("", "7"),
        "8": ("8", "Eight"),
        "b": ("Given", "Given"),
    }
    rows = [{"id": name, "title": title, "text": f"{begin} and more"}
            for name, (begin, title) in made.items()]  # fmt: skip
    part = tmp_path / "part-00000.parquet"
    frame = pl.DataFrame(rows, schema=dict.fromkeys(("id", "title", "text"), pl.String))
    beginnings = frame["text"].str.slice(0, 60)
    frame = frame.with_columns(pl.col("title").fill_null(beginnings), url=pl.lit(None, pl.String))
    frame.write_parquet(part)
    assert fields_in(part)["title"].to_list() == ["", "", "Eight", "Given"]
