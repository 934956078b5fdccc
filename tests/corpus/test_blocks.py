"""What is read in blocks is the same whatever their size, with the same places and words."""

import io
import json
import struct

import polars as pl
import pytest

from ssi_core import collection
from ssi_core.corpus import inputs, user_texts
from ssi_core.corpus.judged.trec import read_topics
from ssi_core.corpus.tables import json_rows, lines, parquet, reader
from ssi_core.corpus.tables.form import TableForm
from ssi_core.corpus.tables.lines import Place
from ssi_core.corpus.tables.reader import header_of, read_rows, whole_rows
from ssi_core.store import Building
from ssi_core.types import BadInput
from tests.sources import ingest

UTF_8 = TableForm(encoding="utf-8", separator=",")
ENCODING = (
    "bytes that are no utf-8; if the whole table is of another encoding, say so: --encoding cp1252 "
    '(in a map, under [log]: encoding = "cp1252"), else repair it'
)
QUOTE = "a quote that does not close"
CSV = (
    b'\xef\xbb\xbfid,text\n1,"a, ""b"""\n2,"two\nlines"\n3\n\n4,R\xe4der\r\n5,"\xe4,\nx"\n'
    b"6,plain\n7,a,b\n"
    b'8,"open\n9,nine\r\n \n10,end'
)
ROWS = [
    (2, None, None, "1", 'a, "b"'),
    (3, None, None, "2", "two\nlines"),
    (5, "fields", "1 fields, the header has 2", None, None),
    (7, "encoding", ENCODING, None, None),
    (8, "encoding", ENCODING, None, None),
    (10, None, None, "6", "plain"),
    (11, "fields", "3 fields, the header has 2", None, None),
    (12, "quote", QUOTE, None, None),
    (13, None, None, "9", "nine"),
    (15, None, None, "10", "end"),
]


def rows_of(path, form=UTF_8, after=None, roles=None):
    roles = roles or {"name": "id", "words": "text"}
    block = pl.concat(read_rows(path, roles, form, after)).drop("raw")
    row = pl.col("category").is_null()
    return block.with_columns(pl.when(row).then(pl.col(name)) for name in roles).rows()


