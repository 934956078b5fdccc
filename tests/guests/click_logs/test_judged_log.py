"""Judged lists beside the clicks of a log."""

import polars as pl
import pytest

from ssi_core import collection
from ssi_core.collection import open_collection
from ssi_core.command.library import library
from ssi_core.command.verb import run
from ssi_core.corpus.texts import id_of
from ssi_core.guests.click_logs.columns import parse_map
from ssi_core.types import BadInput
from tests.guests.click_logs import logs

WORDED = {"query_text": "query", "document": "url", "document_text": "title", "clicks": "clicks"}
LOG = "query,url,title,clicks\nold car,u1,Cars of old,3\nold car,u2,Engines,1\nmoon,u3,The Moon,2\n"
JUDGED = "query,document,grade\nold car,u3,0\nnew car,u1,4\nnew car,u9,2\nnew car,u2,1.5\n"


@pytest.fixture
def log(tmp_path):
    (tmp_path / "judged.csv").write_text(JUDGED)
    (tmp_path / "log.csv").write_text(LOG)
    return tmp_path / "log.csv"


def judgements(made):
    """(wording, document) -> grade."""
    found = open_collection(made.path)
    queries = pl.read_parquet(found.parts("queries"), glob=False).select(source="id", text="text")
    rows = found.frame("relations/judgement").join(queries, on="source")
    return {
        (text, url): grade for text, url, grade in rows.select("text", "target", "grade").rows()
    }


EXPECTED = {("old car", "u3"): 0.0, ("new car", "u1"): 4.0, ("new car", "u2"): 1.5}


def test_a_judged_wording_is_the_query_of_the_log_or_a_new_one(log, tmp_path):
    form = parse_map({"columns": WORDED})
    made = logs.ingest([log], form, tmp_path / "out", judgements=tmp_path / "judged.csv")
    assert judgements(made) == EXPECTED
    found = open_collection(made.path)
    assert set(found.names("queries")["id"]) == {id_of(q) for q in ("old car", "moon", "new car")}
    assert set(found.relations) == {"click", "judgement"}
    assert found.frame("relations/click").height == 3
    counts = made.counts
    assert (counts["queries"], counts["judgements"], counts["judged_queries"]) == (3, 3, 1)
    assert (counts["judged_documents"], counts["judged_queries_clicked"]) == (3, 1)
    assert counts["pairs_of_judged_documents"] == 3
    assert counts["gains"] == {"0": 0.0, "1.5": 1.5, "4": 4.0}
    assert made.skipped["judgement_unknown_document"] == 1
    assert made.key != logs.ingest([log], form, tmp_path / "bare").key


def test_qrels_name_queries_and_documents_by_the_ids_of_the_tables(tmp_path):
    (tmp_path / "log.csv").write_text("query,url,clicks\n007,u1,3\n")
    (tmp_path / "queries.csv").write_text("id,text\n007,old car\n8,new car\n9,the moon\n")
    (tmp_path / "titles.csv").write_text("id,text\nu1,Cars of old\nu2,Engines\n")
    (tmp_path / "qrels.txt").write_text("007 0 u2 1\n8 0 u1 3\n10 0 u1 2\n")
    columns = {"query": "query", "document": "url", "clicks": "clicks"}
    tables = {side: tmp_path / f"{name}.csv" for side, name in
              (("queries", "queries"), ("documents", "titles"), )}  # fmt: skip
    made = logs.ingest(
        [tmp_path / "log.csv"], parse_map({"columns": columns}), tmp_path / "out", **tables,
        judgements=tmp_path / "qrels.txt",
    )  # fmt: skip
    assert judgements(made) == {("old car", "u2"): 1.0, ("new car", "u1"): 3.0}
    assert set(open_collection(made.path).names("queries")["id"]) == {"007", "8"}
    assert made.skipped["judgement_unknown_query"] == 1


def test_judgements_of_other_documents_are_refused(log, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("query,document,grade\nmoon,x1,2\n")
    with pytest.raises(BadInput, match=r"other.csv: .*1 judgement_unknown_document.*as the log"):
        logs.ingest([log], parse_map({"columns": WORDED}), tmp_path / "out", judgements=other)


def test_a_judged_log_that_has_grown_is_read_on(log, tmp_path):
    form = parse_map({"columns": WORDED})
    how = {"judgements": tmp_path / "judged.csv"}
    first = logs.ingest([log], form, tmp_path / "first", **how)
    log.write_text(LOG + "sun,u1,Cars of old,1\n")
    second = logs.ingest([log], form, tmp_path / "second", since=first.path, **how)
    assert judgements(second) == EXPECTED
    assert second.key == logs.ingest([log], form, tmp_path / "whole", **how).key
    assert second.counts["queries"] == 4


def test_the_verb_takes_judgements(log, tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "root"))
    lines = [f'{role} = "{name}"' for role, name in WORDED.items()]
    (tmp_path / "map.toml").write_text("\n".join(["[columns]", *lines]))
    out = tmp_path / "out"
    words = ["data", "ingest", "clicks", log, "--map", tmp_path / "map.toml"]
    words += ["--judgements", tmp_path / "judged.csv", "--out", out]
    assert run(library, [str(word) for word in words]) == 0
    assert collection.open_collection(out).relations == ("click", "judgement")
