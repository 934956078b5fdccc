"""JSON: objects on lines or in an array, and lists in them that unfold to rows."""

import gzip
import json

import polars as pl
import pytest

from ssi_core.corpus.tables import json_rows, reader
from ssi_core.corpus.tables.form import TableForm
from ssi_core.corpus.tables.reader import header_of, read_rows
from ssi_core.types import BadInput
from tests.sources import ingest

COLUMNS = ["query", "label", "clicks"]
QUERIES = [
    {"query": "hay", "clicks": 7, "results": [{"label": "a", "clicks": 5}, {"label": "b"}]},
    {"query": "oats", "results": []},
    {"query": "bran", "clicks": 1, "results": [{"label": "c", "query": "Bran"}]},
]
ROWS = [(1, "hay", "a", "5"), (1, "hay", "b", "7"), (3, "Bran", "c", "1")]


def read(path, each="results", columns=COLUMNS):
    return pl.concat(
        read_rows(path, dict(zip(columns, columns, strict=True)), TableForm(each=each))
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.json", json.dumps(QUERIES, indent=2)),
        ("log.json", "\ufeff  " + json.dumps(QUERIES)),
        ("log.json", "".join(json.dumps(one) + "\n" for one in QUERIES)),
        ("log.jsonl.gz", "".join(json.dumps(one) + "\n" for one in QUERIES)),
        ("log.json.gz", json.dumps(QUERIES)),
    ],
)
def test_a_list_unfolds_to_rows_and_what_they_lack_is_around_them(tmp_path, name, text):
    data = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    found = read(tmp_path / name)
    assert found.select("line", *COLUMNS).rows() == ROWS
    assert found["category"].null_count() == len(found)
    assert found["raw"][0] == '{"label": "a", "clicks": 5}'


def test_an_array_is_read_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(json_rows, "_OBJECTS", 2)
    path = tmp_path / "log.json"
    path.write_text(json.dumps([{"query": n, "label": "x", "clicks": n} for n in range(5)]))
    blocks = list(read_rows(path, dict(zip(COLUMNS, COLUMNS, strict=True))))
    assert [len(block) for block in blocks] == [2, 2, 1]
    assert pl.concat(blocks)["line"].to_list() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_key_that_the_last_object_alone_has_is_a_column(tmp_path, monkeypatch, end):
    monkeypatch.setattr("ssi_core.corpus.tables.lines.BLOCK_BYTES", 1 << 10)
    path = tmp_path / "late.jsonl"
    lines = [json.dumps({"query": "hay"})] * 200 + [json.dumps({"query": "oats", "label": "a"})]
    path.write_text("\n".join(lines) + end)
    assert header_of(path) == ["query", "label"]
    found = read(path, each="", columns=["query", "label"])
    assert found["label"].drop_nulls().to_list() == ["a"]
    with pytest.raises(BadInput, match="no object has the key 'clicks'"):
        read(path, each="", columns=["query", "clicks"])


def test_what_is_no_row_has_its_reason(tmp_path):
    path = tmp_path / "log.json"
    wrong = [QUERIES[0], "hay", {"query": "oats"}, {"query": "x", "results": [3, {"label": "c"}]}]
    path.write_text(json.dumps(wrong))
    found = read(path).filter(pl.col("category").is_not_null())
    assert found.select("line", "problem", "raw").rows() == [
        (2, "no JSON object", "hay"),
        (3, "no list 'results' ([log] each)", '{"query": "oats"}'),
        (4, "no JSON object", "3"),
    ]


def test_half_a_letter_is_replaced_and_the_other_rows_are_read(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"query": "hay", "label": "\\ud83d", "clicks": 1}\n' + json.dumps(QUERIES[0]))
    assert read(path, "").select("query", "label").rows() == [("hay", "\ufffd"), ("hay", None)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "it is empty"),
        ('[{"query": 1},', "no JSON: .*Repair the file"),
        (
            '[{"query": 1, "results": [{"labels": 2, "clicks": 3}]}]',
            "no object has the key 'label'",
        ),
    ],
)
def test_a_bad_array_is_refused(tmp_path, text, message):
    path = tmp_path / "log.json"
    path.write_text(text)
    with pytest.raises(BadInput, match=message):
        read(path)


def test_an_array_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(json_rows, "LARGEST_ARRAY", 100)
    path = tmp_path / "log.json"
    path.write_text(json.dumps(QUERIES))
    with pytest.raises(BadInput, match=r"Write an object on each line instead: jq -c '\.\[\]'"):
        read(path)


@pytest.mark.parametrize("array", [False, True])
def test_a_key_that_comes_after_the_first_objects_is_named_and_can_be_said(
    tmp_path, monkeypatch, caplog, array
):
    monkeypatch.setattr(reader, "_BEGINNING", 2)
    rows = [{"id": n, "text": f"word {n}"} for n in range(3)]
    rows[-1] |= {"permalink": "https://x.org/2", "colour": "red"}
    path = tmp_path / "late.json"
    path.write_text(json.dumps(rows) if array else "\n".join(map(json.dumps, rows)))

    built = ingest("table", [path], out=tmp_path / "guessed")
    assert "url" not in built.counts["columns"]
    assert "late.json: not read: permalink" in caplog.text
    assert "columns={'url': 'permalink'}" in caplog.text
    assert "colour" not in caplog.text

    caplog.clear()
    said = {"columns": {"url": "permalink"}}
    built = ingest("table", [path], out=tmp_path / "said", **said)
    assert built.counts["columns"]["url"] == "permalink"
    assert "not read" not in caplog.text
    with pytest.raises(BadInput, match=r"no column 'permalnk' for 'url'.*permalink"):
        ingest("table", [path], out=tmp_path / "no", columns={"url": "permalnk"})


def test_a_late_key_is_named_where_the_lines_before_are_known(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(reader, "_BEGINNING", 1)
    path = tmp_path / "late.jsonl"
    path.write_text('{"id": 1, "text": "a word"}\n')
    ingest("table", [path], out=tmp_path / "before")
    path.write_text('{"id": 1, "text": "a word"}\n{"id": 2, "text": "two", "url": "u"}\n')

    built = ingest("table", [path], out=tmp_path / "after", since=tmp_path / "before")

    assert built.counts["since"]
    assert "late.jsonl: not read: url" in caplog.text
