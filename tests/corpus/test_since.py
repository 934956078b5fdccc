"""Own texts, night by night: what did not change is not parsed, and the result is the same."""

import gzip
import hashlib
import json
import shutil

import polars as pl
import pytest

from ssi_core import store
from ssi_core.collection import open_collection
from ssi_core.corpus.sources.folder import Folder
from ssi_core.corpus.sources.table import Table
from ssi_core.corpus.tables import documents as table
from ssi_core.corpus.web import folder
from ssi_core.types import BadInput
from tests.sources import ingest


def tables(place):
    """Digest of each file of a collection but the manifest, by its name."""
    return {
        path.relative_to(place).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(place.rglob("*"))
        if path.is_file() and path.name != store.MANIFEST
    }


def same(made, whole):
    """Check that two collections are one but for what is said of the earlier one."""
    assert tables(made.path) == tables(whole.path)
    assert {**made.counts, "since": None} == {**whole.counts, "since": None}
    assert (made.key, made.skipped) == (whole.key, whole.skipped)


@pytest.fixture
def site(tmp_path):
    path = tmp_path / "site"
    (path / "inner").mkdir(parents=True)
    for n in range(8):
        (path / f"{n}.md").write_text(f"# Page {n}\n\nwords {n} [next]({n + 1}.md)\n")
    (path / "inner" / "a.html").write_text("<h1>A</h1><p>text <a href='../0.md'>0</a></p>")
    (path / "inner" / "plain.txt").write_text("plain words")
    (path / "blank.md").write_text("  \n")
    (path / "unknown.md").write_bytes("日本語は".encode("shift_jis"))
    return path


def test_pages_that_did_not_change_are_not_parsed(site, tmp_path, monkeypatch):
    first = ingest("folder", site, tmp_path / "first")
    (site / "1.md").write_text("# Page 1\n\nother words [b](inner/b.html)\n")
    (site / "2.md").unlink()
    (site / "3.md").rename(site / "inner" / "3.md")  # its name is the same
    (site / "4.md").rename(site / "four.md")
    (site / "new.md").write_text("# New\n\na new page [one](1.md)\n")
    shutil.copy(site / "5.md", site / "inner" / "5.md")
    whole = ingest("folder", site, tmp_path / "whole")
    parsed = []
    monkeypatch.setattr(
        folder,
        "read_page",
        lambda path, read=folder.read_page: parsed.append(path.name) or read(path),
    )
    made = ingest("folder", site, tmp_path / "made", since=first.path)
    same(made, whole)
    assert sorted(parsed) == ["1.md", "blank.md", "four.md", "new.md", "unknown.md"]
    assert made.counts["since"] == {"taken": 8, "kept": 6, "changed": 1, "new": 4, "gone": 3}
    titles = dict(open_collection(made.path).documents.collect().select("id", "title").rows())
    assert titles["inner/3.md"] == "Page 3"
    again = ingest("folder", site, tmp_path / "again", since=made.path)
    assert again.counts["since"] == {"taken": 11, "kept": 11, "changed": 0, "new": 0, "gone": 0}
    same(again, whole)


def test_a_night_reads_on_from_a_collection_of_its_own_kind(site, tmp_path):
    first = ingest("folder", site, tmp_path / "first").path
    assert Folder(paths=(site,)).after(first).since == first
    assert Table(paths=(site,)).after(first).since is None


def test_pages_go_on_over_blocks_of_pages(site, tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "_ROWS", 3)
    first = ingest("folder", site, tmp_path / "first")
    assert len(list((first.path / "documents").iterdir())) > 2
    (site / "0.md").unlink()  # each page is in another block, and part, now
    whole = ingest("folder", site, tmp_path / "whole")
    made = ingest("folder", site, tmp_path / "made", since=first.path)
    same(made, whole)
    assert made.counts["since"]["taken"] == made.counts["documents"]


def test_what_cannot_be_used_is_said(site, tmp_path, monkeypatch):
    first = ingest("folder", site, tmp_path / "first")
    manifest = store.read(first.path)
    other = store.open_or_make("collection", {"source": "table"}, {}, lambda building: None)
    with pytest.raises(BadInput, match="its documents are of 'table', not of a folder"):
        ingest("folder", site, tmp_path / "none", since=other.path)
    (site / "1.md").unlink()
    monkeypatch.setattr(
        "ssi_core.corpus.web.folder.store.code_of", lambda make: {"digest": "other"}
    )
    made = ingest("folder", site, tmp_path / "made", since=first.path)
    assert "another version of ssi" in made.counts["since"]["not_used_because"]
    assert manifest.counts["documents"] == made.counts["documents"] + 1


