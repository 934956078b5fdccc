"""Reading of logs as text: formats, compression, lines that are no rows."""

import bz2
import csv
import gzip
import io
import json
import lzma
import tracemalloc

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssi_core.corpus.tables import lines
from ssi_core.corpus.tables.form import TableForm
from ssi_core.corpus.tables.reader import read_rows
from ssi_core.types import BadInput
from tests.guests.click_logs import logs

COLUMNS = ["visit", "ad", "click"]


def read(path, columns=COLUMNS, **form):
    return pl.concat(read_rows(path, dict(zip(columns, columns, strict=True)), TableForm(**form)))


@pytest.fixture
def written(tmp_path):
    def write(data, name="log.csv"):
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    return write


FORMATS = {
    "log.csv": lambda rows: logs.csv_text(rows),
    "log.tsv": lambda rows: logs.csv_text(rows, "\t"),
    "log.jsonl": lambda rows: "".join(json.dumps(row) + "\n" for row in rows),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("packed", ["", ".gz", ".bz2", ".xz"])
def test_every_format_and_compression_gives_the_same_rows(written, name, packed):
    rows = logs.rows(5)
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[packed]
    found = read(written(pack(FORMATS[name](rows).encode()), name + packed))
    assert found.select(COLUMNS).rows() == [tuple(row[c] for c in COLUMNS) for row in rows]
    assert found["category"].null_count() == len(rows)
    first = 1 if name == "log.jsonl" else 2
    assert found["line"].to_list() == list(range(first, first + len(rows)))


def test_parquet_gives_the_text_of_any_type(tmp_path):
    frame = pl.DataFrame({"visit": [1, 2], "ad": ["x", None], "click": [True, False]})
    frame.write_parquet(tmp_path / "log.parquet")
    found = read(tmp_path / "log.parquet")
    assert found.select(COLUMNS).rows() == [("1", "x", "true"), ("2", None, "false")]
    assert found["line"].to_list() == [1, 2]


@given(
    st.lists(
        st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\0\n")), min_size=3,
                 max_size=3).filter(lambda row: "".join(row).strip()),
        min_size=1,
    )
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_what_a_csv_writer_writes_is_read_back(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("log") / "log.csv"
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([COLUMNS, *rows])
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    found = read(path)
    assert found.select(COLUMNS).rows() == [tuple(row) for row in rows]


def test_a_quoted_field_may_run_over_lines_and_blocks(written, monkeypatch):
    text = 'visit,ad,click\ns1,"two\nlines, ""quoted""",1\ns2,b,0\n'
    for size in (1 << 20, 30, 7):
        monkeypatch.setattr(lines, "BLOCK_BYTES", size)
        found = read(written(text))
        assert found["ad"].to_list() == ['two\nlines, "quoted"', "b"], size
        assert found["line"].to_list() == [2, 4]


def test_a_byte_order_mark_and_crlf_are_no_part_of_a_value(written):
    plain = logs.csv_text(logs.rows(3))
    found = read(written(b"\xef\xbb\xbf" + plain.replace("\n", "\r\n").encode(), "bom.csv"))
    assert found.select(COLUMNS).equals(read(written(plain)).select(COLUMNS))


def test_lines_that_are_no_rows_come_with_their_problem_and_the_others_are_read(written):
    text = 'visit,ad,click\ns1,a,1\ns2,b\ns3,c,0,7\ns4,"lost,1\ns5,d,0\n\ns6,e,1\n'
    found = read(written(text))
    assert found.filter(pl.col("category").is_null())["visit"].to_list() == ["s1", "s5", "s6"]
    broken = found.filter(pl.col("category").is_not_null())
    assert broken.select("line", "category", "raw").rows() == [
        (3, "fields", "s2,b"), (4, "fields", "s3,c,0,7"), (5, "quote", 's4,"lost,1'),
    ]  # fmt: skip
    assert broken["problem"][0] == "2 fields, the header has 3"


@pytest.mark.parametrize("quoted", [False, True])
def test_a_line_in_another_encoding_is_named_and_the_map_may_say_which(written, quoted):
    name = '"café"' if quoted else "café"
    lines = ["visit,ad,click", f"s1,{name},1", f"s2,{name},0"]
    data = b"\n".join([lines[0].encode(), lines[1].encode("cp1252"), lines[2].encode()])
    found = read(written(data))
    assert found.select("line", "category").rows() == [(2, "encoding"), (3, None)]
    assert 'encoding = "cp1252"' in found["problem"][0]
    whole = "\n".join(lines).encode("cp1252")
    assert read(written(whole), encoding="cp1252")["ad"].to_list() == ["café"] * 2


def test_no_json_object_is_a_problem_of_its_line(written):
    text = '{"visit": "s1", "ad": 7, "click": true}\n[1]\n{"visit"\n{"visit": "s2"}\n'
    found = read(written(text, "log.jsonl"))
    assert found["category"].to_list() == [None, "json", "json", None]
    assert found.select(COLUMNS).row(0) == ("s1", "7", "true")
    assert found.select(COLUMNS).row(3) == ("s2", None, None)


def test_a_log_without_a_header_numbers_its_columns(written):
    found = read(written("s1;a;1\ns2;b;0\n"), ["1", "3"], header=False, separator=";")
    assert found.select("1", "3").rows() == [("s1", "1"), ("s2", "0")]


@pytest.mark.parametrize(
    ("data", "name", "said"),
    [
        ("", "log.csv", "empty"),
        ("visit,add,click\n", "log.csv", "no column 'ad'. Did you mean 'add'?"),
        ("visit,ad,ad,click\n", "log.csv", "names 'ad' twice"),
        ('{"visit": 1, "add": 2, "click": 0}\n', "log.jsonl", "no object has the key 'ad'"),
        ("x", "log.dat", "its name does not say"),
        ("x", "log.csv.zst", "log.csv.zst"),
        (gzip.compress(b"visit,ad,click\n" * 99, mtime=0)[:-20], "log.csv.gz", "end-of-stream"),
        ("visit,ad,click\n".encode("utf-16-le"), "log.csv", "iconv -f utf-16le"),
        ("no parquet", "log.parquet", "parquet"),
    ],
)
def test_a_log_that_cannot_be_read_is_named(written, data, name, said):
    path = written(data, name)
    with pytest.raises(BadInput, match=said.replace("?", r"\?")) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize("block", [7, 50, 300])
@pytest.mark.parametrize("name", ["log.csv", "log.tsv", "log.jsonl"])
def test_a_line_that_is_too_long_is_counted_and_the_others_are_read(
    written, monkeypatch, name, block
):
    monkeypatch.setattr(lines, "BLOCK_BYTES", block)
    monkeypatch.setattr(lines, "LARGEST_LINE", 400)
    rows = logs.rows(6)[:6]
    rows[1]["ad"], rows[2]["ad"], rows[5]["ad"] = 'x"' * 300, 'y"' * 60, "z" * 500
    found = read(written(FORMATS[name](rows), name))
    expected = [None, "length", None, None, None, "length"]
    assert found["problem"][1] == "more than 16 MiB in a line"
    assert found["category"].to_list() == expected
    assert found["visit"].drop_nulls().to_list()[0] == rows[0]["visit"]
    assert found["ad"].to_list()[2] == rows[2]["ad"]
    assert found["raw"].str.len_bytes().max() < 600
    assert found["line"].diff().drop_nulls().to_list() == [1] * 5


def test_a_quoted_field_that_is_too_long_ends(written, monkeypatch):
    monkeypatch.setattr("ssi_core.corpus.tables.reader.LARGEST_LINE", 100)
    text = 'visit,ad,click\ns1,"lost,1\n' + "s2,a,0\n" * 50
    found = read(written(text))
    assert found["category"].to_list() == ["quote"] + [None] * 50


def test_a_long_line_takes_little_memory(tmp_path):
    path = tmp_path / "log.csv"
    with path.open("w") as file:
        file.write("visit,ad,click\ns1,a,1\ns2,")
        for _ in range(120):
            file.write("x" * 1_000_000)
        file.write(",1\ns3,b,0\n")
    tracemalloc.start()
    found = read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found["category"].to_list() == [None, "length", None]
    # 40 MB; such a line takes 500 MB and more where it is read.
    assert peak < 100 << 20
