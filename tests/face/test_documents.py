"""What `read` takes: each kind of container gives the documents that it holds."""

import datetime
import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import ssi_core as ssi

ROWS = [
    {
        "id": "a",
        "title": "Car",
        "text": "a car with wheels",
        "updated": "2024-05-01T00:00:00+00:00",
    },
    {"id": "b", "title": "Moon", "text": "the moon"},
    {"id": "c", "title": "Road", "text": "a road for cars"},
]
PAIRS = [("a", "c"), ("c", "a"), ("b", "Car")]


def frames(docs):
    return docs.frame.rows(), sorted(docs.links.rows())


@pytest.fixture
def expected(tmp_path):
    (tmp_path / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    (tmp_path / "links.csv").write_text("source,target\n" + "".join(f"{a},{b}\n" for a, b in PAIRS))
    return ssi.read(tmp_path / "documents.jsonl", links=tmp_path / "links.csv")


def columns():
    names = ("id", "title", "text", "updated")
    return {name: [row.get(name) for row in ROWS] for name in names}


def dated():
    when = [datetime.datetime(2024, 5, 1), None, None]
    return pl.DataFrame({**columns(), "updated": when})


class Stream:
    """What a database or another frame gives of itself: a stream of Arrow, and nothing else."""

    def __arrow_c_stream__(self, requested_schema=None):
        return pl.DataFrame(columns()).__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "documents",
    [
        ROWS,
        columns(),
        pl.DataFrame(columns()),
        pl.LazyFrame(columns()),
        dated(),
        pd.DataFrame(columns()),
        pd.DataFrame(columns()).assign(updated=pd.to_datetime(["2024-05-01", None, None])),
        pa.table(columns()),
        Stream(),
    ],
    ids=["mappings", "columns", "polars", "lazy", "dates", "pandas", "pandas dates", "arrow", "c"],
)
def test_a_frame_is_read_like_a_file(documents, expected):
    assert frames(ssi.read(documents, links=PAIRS)) == frames(expected)


@pytest.mark.parametrize(
    "links",
    [
        PAIRS,
        np.array(PAIRS),
        pl.DataFrame(PAIRS, ["from", "to"], orient="row"),
        pd.DataFrame(PAIRS, columns=["citing", "cited"]),
        sparse.csr_array(([1, 1, 1], ([0, 2, 1], [2, 0, 0])), (3, 3)),
    ],
    ids=["pairs", "array", "polars", "pandas", "scipy"],
)
def test_links_come_in_any_container(links, expected):
    assert frames(ssi.read(ROWS, links=links)) == frames(expected)


@pytest.mark.trains
def test_a_path_may_begin_with_the_home_directory(tmp_path, monkeypatch, expected):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert ssi.read("~/documents.jsonl", links=Path("~/links.csv"), out="~/read").key
    assert frames(ssi.read("~/read")) == frames(expected)
    task = ssi.Task.of(ssi.read_sample(40), out="~/task")
    ssi.TfIdf().fit(ssi.Task.open("~/task"), checkpoint="~/state").save("~/model")
    ssi.load("~/model").index("~/read", out="~/index")
    made = {"documents.jsonl", "links.csv", "read", "task", "state", "model", "index"}
    assert made <= {path.name for path in tmp_path.iterdir()}
    assert task.path == tmp_path / "task"


def test_names_of_files_in_a_list_are_files(tmp_path, monkeypatch, expected):
    monkeypatch.chdir(tmp_path)
    assert frames(ssi.read(["documents.jsonl"], links=["links.csv"])) == frames(expected)
    assert ssi.read(["documents.jsonl", "a car"]).frame["text"][1] == "a car"


def test_a_missing_value_among_texts_is_left_out():
    docs = ssi.read(pd.Series(["a car", np.nan, pd.NA, "the moon"]))
    assert (docs.frame["id"].to_list(), docs.skipped["document_without_text"]) == (["0", "3"], 2)