ROWS = [
    *({"nr": f"a{n}", "words": f"text of {n}", "kind": n % 2, "links": [f"a{n + 1}"]}
      for n in range(6)),
    {"nr": "a1", "words": "the id is there before", "links": ["a5"]},
    {"nr": "blank", "words": " ", "links": ["a1"]},
    {"nr": "a7", "words": None},
    {"words": "no id"},
]  # fmt: skip
HOW = {"columns": {"id": "nr", "text": "words"}, "labels": ["kind"]}


def lines(rows):
    return "".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows)


CHANGED = [
    {"nr": "new", "words": "a new text", "links": ["a0"]},
    ROWS[6],  # the text of its id is that of another row now
    *ROWS[:2],
    "{broken\n",
    "\n",
    {**ROWS[2], "words": "another text"},
    {**ROWS[3], "kind": 7},
    *ROWS[5:],
    ROWS[5],
]


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz"])
def test_lines_that_did_not_change_are_not_parsed(suffix, tmp_path, monkeypatch):
    path = tmp_path / f"rows{suffix}"
    write = (
        path.write_text
        if suffix == ".jsonl"
        else lambda text: path.write_bytes(gzip.compress(text.encode()))
    )
    write(lines(ROWS))
    first = ingest("table", [path], tmp_path / "first", **HOW)
    write(lines(CHANGED))
    whole = ingest("table", [path], tmp_path / "whole", **HOW)
    parsed, read = [], table.json_rows

    def told(numbered, columns):
        new = list(numbered)
        parsed.extend(number for number, _ in new)
        return read(new, columns)

    monkeypatch.setattr(table, "json_rows", told)
    made = ingest("table", [path], tmp_path / "made", since=first.path, **HOW)
    same(made, whole)
    # The repeated id, what is broken, empty, blank or without an id, and what is new or changed.
    assert parsed == [1, 2, 5, 6, 7, 8, 10, 11, 12, 13]
    assert made.counts["since"] == {"taken": 4, "kept": 2, "changed": 3, "new": 1, "gone": 1}
    assert open_collection(made.path).links.collect().height == made.counts["links"] > 3


def test_lines_are_taken_over_several_blocks_and_files(tmp_path, monkeypatch):
    monkeypatch.setattr("ssi_core.corpus.tables.lines.BLOCK_BYTES", 100)
    paths = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    paths[0].write_text(lines(ROWS[:4]))
    paths[1].write_text(lines(ROWS[4:]))
    first = ingest("table", paths, tmp_path / "first", **HOW)
    assert len(list((first.path / "documents").iterdir())) > 2
    paths[0].write_text(lines(ROWS[:1]))
    paths[1].write_text(lines(ROWS[2:]))
    whole = ingest("table", paths, tmp_path / "whole", **HOW)
    made = ingest("table", paths, tmp_path / "made", since=first.path, **HOW)
    same(made, whole)
    assert made.counts["since"] == {"taken": 5, "kept": 5, "changed": 1, "new": 0, "gone": 0}


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_other_tables_are_read_whole_and_compared(suffix, tmp_path):
    path = tmp_path / f"rows{suffix}"
    names = {".csv": "write_csv", ".parquet": "write_parquet"}
    frame = pl.DataFrame({"id": ["a", "b", "c"], "text": ["one", "two", "three"]})
    getattr(frame, names[suffix])(path)
    first = ingest("table", [path], tmp_path / "first")
    changed = pl.DataFrame({"id": ["a", "c", "d"], "text": ["one", "3", "four"]})
    getattr(changed, names[suffix])(path)
    whole = ingest("table", [path], tmp_path / "whole")
    made = ingest("table", [path], tmp_path / "made", since=first.path)
    same(made, whole)
    assert made.counts["since"] == {"taken": 0, "kept": 1, "changed": 1, "new": 1, "gone": 1}


def test_a_table_of_other_columns_is_read_anew(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(lines(ROWS))
    first = ingest("table", [path], tmp_path / "first", **HOW)
    made = ingest("table", [path], tmp_path / "made", since=first.path, columns=HOW["columns"])
    assert "other settings" in made.counts["since"]["not_used_because"]
