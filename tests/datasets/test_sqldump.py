import bz2
import gzip
import io
import lzma
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssi_core.corpus import inputs
from ssi_core.datasets.wikipedia import sqldump
from ssi_core.sample.dumps import LanglinksWriter
from ssi_core.types import BadInput
from tests.datasets.dumps import real_data

HEAD = "-- MySQL dump\nCREATE TABLE `langlinks` (\n  `ll_title` varbinary(255) DEFAULT ''\n);\n"


def rows(path, table="langlinks", columns=3):
    found = [row for row, _ in sqldump.read_rows(path, table, columns)]
    return [tuple(sqldump.text_of(value).decode() for value in row) for row in found]


def write(path, text):
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    "statements",
    [
        "INSERT INTO `langlinks` VALUES (1,'ja','車'),(2,'en','O\\'Neill');\n",
        "INSERT INTO `langlinks` VALUES\n(1,'ja','車'),\n(2,'en','O''Neill');\n",
        "INSERT INTO langlinks (`ll_from`, `ll_lang`, `ll_title`) VALUES (1, 'ja', '車'),"
        " (2, 'en', 'O\\'Neill') ;",
        "INSERT IGNORE INTO `langlinks` VALUES (1,_binary 'ja',_binary '車');\n"
        "INSERT INTO `other` VALUES (7,'a','b');\nINSERT INTO `langlinks` VALUES (2,'en',"
        "'O\\'Neill');\nUNLOCK TABLES;\n",
    ],
)
def test_statements_in_every_form(tmp_path, statements):
    path = write(tmp_path / "a.sql", HEAD + statements)
    assert rows(path) == [("1", "ja", "車"), ("2", "en", "O'Neill")]


def test_a_quoted_text_is_no_syntax(tmp_path):
    texts = ["a),(2,'x", "); INSERT INTO `langlinks` VALUES (9,'a','b');", "\\", "\\'", "", "''"]
    buffer = io.StringIO()
    writer = LanglinksWriter(buffer)
    for number, text in enumerate(texts):
        writer.add(number, "ja", text.replace("''", "'"))
    writer.close()
    path = write(tmp_path / "a.sql", buffer.getvalue())
    expected = [(str(n), "ja", text.replace("''", "'")) for n, text in enumerate(texts)]
    assert rows(path) == expected


@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), max_size=20),
    block=st.integers(1, 60),
)
def test_what_mysqldump_writes_is_read_in_blocks_of_any_size(tmp_path_factory, texts, block):
    buffer = io.StringIO()
    writer = LanglinksWriter(buffer)
    for number, text in enumerate(["first", *texts]):
        writer.add(number, "ja", text)
    writer.close()
    path = write(tmp_path_factory.mktemp("sql") / "a.sql", buffer.getvalue())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inputs, "_BLOCK", block)
        assert [text for _, _, text in rows(path)] == ["first", *texts]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_packed_files_are_told_by_their_first_bytes(tmp_path, pack):
    data = b"INSERT INTO `langlinks` VALUES (1,'ja','x');\n" * 50
    path = write(tmp_path / "langlinks.sql", pack(data))
    assert len(rows(path)) == 50
    write(path, pack(data)[:-9])
    with pytest.raises(BadInput, match=r"langlinks\.sql: .*Download it again"):
        rows(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("-- nothing here\n", "no statement inserts into the table 'langlinks'"),
        ("INSERT INTO `pagelinks` VALUES (1,0,'x');\n", "no statement inserts"),
        ("INSERT INTO `langlinks` VALUES (1,'ja','x'),(2,'ja'", "follows row 1 of 'langlinks'"),
        ("INSERT INTO `langlinks` VALUES (1,'ja');\n", "no row of 3 columns follows row 0"),
        ("INSERT INTO `langlinks` VALUES (1,'ja','x','y');\n", "no row of 3 columns"),
        ("INSERT INTO `langlinks` VALUES (1,'ja','" + "x" * (3 << 20), "no row of 3 columns"),
        ("INSERT INTO `langlinks` VALUES (1,'ja','x')".encode("utf-16"), "no statement inserts"),
    ],
)
def test_dumps_that_are_none(tmp_path, text, message):
    with pytest.raises(BadInput, match=message):
        rows(write(tmp_path / "a.sql", text))


@given(
    st.lists(st.sampled_from([b"(1,'ja','x')", b",", b";", b"'", b"\\", b"(", b")", b"\n", b"a"]))
)
def test_any_other_text_is_rows_or_bad_input(tmp_path_factory, parts):
    path = tmp_path_factory.mktemp("sql") / "a.sql"
    path.write_bytes(b"INSERT INTO `langlinks` VALUES " + b"".join(parts))
    with suppress(BadInput):
        assert all(len(row) == 3 for row in rows(path))


def test_real_tables():
    links = rows(real_data("wiki-dumps", "simplewiki-pagelinks-excerpt.sql.gz"), "pagelinks")
    assert len(links) > 900
    assert links[0] == ("1", "0", "1320")
    tags = rows(real_data("wiki-dumps", "simplewiki-change_tag_def.sql.gz"), "change_tag_def", 4)
    assert tags[0] == ("1", "mw-replace", "0", "10200")