@pytest.mark.parametrize("kind", [list, np.array, pl.Series, pd.Series, pa.array])
def test_texts_are_numbered_from_0(kind):
    docs = ssi.read(kind(["a car", "the moon"]), links=np.array([[0, 1]]))
    assert docs.frame["id"].to_list() == ["0", "1"]
    assert docs.links.rows() == [("0", "1")]


@pytest.mark.parametrize(
    "documents",
    [
        {"a": "a car", "b": "the moon"},
        {"a": {"text": "a car"}, "b": {"text": "the moon"}},
        {"id": ["a", "b"], "text": ["a car", "the moon"]},
    ],
    ids=["texts", "rows", "columns"],
)
def test_a_mapping_is_of_columns_or_of_ids(documents):
    docs = ssi.read(documents, links=[("a", "b")])
    assert docs.frame.select("id", "text").rows() == [("a", "a car"), ("b", "the moon")]
    assert docs.links.rows() == [("a", "b")]


@pytest.mark.parametrize(
    "documents",
    [
        pd.DataFrame({"docno": ["a", "b"], "text": ["a car", "the moon"]}).set_index("docno"),
        pd.DataFrame({"text": ["a car", "the moon"]}, index=["a", "b"]),
        pd.Series({"a": "a car", "b": "the moon"}),
        pd.DataFrame(
            {"text": ["a car", "the moon"]},
            pd.MultiIndex.from_tuples([("a", "Car"), ("b", "Moon")], names=["id", "title"]),
        ),
    ],
    ids=["named", "frame", "series", "levels"],
)
def test_an_index_of_pandas_names_documents(documents):
    assert ssi.read(documents).frame["id"].to_list() == ["a", "b"]


def test_numbers_of_rows_are_no_names():
    frame = pd.DataFrame({"text": ["a car", "nothing", "the moon"]})
    kept = frame[frame["text"] != "nothing"]
    assert ssi.read(kept).frame["id"].to_list() == ["0", "1"]
    named = frame.assign(id=["a", "b", "c"]).set_index("id", drop=False)
    assert ssi.read(named).frame["id"].to_list() == ["a", "b", "c"]


def test_a_mapping_of_one_row_is_a_row():
    assert ssi.read({"id": "a", "text": "a car"}).frame.select("id", "text").rows() == [
        ("a", "a car")
    ]


def test_whole_numbers_name_a_document_whatever_pandas_makes_of_their_column():
    texts = pd.DataFrame({"id": [1, 2, 3], "text": ["a car", "the moon", "a wheel"]})
    links = pd.DataFrame({"from": [1, 2, 3], "to": [2, 3, None]})
    assert links["to"].dtype == float
    assert ssi.read(texts, links=links).links.rows() == [("1", "2"), ("2", "3")]


@pytest.mark.parametrize(
    "kind", [list, partial(pl.DataFrame, infer_schema_length=None), pd.DataFrame]
)
def test_a_column_counts_that_most_rows_lack(kind):
    rows = [{"id": str(n), "text": f"word {n}", "title": None} for n in range(120)]
    last = {"id": "last", "text": "a car", "title": "Car"}
    if kind is list:
        rows = [{name: row[name] for name in ("id", "text")} for row in rows]
    docs = ssi.read(kind([*rows, last]))
    assert docs.frame["title"].to_list()[-1] == "Car"


def test_what_is_in_memory_counts_by_its_content(expected):
    first, again = ssi.read(ROWS, links=PAIRS), ssi.read(pl.DataFrame(ROWS), links=np.array(PAIRS))
    assert first.key == again.key != expected.key
    assert first.path == again.path
    assert ssi.read(ROWS[:2]).key != first.key


