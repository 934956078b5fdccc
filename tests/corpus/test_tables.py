"""The one reader of tables: every way of writing one gives the same rows, or a clear refusal."""

import codecs
import gzip
import json

import pytest

from ssi_core.collection import open_collection
from ssi_core.corpus.tables.form import TableForm, said_of, text_bytes, written_as
from ssi_core.corpus.tables.reader import header_of, read_rows
from ssi_core.types import BadInput
from tests.sources import ingest

ROWS = [("1", "Fahrräder", "zwei Räder, ein Sattel"), ("2", "Zürich", 'die "große" Stadt')]
NAMES = ["id", "title", "text"]


def written(path, separator=",", encoding="utf-8"):
    cell = '"{}"'.format
    lines = [NAMES, *([cell(value.replace('"', '""')) for value in row] for row in ROWS)]
    data = "".join(separator.join(line) + "\n" for line in lines).encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def documents(made):
    return open_collection(made.path).documents.select(NAMES).collect().rows()


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"])
@pytest.mark.parametrize("separator", [";", "|", ","])
def test_separators_and_encodings_are_guessed_and_said(tmp_path, name, encoding, separator):
    path = written(tmp_path / name, separator, encoding)
    made = ingest("table", [path], tmp_path / "out")
    assert documents(made) == ROWS
    said = made.counts.get("read_as", {}).get(name, "")
    assert (f"divided by {separator!r}" in said) == (separator != ",")
    eight = {"utf-16": "utf-16", "cp1252": "cp1252", "latin-1": "cp1252"}.get(encoding)
    assert ("in " in said) == (eight is not None)
    assert eight is None or said.endswith(f"in {eight}")


def test_tabs_divide_a_csv_file_and_lines_of_json_are_of_any_of_these_encodings(tmp_path):
    rows = [[value.replace('"', "'") for value in row] for row in ROWS]
    (tmp_path / "a.csv").write_text("".join("\t".join(row) + "\n" for row in [NAMES, *rows]))
    assert documents(ingest("table", [tmp_path / "a.csv"], tmp_path / "tabs")) == list(
        map(tuple, rows)
    )
    assert said_of([tmp_path / "a.csv"]) == {"a.csv": "fields divided by tabs"}
    lines = [json.dumps(dict(zip(NAMES, row, strict=True)), ensure_ascii=False) for row in ROWS]
    for encoding in ("utf-8-sig", "utf-16", "latin-1"):
        for name, text in (("a.jsonl", "\n".join(lines)), ("a.json", f"[{','.join(lines)}]")):
            (tmp_path / name).write_bytes(text.encode(encoding))
            made = ingest("table", [tmp_path / name], tmp_path / "lines", force=True)
            assert documents(made) == ROWS


def test_links_queries_and_judgements_are_read_by_the_same_reader(tmp_path):
    path = written(tmp_path / "a.csv", ";", "latin-1")
    (tmp_path / "links.csv").write_text(
        "from;to;when;anchor\n1;2;now;große Stadt\n", encoding="utf-16"
    )
    made = ingest("table", [path], tmp_path / "out", links=[tmp_path / "links.csv"])
    links = open_collection(made.path).frame("relations/anchor")
    assert links.select("source", "target", "text").rows() == [("1", "2", "große stadt")]
    (tmp_path / "queries.csv").write_text("id|text\nq|Räder\n", encoding="latin-1")
    (tmp_path / "judged.csv").write_text("query;document;grade\nq;1;2\n", encoding="utf-8-sig")
    files = {"queries": tmp_path / "queries.csv", "qrels": tmp_path / "judged.csv"}
    judged = open_collection(ingest("judged", made.path, tmp_path / "judged", **files).path)
    assert judged.names("queries")["title"].to_list() == ["Räder"]
    assert judged.frame("relations/judgement").rows() == [("q", "1", 2.0)]


def test_a_declared_way_of_writing_wins_and_is_part_of_the_key(tmp_path):
    text = "id;text\n1;a;b\n2;c;d\n"
    (tmp_path / "a.csv").write_text(text.replace("a;b", "a, b").replace("c;d", "c, d"))
    made = ingest("table", [tmp_path / "a.csv"], tmp_path / "out")
    assert open_collection(made.path).documents.collect()["text"].to_list() == ["a, b", "c, d"]
    columns = {"id": "id;text", "text": "id;text"}
    (tmp_path / "b.csv").write_text("id;text,more\n1;2,x\n")
    whole = ingest("table", [tmp_path / "b.csv"], tmp_path / "b", columns=columns, separator=",")
    assert open_collection(whole.path).documents.collect()["id"].to_list() == ["1;2"]
    assert whole.configuration["separator"] == ","
    assert header_of(tmp_path / "b.csv", TableForm(separator=",")) == ["id;text", "more"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("id,text\n1,a\n".encode("utf-16-le"), "convert it: iconv -f utf-16le -t utf-8 a.csv"),
        ("id,text\n1,自動車は速い\n2,犬は走る\n".encode("shift_jis"), "which one it is in cannot"),
        (b"a,b;c\n1,2;3\n", "may be divided by ',' or by ';'. say which: separator="),
    ],
)
def test_what_cannot_be_decided_is_refused(tmp_path, data, said):
    (tmp_path / "a.csv").write_bytes(data)
    with pytest.raises(BadInput) as caught:
        ingest("table", [tmp_path / "a.csv"], tmp_path / "out", columns={"text": "b"})
    assert said in str(caught.value).lower()


