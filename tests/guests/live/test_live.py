"""A searcher whose documents change, and the file that keeps the changes."""

import os
import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ssi_core.guests.live.changes import Changes, DamagedDocuments
from ssi_core.guests.live.searcher import Document, LiveSearcher
from ssi_core.serving.explain import explain
from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.searcher import Searcher
from ssi_core.types import BadInput, Refused
from tests.robust.tally import attempt
from tests.serving.models import TEXTS, TITLES, documents, random_models

MODELS = random_models(0)
NAMED = [f"{model.model.name}-{i}" for i, model in enumerate(MODELS)]
QUERIES = ["car automobile moon wheel road rocket engine planet", "moon", "unheard"]
ALL = [Document(f"d{i}", *of) for i, of in enumerate(zip(TITLES, TEXTS, strict=True))]


def searcher(fitted, path, rows):
    own = documents(dict(fitted.document_views)).take(rows)
    build_index(fitted, own, path, parents={"rows": str(rows)})
    return Searcher(fitted, open_index(path))


def alike(one, other):
    assert [hit.id for hit in one.hits] == [hit.id for hit in other.hits]
    scores = [[hit.score for hit in answer.hits] for answer in (one, other)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-5, abs=1e-6)
    assert one.reason == other.reason


@pytest.mark.parametrize("fitted", MODELS, ids=NAMED)
def test_an_added_document_is_found_as_if_it_had_been_indexed(tmp_path, fitted):
    whole = searcher(fitted, tmp_path / "whole", slice(0, 6))
    part = LiveSearcher(searcher(fitted, tmp_path / "part", slice(0, 3)))
    one_by_one = part.put(ALL[3:4]).put(ALL[4:5]).put(ALL[5:])
    at_once = part.put(ALL[3:])
    for k in (1, 3, 6, 9):
        for live in (one_by_one, at_once):
            for one, other in zip(whole.search(QUERIES, k), live.search(QUERIES, k), strict=True):
                alike(one, other)
    assert (len(part), len(at_once), at_once.added) == (3, 6, 3)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """A searcher of three documents."""
    return searcher(MODELS[0], tmp_path_factory.mktemp("three") / "index", slice(0, 3))


@settings(max_examples=20)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), max_size=12))
def test_any_order_of_changes_ends_with_the_documents_that_are_left(
    tmp_path_factory, three, changes
):
    live = LiveSearcher(three)
    store = Changes(tmp_path_factory.mktemp("any") / "documents.db")
    left = {"d0", "d1", "d2"}
    for comes, row in changes:
        document = ALL[row]
        if comes:
            live, left = live.put([document]), left | {document.id}
            store.put([document])
        else:
            live, left = live.drop([document.id]), left - {document.id}
            store.drop([document.id])
    added, gone = store.read()
    again = LiveSearcher(live._base).put(added).drop(gone)
    for each in (live, again):
        assert {hit.id for hit in each.search(QUERIES, 9)[0].hits} == left
        assert each.known([document.id for document in ALL]) == left
        assert len(each) == len(left)


def test_what_searches_in_the_old_searcher_goes_on_undisturbed(tmp_path):
    live = LiveSearcher(searcher(MODELS[0], tmp_path / "index", slice(0, 3)))
    before = live.search(QUERIES, 9)
    changed = live.put(ALL[3:]).drop(["d0"])
    assert live.search(QUERIES, 9) == before != changed.search(QUERIES, 9)


def test_the_last_of_several_with_one_id_counts(tmp_path):
    live = LiveSearcher(searcher(MODELS[0], tmp_path / "index", slice(0, 3)))
    twice = [Document("d1", "first", "moon"), Document("d1", "last", "car car engine")]
    hits = live.put(twice).search(["car engine moon"], 9)[0].hits
    assert [hit.title for hit in hits if hit.id == "d1"] == ["last"]
    assert live.put([]) is live


@pytest.mark.parametrize("name", ["d1", "Automobile", "n", "New"])
def test_an_added_document_is_explained_like_any_other(tmp_path, name):
    live = LiveSearcher(searcher(MODELS[-1], tmp_path / "index", slice(0, 3)))
    live = live.put([Document("n", "New", "car moon road")])
    query = "car automobile road"
    found = explain(live, query, name)
    scores = {hit.id: hit.score for hit in live.search([query], 9)[0].hits}
    assert found.score == pytest.approx(scores["n" if name in ("n", "New") else "d1"], rel=1e-4)
    assert sum(part.part for part in found.parts) + found.rest == pytest.approx(found.score)