def test_numbers_are_those_of_documents_with_ids_of_another_name():
    rows = [{"docno": f"n{number}", "body": f"word {number}"} for number in range(3)]
    docs = ssi.read(rows, links=sparse.coo_array(([1], ([0], [2])), (3, 3)))
    assert docs.links.rows() == [("n0", "n2")]
    renamed = [{"number": row["docno"], "body": row["body"]} for row in rows]
    docs = ssi.read(renamed, links=[("n1", "n2")], columns={"id": "number"})
    assert docs.links.rows() == [("n1", "n2")]
    with pytest.raises(ssi.BadInput, match="documents: drop or rename the column of their ids"):
        ssi.read(rows, columns={"id": ""})


def test_a_directory_is_what_it_holds(tmp_path, expected):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "one.md").write_text("# One\n\nwords [two](two.md)")
    (tmp_path / "site" / "two.md").write_text("# Two\n\nmore words")
    assert ssi.read(tmp_path / "site").links.rows() == [("one.md", "two.md")]
    (tmp_path / "beir" / "qrels").mkdir(parents=True)
    (tmp_path / "beir" / "corpus.jsonl").write_text('{"_id": "1", "text": "a car"}\n')
    (tmp_path / "beir" / "queries.jsonl").write_text('{"_id": "q", "text": "car"}\n')
    (tmp_path / "beir" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t1\n")
    assert ssi.read(tmp_path / "beir").judged
    assert ssi.read(str(expected.path)).key == expected.key
    with pytest.raises(ssi.BadInput, match="source 'folder' takes no links"):
        ssi.read(tmp_path / "site", links=PAIRS)
    with pytest.raises(ssi.BadInput, match="links go with files"):
        ssi.read(expected.path, links=PAIRS)


@pytest.mark.parametrize(
    ("documents", "links", "message"),
    [
        ("missing.jsonl", None, "no such file"),
        ([1, 2], None, "row 0: 1 is no text"),
        (["a", "b"], [(0,)], "row 0: .0,. is no source and target"),
        (["a", "b"], sparse.eye_array(3), r"shape \(3, 3\) numbers documents, and these are 2"),
        ([], None, "empty"),
        ({"id": ["a"], "text": ["a", "b"]}, None, "columns of different lengths: id 1, text 2"),
        ({"id": 1, "text": 2}, None, "id: 1 is no column"),
        (pd.DataFrame([["a", "b"]], columns=["text", "text"]), None, "text, text: a name is there"),
    ],
)
def test_bad_input_is_named(documents, links, message):
    with pytest.raises(ssi.BadInput, match=message):
        ssi.read(documents, links=links)


def test_documents_show_themselves(expected):
    assert len(expected) == 3
    assert "documents found" in repr(expected)
    assert "<td" in expected._repr_html_()


def test_the_first_three_documents_are_shown_with_the_beginnings_of_their_texts():
    whole, longer = "x" * 157 + " ab", "y" * 157 + " abc"
    shown = ssi.read([whole, longer, "a car", "the moon"])._repr_html_()
    assert f">{whole}<" in shown
    assert f">{'y' * 157}…<" in shown
    assert ">a car<" in shown
    assert "the moon" not in shown


def test_documents_without_a_link_offer_none(expected):
    assert expected.relevant == ("link",)
    alone = ssi.read(["a car", "the moon"])
    assert (alone.relevant, alone.judged, len(alone.links)) == ((), False, 0)
    with pytest.raises(ssi.BadInput, match=r"it has no links.*relevant='self'"):
        ssi.Task.of(alone)
    with pytest.raises(ssi.BadInput, match=r"it has no links.*relevant='self'"):
        ssi.Task.of(alone, relevant="link")


def test_the_sample_is_read_once_and_has_links():
    docs = ssi.read_sample(documents=30, seed=1)
    assert docs.relevant == ("link", "anchor")
    assert ssi.read_sample(documents=30, seed=1).path == docs.path
    assert ssi.read_sample(documents=30, seed=2).key != docs.key
    with pytest.raises(ssi.BadInput, match="documents=19: expected at least 20"):
        ssi.read_sample(documents=19)
