"""Lines, members and columns that files seldom have."""

import io
import logging
import re
import tarfile
from pathlib import Path

import polars as pl
import pytest

from ssi_core.corpus import archive
from ssi_core.corpus.judged import trec
from ssi_core.corpus.language import warn_unsplit
from ssi_core.corpus.source import directory, option
from ssi_core.corpus.tables.documents import _roles_of_links
from ssi_core.corpus.tables.form import TableForm
from ssi_core.types import BadInput

TEXT = re.compile(r"(.*)\.txt")


def test_a_blank_line_is_no_judgement(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 2\n\n  \n2 0 b 0.5\n")
    assert trec.read_qrels(tmp_path / "qrels").rows() == [("1", "a", 2.0), ("2", "b", 0.5)]


def test_a_line_that_is_longer_than_any_is_named(monkeypatch):
    monkeypatch.setattr(trec, "read_lines", lambda path: iter([(b"a", 1), (None, 2)]))
    lines = trec.text_lines(Path("run"))
    assert next(lines) == "a"
    with pytest.raises(BadInput, match=r"run: line 2 has more than 16 MiB\."):
        next(lines)


def test_of_a_folder_the_files_that_match_are_read_by_their_names(tmp_path):
    (tmp_path / "b").mkdir()
    for name in ("c.txt", "b/2.txt", "a.md"):
        (tmp_path / name).write_text(name)
    found = [(match[1], content) for match, content in archive.read_matching(tmp_path, TEXT)]
    assert found == [("b/2", b"b/2.txt"), ("c", b"c.txt")]


def test_folders_in_an_archive_have_no_content(tmp_path):
    with tarfile.open(tmp_path / "texts.tar", "w") as file:
        folder = tarfile.TarInfo("b")
        folder.type = tarfile.DIRTYPE
        file.addfile(folder)
        file.addfile(tarfile.TarInfo("b/1.txt"), io.BytesIO())
    assert list(archive.read_members(tmp_path / "texts.tar", TEXT, "a text")) == [("b/1", b"")]
    with pytest.raises(BadInput, match=r"the member 'b/1\.txt' isn't a number"):
        list(archive.read_members(tmp_path / "texts.tar", re.compile(r"(\d+)"), "a number"))


@pytest.mark.parametrize(("chinese", "share"), [(19, 0.0), (18, 0.053)])
def test_texts_of_a_language_without_blanks_that_are_read_as_english_are_told(
    tmp_path, caplog, chinese, share
):
    texts = ["月亮上的人类登陆"] + ["men on the moon"] * chinese
    frame = pl.DataFrame({"text": texts, "language": "en"}).with_row_index("id")
    frame.with_columns(pl.col("id").cast(pl.String)).write_parquet(tmp_path / "part-0.parquet")
    with caplog.at_level(logging.WARNING):
        assert warn_unsplit(tmp_path, "queries") == share
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        "queries: 5 % of the texts are read as 'en', and have one word where there are many: "
        "nothing can be learnt of them. Name their language in the map: [queries] language = "
        '"zh"; "any" where there are several.'
    ] * bool(share)


def test_a_link_has_two_ends(tmp_path):
    (tmp_path / "links.csv").write_text("page\na\n")
    with pytest.raises(BadInput, match=r"and there is one column: page\. Give a column for each"):
        _roles_of_links(tmp_path / "links.csv", {}, TableForm())
    (tmp_path / "links.csv").write_text("from,anchor\na,b\n")
    assert _roles_of_links(tmp_path / "links.csv", {}, TableForm()) == {
        "source": "from",
        "target": "anchor",
    }


def test_fields_of_sources_say_how_they_are_typed():
    assert option(None, "A map.", "--map").json_schema_extra == {"flag": "--map"}
    extra = option(None, "A map.", "--map", "FILE").json_schema_extra
    assert extra == {"flag": "--map", "metavar": "FILE"}
    one = directory("The release.")
    assert [limit.max_length for limit in one.metadata if hasattr(limit, "max_length")] == [1]