def test_one_line_of_other_bytes_is_a_line_and_the_table_is_in_utf_8(tmp_path):
    rows = "".join(f"{n},Räder\n" for n in range(9))
    data = f"id,text\n{rows}".encode() + b"9,R\xe4der\n"
    (tmp_path / "a.csv").write_bytes(data)
    assert written_as(tmp_path / "a.csv").encoding == "utf-8"
    made = ingest("table", [tmp_path / "a.csv"], tmp_path / "out")
    assert (made.counts["documents"], made.skipped["row_encoding"]) == (9, 1)


def test_a_column_may_have_a_name_that_the_reader_uses_itself(tmp_path):
    (tmp_path / "a.csv").write_text("id,text,category,line\n1,a car,cars,7\n")
    made = ingest("table", [tmp_path / "a.csv"], tmp_path / "out", labels=["category", "line"])
    labels = open_collection(made.path).frame("labels").sort("column")
    assert labels.rows() == [("1", "category", "cars"), ("1", "line", "7")]
    (block,) = read_rows(tmp_path / "a.csv", {"words": "text", "number": "line"})
    assert block.select("line", "words", "number").rows() == [(2, "a car", "7")]


def test_a_mark_of_utf_8_is_no_part_of_the_first_name(tmp_path):
    (tmp_path / "a.csv").write_bytes(codecs.BOM_UTF8 + b"id;text\n1;a\n")
    assert header_of(tmp_path / "a.csv") == ["id", "text"]


def test_a_role_that_is_declared_without_a_column_has_none(tmp_path):
    (tmp_path / "a.csv").write_text("id,subject,text,link\n1,animals,a cat,u\n2,animals,a dog,v\n")
    guessed = ingest("table", [tmp_path / "a.csv"], tmp_path / "guessed").counts["columns"]
    assert guessed == {"id": "id", "title": "subject", "text": "text", "url": "link"}
    columns = {"title": "", "url": ""}
    made = ingest("table", [tmp_path / "a.csv"], tmp_path / "out", columns=columns)
    assert made.counts["columns"] == {"id": "id", "text": "text"}
    with pytest.raises(BadInput, match=r"which column is the text\?"):
        ingest("table", [tmp_path / "a.csv"], tmp_path / "none", columns={"text": "", "title": ""})


@pytest.mark.parametrize(("column", "warned"), [("", 0), (",colour", 1)])
def test_a_name_is_the_text_and_what_is_not_read_is_warned_of(tmp_path, caplog, column, warned):
    value = column and ",red"
    (tmp_path / "a.csv").write_text(f"id,title{column}\n1,a cat{value}\n2,a dog{value}\n")
    made = ingest("table", [tmp_path / "a.csv"], tmp_path / "out")
    assert made.counts["columns"] == {"id": "id", "text": "title"}
    assert caplog.text.count("'title' is read as the text; not read: colour.") == warned


def test_columns_are_declared_for_every_kind_of_table(tmp_path):
    (tmp_path / "a.csv").write_text("nr;wort\n1;a car\n2;a road\n")
    columns = {"id": "nr", "text": "wort"}
    made = ingest("table", [tmp_path / "a.csv"], tmp_path / "out", columns=columns)
    (tmp_path / "q.csv").write_text("nr;frage\nq;which car\n")
    (tmp_path / "j.csv").write_text("frage;seite;note\nq;1;2\n")
    files = {"queries": tmp_path / "q.csv", "qrels": tmp_path / "j.csv"}
    how = {"id": "nr", "text": "frage", "query": "frage", "document": "seite", "grade": "note"}
    judged = ingest("judged", made.path, tmp_path / "judged", columns=how, **files)
    assert judged.counts["judgements"] == 1
    with pytest.raises(BadInput, match=r"no column for the .*columns=\{'(text|id)': 'NAME'\}"):
        ingest("judged", made.path, tmp_path / "none", **files)


@pytest.mark.parametrize(
    ("name", "times"),
    [("a.csv", 1), ("a.jsonl", 1), ("a.csv.gz", 8), ("a.jsonl.bz2", 8), ("a.parquet", 8)],
)
def test_a_packed_file_is_taken_for_eight_times_its_bytes_of_text(name, times, tmp_path):
    (tmp_path / name).write_bytes(bytes(100))
    (tmp_path / "b.tsv").write_bytes(bytes(7))
    assert text_bytes([tmp_path / name, tmp_path / "b.tsv"]) == 100 * times + 7


@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "\ufeffsep=;"])
def test_a_first_line_of_excel_says_the_separator_and_is_no_header(tmp_path, line):
    path = tmp_path / "excel.csv"
    path.write_text(f"{line}\r\nid;text\r\n1;one, two, three\r\n2;four, five\r\n")
    assert header_of(path) == ["id", "text"]
    [rows] = read_rows(path, {"id": "id", "text": "text"})
    assert rows.select("line", "id", "text").rows() == [
        (3, "1", "one, two, three"),
        (4, "2", "four, five"),
    ]
    [rows] = read_rows(path, {"id": "1"}, TableForm(header=False))
    assert rows.select("line", "id").rows() == [(2, "id"), (3, "1"), (4, "2")]


def test_a_file_that_says_its_separator_and_nothing_else_is_empty(tmp_path):
    path = tmp_path / "excel.csv"
    path.write_text("sep=;\n")
    with pytest.raises(BadInput, match="it is empty"):
        header_of(path)
    with pytest.raises(BadInput, match="it is empty"):
        list(read_rows(path, {"id": "id"}))