def test_a_table_has_the_same_rows_in_blocks_of_any_size(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_bytes(CSV)
    assert rows_of(path) == ROWS
    for size in range(1, len(CSV) + 1):
        monkeypatch.setattr(lines, "BLOCK_BYTES", size)
        assert rows_of(path) == ROWS


def test_a_table_goes_on_behind_any_line_outside_of_quotes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(CSV)
    for line in (1, 2, 4, 5, 6, 7, 9, 10, 11):
        begin = sum(map(len, CSV.splitlines(keepends=True)[:line]))
        assert rows_of(path, after=Place(begin, line)) == [row for row in ROWS if row[0] > line]


def test_lines_of_json_and_of_utf_16_have_the_same_rows_in_blocks_of_any_size(
    tmp_path, monkeypatch
):
    (tmp_path / "a.jsonl").write_bytes(
        b'{"id": 1, "text": ["a", "b"]}\n\n[1]\n{"id": "2", "text": "x\xe4"}\n{"id": "3"}\r\n{'
    )
    json_ = [
        (1, None, None, "1", '["a", "b"]'),
        (3, "json", "no JSON object", None, None),
        (4, "encoding", ENCODING, None, None),
        (5, None, None, "3", None),
        (6, "json", "no JSON object", None, None),
    ]
    (tmp_path / "b.tsv").write_bytes('id\ttext\n1\t"Räder\n2\n'.encode("utf-16"))
    tsv = [(2, None, None, "1", '"Räder'), (3, "fields", "1 fields, the header has 2", None, None)]
    for size in (1, 2, 3, 7, 20, 1000):
        monkeypatch.setattr(lines, "BLOCK_BYTES", size)
        assert rows_of(tmp_path / "a.jsonl") == json_
        assert rows_of(tmp_path / "b.tsv", TableForm()) == tsv


def test_a_line_that_is_too_long_is_one_row_that_is_none_in_blocks_of_any_size(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(lines, "LARGEST_LINE", 300)
    path, long = tmp_path / "a.csv", b'"' + b"y" * 400
    path.write_bytes(b"id,text\n1,a\n" + long + b"\n2," + b"x" * 298 + b"\n" + long)
    expected = [(2, None, "1"), (3, "length", None), (4, None, "2"), (5, "length", None)]
    for size in (64, 150, 299, 300):  # a block is no longer than a line may be
        monkeypatch.setattr(lines, "BLOCK_BYTES", size)
        rows = rows_of(path, roles={"name": "id"})
        assert [(line, category, name) for line, category, _, name in rows] == expected
        raw = pl.concat(read_rows(path, {"name": "id"}, UTF_8))["raw"]
        assert (raw[1], len(raw[2])) == ("'" + "y" * 199 + "...", 300)
    assert rows[1][2] == "more than 16 MiB in a line"


def test_a_quoted_field_may_run_over_a_hundred_lines_and_no_more(tmp_path):
    path = tmp_path / "a.csv"
    for ends, found in ((99, [(2, None, "1"), (102, None, "2")]), (100, [(2, "quote", None)])):
        path.write_bytes(b'id,text\n1,"a' + b"\n" * ends + b'b"\n2,c\n')
        rows = [(line, problem, name) for line, problem, _, name, _ in rows_of(path)]
        assert rows[: len(found)] == found


def test_an_array_of_json_has_the_same_rows_in_parts_of_any_size(tmp_path, monkeypatch):
    objects = [{"day": n, "hits": [{"id": n * 2}, {"id": n * 2 + 1, "day": "own"}]} for n in (1, 2)]
    (tmp_path / "a.json").write_text(json.dumps([*objects, {"day": 3}, {"hits": [4]}]))
    form, roles = TableForm(each="hits"), {"name": "id", "day": "day"}
    expected = [
        (1, None, None, "2", "1"), (1, None, None, "3", "own"),
        (2, None, None, "4", "2"), (2, None, None, "5", "own"),
        (3, "json", "no list 'hits' ([log] each)", None, None),
        (4, "json", "no JSON object", None, None),
    ]  # fmt: skip
    for size in (1, 2, 3, 9):
        monkeypatch.setattr(json_rows, "_OBJECTS", size)
        assert rows_of(tmp_path / "a.json", form, roles=roles) == expected
    assert header_of(tmp_path / "a.json", form) == ["day", "id"]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "text,id,text\n", "line 1 names 'text' twice. Rename one of the columns."),
        ("a.csv", "id,words\n", "line 1 has no column 'text'. Known: id, words."),
        ("a.csv", "id,text\n1,a\n2\n", "line 3: 1 fields, the header has 2. Repair or remove the "
         "line."),
        ("a.csv", "", "it is empty. Give a table with a row."),
        ("a.csv", "id,text\r1,a\r", "its lines end with a carriage return alone. Convert them: tr "
         "'\\r' '\\n' < PATH > converted.csv"),
        ("a.csv", "\n", "line 1 has no column 'id'. Known: none."),
        ("a.json", "[]", "it is empty. Give a table with a row."),
        ("a.json", '[{"id": "1"}]', "no object has the key 'text'. Known: id."),
        ("a.json", "[1,", "no JSON: Expecting value: line 1 column 4 (char 3). Repair the file."),
        ("a.xyz", "x", "its name does not say what it is. Name it .jsonl, .csv, .tsv or .parquet."),
        ("a.txt.zip", "x", "it is an archive. Unpack it, and name what is in it."),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_table_is_said_with_its_line(tmp_path, name, text, said):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        list(whole_rows(path, {"name": "id", "words": "text"}))
    assert str(caught.value) == f"{path}: {said}".replace("PATH", str(path))


def test_the_columns_are_those_of_the_first_ten_thousand_objects(tmp_path):
    for name, text in (
        ("a.json", json.dumps([{f"k{n}": 1} for n in range(10_002)])),
        ("a.jsonl", "\n".join(json.dumps({f"k{n}": 1}) for n in range(10_002))),
    ):
        (tmp_path / name).write_text(text)
        assert header_of(tmp_path / name) == [f"k{n}" for n in range(10_000)]
    assert header_of(tmp_path / "a.json", TableForm(header=False))[-1] == "10000"


# --- parquet, as its own process reads it ---


def served(path, monkeypatch, columns=None, most=1 << 20):
    """Return what the other process sends: the kind of each part, and its content."""
    monkeypatch.setattr(parquet.system, "lower", lambda *limit: None)
    out, found = io.BytesIO(), []
    task = {"path": str(path), "columns": columns, "most": most, "memory": 1 << 40}
    parquet._serve(task, out)
    out.seek(0)
    while head := out.read(struct.calcsize("<cQ")):
        kind, size = struct.unpack("<cQ", head)
        found.append((kind, out.read(size)))
    return found


def test_rows_of_parquet_are_bounded_by_the_bytes_of_their_values(tmp_path, monkeypatch):
    frame = pl.DataFrame({"a": ["xy", "z", None], "b": [1, 2, 3]})
    frame.write_parquet(tmp_path / "a.parquet")
    # Three references of 16 bytes and three letters.
    (names, rows, end) = served(tmp_path / "a.parquet", monkeypatch, ["a"], most=51)
    assert names == (b"N", b'["a", "b"]')
    assert pl.read_ipc_stream(io.BytesIO(rows[1])).equals(frame.select("a"))
    assert (rows[0], end) == (b"R", (b"Z", b""))
    assert served(tmp_path / "a.parquet", monkeypatch, ["a"], most=50)[1:] == [(b"E", b"null")]
    assert [kind for kind, _ in served(tmp_path / "a.parquet", monkeypatch, [])] == [b"N", b"Z"]
    kind, said = served(tmp_path / "a.parquet", monkeypatch, ["c"])[-1]
    assert kind == b"E"
    assert json.loads(said).startswith("unable to find column")
    assert len(json.loads(said)) <= 200


@pytest.mark.parametrize(
    ("values", "size"),
    [
        (pl.Series(["xy", "z", None]), 3 * 16 + 3),
        (pl.Series([b"xy", b"z", None]), 3 * 16 + 3),
        (pl.Series([1, 2, 3], dtype=pl.Int64), 3 * 8 + 3 * 8),
        (pl.Series([["a", "bc"], ["d"]]), 2 * 8 + 3 * 16 + 4),
        (pl.Series([{"a": "b", "c": 1}]), 16 + 1 + 8 + 8),
    ],
)
def test_bytes_of_values_are_those_of_text(values, size):
    assert parquet._bytes(values) == size


def test_rows_of_parquet_come_in_parts_of_some_bytes(tmp_path, monkeypatch):
    frame = pl.DataFrame({"a": list("abcdefg")})
    frame.write_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr(parquet, "_BATCH", 3 * 17)
    sent = served(tmp_path / "a.parquet", monkeypatch)
    parts = [pl.read_ipc_stream(io.BytesIO(content)) for kind, content in sent if kind == b"R"]
    assert [len(part) for part in parts] == [3, 3, 1]
    assert pl.concat(parts).equals(frame)


def test_what_parquet_unpacks_to_beyond_its_bound_is_said(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pl.DataFrame({"a": ["xy"]}).write_parquet(path)
    monkeypatch.setattr(inputs, "LARGEST_SHARE", 1)
    monkeypatch.setattr(inputs, "LARGEST_RATIO", 0)
    with pytest.raises(BadInput) as caught:
        list(parquet.parquet_batches(path))
    assert str(caught.value) == (
        f"{path}: it unpacks to more than 0 KiB, which no text of its size does. If it is no bomb, "
        "write it as JSON lines."
    )


def test_lists_in_parquet_are_text_with_bars_between(tmp_path):
    frame = pl.DataFrame({"id": [7, 8], "tags": [["a", "b"], []], "day": ["x", None]})
    frame.write_parquet(tmp_path / "a.parquet")
    roles = {"tags": "tags", "name": "id", "again": "id", "day": "day"}
    block = pl.concat(read_rows(tmp_path / "a.parquet", roles))
    assert block.rows() == [
        (1, None, None, "a|b\t7\tx", "a|b", "7", "7", "x"),
        (2, None, None, "\t8\t", "", "8", "8", None),
    ]


def test_rows_of_parquet_are_numbered_over_its_batches(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    frame = pl.DataFrame({"id": list("abcde")})
    frame.write_parquet(path)
    monkeypatch.setattr(reader, "parquet_batches", lambda *of: frame.iter_slices(2))
    rows = pl.concat(read_rows(path, {"name": "id"}))
    assert rows.select("line", "name").rows() == list(enumerate("abcde", 1))


# --- documents and links ---


DOCUMENTS = [
    ("a", "Ann", "one text"), ("b", None, "another text"), ("c", "Cem", "one text"),
    (" d ", "Dan", "a third"), ("a", "Eve", "repeated"), ("e", "", " "), ("", "x", "nameless"),
    ("f", "Ann", "the name of another"),
]  # fmt: skip
LINKS = [
    ("a", "b", "To B"), ("a", "b", "to b"), ("a", "b", ""), ("Cem", "a", "see A"), ("b", "b", "me"),
    ("d", " a", "x" * 300), ("Ann", "c", "C"), ("f", "d", "D"), ("a", "q", "?"), ("r", "a", "?"),
    ("s", None, "?"), ("t", "u", "?"),
]  # fmt: skip


def frames(parts, *names):
    schema = dict.fromkeys(names, pl.String)
    return (pl.DataFrame(part, schema=schema, orient="row") for part in parts)


def write_own(path, documents, links, **settings):
    building = Building(path, "", path.parent / f"{path.name}-work")
    user_texts.write_own(
        building,
        frames(documents, "id", "title", "text"),
        frames(links, "source", "target", "text"),
        where=path.parent / "mine.csv",
        names=("id", "title"),
        **settings,
    )
    return building


def parted(rows, size):
    return [rows[begin : begin + size] for begin in range(0, len(rows), size)]


def tables(path):
    read = {}
    for name in ("documents", collection.relation_at("link"), collection.relation_at("anchor")):
        read[name] = pl.read_parquet(path / name / "*.parquet").rows()
    return read


@pytest.mark.parametrize("size", [1, 2, 3, 20])
def test_own_documents_and_links_in_parts_of_any_size_are_one_corpus(
    tmp_path, monkeypatch, caplog, size
):
    monkeypatch.setattr(user_texts, "_AT_ONCE", size)
    monkeypatch.setattr(user_texts, "_SOURCES", size)
    made = write_own(tmp_path / "out", parted(DOCUMENTS, size), parted(LINKS, size))
    read = tables(tmp_path / "out")
    assert [row[:3] for row in read["documents"]] == [
        ("a", "Ann", "en"), ("b", "another text", "en"), ("c", "Cem", "en"), ("d", "Dan", "en"),
        ("f", "Ann", "en"),
    ]  # fmt: skip
    assert read["relations/link"] == [("a", "b"), ("a", "c"), ("c", "a"), ("d", "a"), ("f", "d")]
    assert read["relations/anchor"] == [
        ("a", "b", "to b", 2.0), ("a", "c", "c", 1.0), ("c", "a", "see a", 1.0),
        ("f", "d", "d", 1.0),
    ]  # fmt: skip
    assert made.counts == {
        "language": "en (guessed from the script of the texts)", "documents": 5,
        "documents_found": 8, "documents_with_the_text_of_another": 1, "anchors": 4, "links": 5,
        "links_found": 12,
    }  # fmt: skip
    assert made.skipped == {
        "anchor_too_long": 1, "anchor_without_words": 1, "document_id_repeated": 1,
        "document_without_id": 1, "document_without_text": 1, "link_repeated": 2,
        "link_source_is_no_document": 3, "link_target_is_no_document": 1, "link_to_itself": 1,
    }  # fmt: skip
    assert "mine: 4 links lead to no document, such as " in caplog.text


def test_documents_without_a_text_are_kept_where_they_are_candidates(tmp_path):
    made = write_own(tmp_path / "out", [DOCUMENTS], [], empty=True)
    assert [row[0] for row in pl.read_parquet(tmp_path / "out/documents").rows()] == list("abcdef")
    assert made.skipped == {"document_id_repeated": 1, "document_without_id": 1}


@pytest.mark.parametrize(
    ("documents", "links", "said"),
    [
        ([], [], "no document is in it. Give documents that have a text."),
        ([("a", "", ""), ("", "", "x")], [], "no document has an id and a text (1 document without "
         "id, 1 document without text). Give documents that have some, or say which columns they "
         "are in: columns={'text': 'NAME'}"),
        ([("a", "", "x")], [("a", "a", ""), ("a", "b", ""), ("c", "b", "")], "none of its 3 links "
         "is between two documents (1 link source is no document, 1 link target is no document, 1 "
         "link to itself; such as 'c', 'b'). Links name documents by their id (such as 'a'), or "
         "else by URL or title. Say which columns have the two ends: columns={'source': 'NAME', "
         "'target': 'NAME'}"),
    ],
)  # fmt: skip
def test_why_nothing_is_left_is_said_with_its_numbers(tmp_path, documents, links, said):
    with pytest.raises(BadInput) as caught:
        write_own(tmp_path / "out", [documents] if documents else [], [links])
    assert str(caught.value) == f"{tmp_path / 'mine.csv'}: {said}"


def test_topics_in_lines_may_have_empty_ones_between(tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes(b"01\told cars \n\n 2 \tR\xe4der\n")
    assert list(read_topics(path)) == [("1", "old cars"), ("2", "Räder")]
    path.write_text("1\tcars\nmoons\n")
    with pytest.raises(BadInput) as caught:
        list(read_topics(path))
    assert str(caught.value) == (
        f"{path}: line 2 is 'moons', expected <top> or a number, a tab and the words of a query."
    )


def test_what_is_told_while_pairs_are_read(tmp_path):
    said = []
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("query,document\nein Hund,a dog\neine Katze,a cat\n,x\n")
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    ingest("pairs", paths, tmp_path / "out", progress=lambda *step: said.append(step))
    assert [step for step in said if "pairs" in step[1]] == [
        (0.0, "2 pairs read"), (0.0, "4 pairs read"),
    ]  # fmt: skip