def test_changes_are_there_after_a_restart(tmp_path):
    path = tmp_path / "some" / "documents.db"
    first = Changes(path)
    first.put(ALL[:3])
    first.put([Document("d1", "紅葉", "京都の紅葉 \x00")])
    first.drop(["d2", "d9"])
    again = Changes(path)
    assert again.read() == ([ALL[0], Document("d1", "紅葉", "京都の紅葉 \x00")], ["d2", "d9"])


def damaged(path, statement):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


@pytest.mark.hostile("databases")
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE rows SET text = 'other' WHERE id = 'd1'", r"the row 'd1' was changed"),
        ("UPDATE rows SET title = NULL", r"the row 'd0' and 1 more was changed"),
        ("UPDATE rows SET id = 'e' WHERE id = 'd1'", r"the row 'e' was changed"),
        ("UPDATE rows SET text = CAST(text AS BLOB) WHERE id = 'd1'", r"the row 'd1' was changed"),
        ("UPDATE rows SET digest = '0' WHERE id = 'd1'", r"the row 'd1' was changed"),
        ("DELETE FROM rows WHERE id = 'd1'", r"the number of its rows \(2\) was changed"),
        ("UPDATE total SET digests = '0'", r"the number of its rows \(3\) was changed"),
        ("UPDATE total SET digests = 'x'", r"the file \(a digest cannot be read\)"),
        ("DELETE FROM total", r"the file \(the number of its rows cannot be read\)"),
        ("DROP TABLE rows", r"the file \(no such table"),
    ],
)
def test_what_was_changed_is_named_and_not_served(statement, said, tmp_path):
    path = tmp_path / "documents.db"
    changes = Changes(path)
    changes.put(ALL[:2])
    changes.drop(["d9"])
    damaged(path, statement)
    message = f"{said}.*ssi data store repair '{path}'"
    with pytest.raises(DamagedDocuments, match=message), attempt():
        changes.read()


@pytest.mark.hostile("databases")
def test_a_repair_keeps_what_is_whole_and_names_what_is_not(tmp_path):
    path = tmp_path / "documents.db"
    changes = Changes(path)
    changes.put(ALL[:4])
    changes.drop(["d9"])
    damaged(path, "UPDATE rows SET text = 'other' WHERE id = 'd1'")
    damaged(path, "DELETE FROM rows WHERE id = 'd2'")
    with attempt():
        found = Changes.repair(path)
    assert (found.kept, found.lost, found.damaged) == (3, 1, ["d1"])
    assert Changes(path).read() == ([ALL[0], ALL[3]], ["d9"])
    with pytest.raises(DamagedDocuments), attempt():
        Changes(found.before).read()
    Changes(path).put([ALL[1]])
    damaged(path, "UPDATE rows SET text = 'other' WHERE id = 'd0'")
    assert Changes.repair(path).before != found.before
    (tmp_path / "other.db").write_bytes(b"x" * 9000)
    with pytest.raises(BadInput, match=r"no row of it can be read.* mv "), attempt():
        Changes.repair(tmp_path / "other.db")


def test_a_change_is_whole_or_not_there(tmp_path):
    changes = Changes(tmp_path / "documents.db")
    with pytest.raises(UnicodeEncodeError):
        changes.put([ALL[0], Document("bad", "\ud800", "")])
    assert changes.read() == ([], [])


def test_a_file_that_holds_something_else_is_named(tmp_path):
    (tmp_path / "text.db").write_text("no database " * 100)
    with pytest.raises(BadInput, match=r"text.db: no file of documents.*ssi ops restore"):
        Changes(tmp_path / "text.db")
    Changes(tmp_path / "later.db")
    with sqlite3.connect(tmp_path / "later.db") as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(BadInput, match="version 9"):
        Changes(tmp_path / "later.db")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(Refused, match="unable to open"):
        Changes(tmp_path / "documents.db")


def test_a_directory_is_no_file_of_documents(tmp_path):
    with pytest.raises(Refused, match="unable to open"):
        Changes(tmp_path)
