"""Own texts, night by night: what did not change is not parsed, and the result is the same."""

import hashlib
import shutil

import pytest

from ssi_core import store
from ssi_core.collection import open_collection
from ssi_core.corpus import folder
from ssi_core.corpus.folder import ingest_folder
from ssi_core.types import BadInput


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
    place = tmp_path / "site"
    (place / "inner").mkdir(parents=True)
    for n in range(8):
        (place / f"{n}.md").write_text(f"# Page {n}\n\nwords {n} [next]({n + 1}.md)\n")
    (place / "inner" / "a.html").write_text("<h1>A</h1><p>text <a href='../0.md'>0</a></p>")
    (place / "inner" / "plain.txt").write_text("plain words")
    (place / "blank.md").write_text("  \n")
    (place / "latin.md").write_bytes("caf\xe9".encode("latin-1"))
    return place


def test_pages_that_did_not_change_are_not_parsed(site, tmp_path, monkeypatch):
    first = ingest_folder(site, tmp_path / "first")
    (site / "1.md").write_text("# Page 1\n\nother words [b](inner/b.html)\n")
    (site / "2.md").unlink()
    (site / "3.md").rename(site / "inner" / "3.md")  # its name is the same
    (site / "4.md").rename(site / "four.md")
    (site / "new.md").write_text("# New\n\na new page [one](1.md)\n")
    shutil.copy(site / "5.md", site / "inner" / "5.md")
    whole = ingest_folder(site, tmp_path / "whole")
    parsed = []
    monkeypatch.setattr(
        folder,
        "read_page",
        lambda path, read=folder.read_page: parsed.append(path.name) or read(path),
    )
    made = ingest_folder(site, tmp_path / "made", since=first.path)
    same(made, whole)
    assert sorted(parsed) == ["1.md", "blank.md", "four.md", "latin.md", "new.md"]
    assert made.counts["since"] == {"taken": 8, "kept": 6, "changed": 1, "new": 4, "gone": 3}
    titles = dict(open_collection(made.path).documents.collect().select("id", "title").rows())
    assert titles["inner/3.md"] == "Page 3"
    again = ingest_folder(site, tmp_path / "again", since=made.path)
    assert again.counts["since"] == {"taken": 11, "kept": 11, "changed": 0, "new": 0, "gone": 0}
    same(again, whole)


def test_pages_go_on_over_blocks_of_pages(site, tmp_path, monkeypatch):
    monkeypatch.setattr(folder, "_ROWS", 3)
    first = ingest_folder(site, tmp_path / "first")
    assert len(list((first.path / "documents").iterdir())) > 2
    (site / "0.md").unlink()  # each page is in another block, and part, now
    whole = ingest_folder(site, tmp_path / "whole")
    made = ingest_folder(site, tmp_path / "made", since=first.path)
    same(made, whole)
    assert made.counts["since"]["taken"] == made.counts["documents"]


def test_what_cannot_be_used_is_said(site, tmp_path, monkeypatch):
    first = ingest_folder(site, tmp_path / "first")
    manifest = store.read(first.path)
    other = store.open_or_make("collection", {"source": "table"}, {}, lambda building: None)
    with pytest.raises(BadInput, match="its documents are of 'table', not of a folder"):
        ingest_folder(site, tmp_path / "none", since=other.path)
    (site / "1.md").unlink()
    monkeypatch.setattr("ssi_core.corpus.folder.store.code_of", lambda make: {"digest": "other"})
    made = ingest_folder(site, tmp_path / "made", since=first.path)
    assert "another version of ssi" in made.counts["since"]["not_used_because"]
    assert manifest.counts["documents"] == made.counts["documents"] + 1
