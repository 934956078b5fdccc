"""Judged queries beside documents that are read: formats, what is counted, what is refused."""

import gzip
import json
import logging

import polars as pl
import pytest

import ssi_core as ssi
from ssi_core.collection import open_collection
from ssi_core.corpus.judged.queries import read_judgements, read_queries
from ssi_core.types import BadInput
from tests.sources import ingest

ASKED = [("07", "old cars"), ("q2", "new moons")]
JUDGED = [("07", "a", 2.0), ("07", "b", 0.0), ("q2", "c/d.md", 1.0)]


def written(path, text):
    if path.suffix == ".gz":
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.write(text)
    else:
        path.write_text(text, encoding="utf-8")
    return path


def tsv(rows, header=None):
    lines = [header] if header else []
    return "".join("\t".join(map(str, row)) + "\n" for row in [*lines, *rows])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("q.tsv", tsv(ASKED, ("id", "query"))),
        ("q.tsv.gz", tsv(ASKED, ("qid", "text"))),
        ("q.tsv", tsv(ASKED)),
        ("queries", tsv(ASKED)),
        ("q.csv", "text,query_id\nold cars,07\nnew moons,q2\n"),
        ("q.jsonl", "".join(json.dumps({"_id": i, "text": t}) + "\n" for i, t in ASKED)),
    ],
)
def test_queries_are_read_in_every_format(tmp_path, name, text):
    assert read_queries(written(tmp_path / name, text)).rows() == ASKED


def test_topics_of_trec_are_known_by_their_numbers(tmp_path):
    topics = "<top>\n<num> Number: 051\n<title> old cars\n</top>\n"
    assert read_queries(written(tmp_path / "topics.txt", topics)).rows() == [("51", "old cars")]
    docs = ssi.read([{"id": "a", "text": "cars"}, {"id": "b", "text": "moons"}])
    qrels = written(tmp_path / "qrels.txt", "051 0 a 1\n")
    made = ingest("judged", docs.path, queries=tmp_path / "topics.txt", qrels=qrels)
    assert made.counts["judged_queries"] == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.tsv", tsv(JUDGED, ("query", "document", "grade"))),
        ("r.tsv", tsv(JUDGED, ("query-id", "corpus-id", "score"))),
        ("r.tsv", tsv(JUDGED)),
        ("r.qrels", "".join(f"{q} 0  {d} {g}\n" for q, d, g in JUDGED)),
        ("r.txt", "".join(f"{q}\tQ0\t{d}\t{g}\n" for q, d, g in JUDGED)),
        ("r.csv", "grade,docid,qid\n2,a,07\n0,b,07\n1,c/d.md,q2\n"),
        ("r.txt.gz", "".join(f"{q} 0 {d} {g}\n" for q, d, g in JUDGED)),
    ],
)
def test_judgements_are_read_in_every_format(tmp_path, name, text):
    assert read_judgements(written(tmp_path / name, text)).rows() == JUDGED


@pytest.mark.parametrize(
    ("read", "name", "text", "problem"),
    [
        (read_queries, "q.tsv", "q1\tcars\nq2 moons\n", "line 2 is 'q2 moons', expected an id, a"),
        (read_queries, "q.csv", "id,words\nq1,cars\n", "no column for the text: it has id, words"),
        (read_queries, "q.tsv", None, "there is no such file"),
        (read_judgements, "r.tsv", "q1\ta\tgood\n", "line 1 has 'q1', 'a' and 'good'"),
        (read_judgements, "r.tsv", "query\tdocument\tgrade\nq1\ta\tx\n", "line 2 has 'q1'"),
        (read_judgements, "r.qrels", "q1 0 a 1\nq1 a\n", "line 2 is 'q1 a', expected a query, an"),
        (read_judgements, "r.csv", "query,page\nq1,a\n", "no column for the document"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path, read, name, text, problem):
    if text is not None:
        written(tmp_path / name, text)
    with pytest.raises(BadInput, match=problem):
        read(tmp_path / name)


@pytest.fixture(autouse=True)
def _own_root(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "root"))


@pytest.fixture(scope="module")
def docs():
    rows = [{"id": name, "text": f"a text of {name}"} for name in ("a", "b", "c/d.md")]
    return ssi.read(rows, links=[("a", "b"), ("b", "c/d.md")])


def judged(docs, tmp_path, queries, qrels):
    files = written(tmp_path / "q.tsv", queries), written(tmp_path / "r.tsv", qrels)
    return ingest("judged", docs.path, queries=files[0], qrels=files[1])


def test_documents_keep_their_links_and_get_queries(docs, tmp_path):
    made = open_collection(judged(docs, tmp_path, tsv(ASKED), tsv(JUDGED)).path)
    assert made.relevant == ("judgement", "link")
    assert made.documents.collect().equals(docs.frame)
    assert made.links.collect().equals(docs.links)
    assert made.names("queries")["id"].to_list() == ["07", "q2"]
    assert made.frame("relations/judgement")["grade"].to_list() == [2.0, 0.0, 1.0]
    counts = made.artefact.counts
    assert (counts["documents"], counts["links"], counts["judgements"]) == (3, 2, 3)
    assert "query_without_relevant_document" not in made.artefact.skipped


def test_ids_that_pandas_made_floats_of_are_whole_numbers(tmp_path):
    docs = ssi.read([{"id": n, "text": f"a text of {n}"} for n in range(3)])
    made = judged(
        docs, tmp_path, tsv([(7, "one"), (8, "two")]), tsv([("7.0", "1.0", 1), (8, 2, 1)])
    )
    found = open_collection(made.path).frame("relations/judgement")
    assert found.select("source", "target").rows() == [("7", "1"), ("8", "2")]


def test_queries_and_documents_that_do_not_meet_are_counted_and_said(docs, tmp_path, caplog):
    asked = [*ASKED, ("q3", "no judgement"), ("q4", "none that exists"), ("q5", "irrelevant")]
    rows = [*JUDGED, ("q4", "x", 1), ("q5", "a", 0), ("q9", "a", 1)]
    with caplog.at_level(logging.WARNING):
        made = judged(docs, tmp_path, tsv(asked), tsv(rows))
    assert made.skipped["query_without_relevant_document"] == 3
    assert made.skipped["judgement_unknown_document"] == 1
    assert made.skipped["judgement_unknown_query"] == 1
    assert "3 of 5 queries have no relevant document, such as 'q3', 'q4', 'q5'" in caplog.text
    assert "1 of 4 judged documents do not exist, such as 'x'" in caplog.text


@pytest.mark.parametrize(
    ("queries", "qrels", "named"),
    [
        (
            tsv(ASKED),
            tsv([("07", "1", 1), ("q2", "2", 1)]),
            r"'1', '2', where .*'a', 'b', 'c/d.md'",
        ),
        (tsv(ASKED), tsv([("x", "a", 1)]), r"'x', where q.tsv has '07', 'q2'"),
    ],
)
def test_files_that_have_nothing_in_common_are_refused_with_ids_of_both(
    docs, tmp_path, queries, qrels, named
):
    with pytest.raises(BadInput, match=named):
        judged(docs, tmp_path, queries, qrels)


def test_a_collection_with_queries_is_refused(docs, tmp_path):
    made = judged(docs, tmp_path, tsv(ASKED), tsv(JUDGED))
    with pytest.raises(BadInput, match="it has queries already"):
        ingest("judged", made.path, queries=tmp_path / "q.tsv", qrels=tmp_path / "r.tsv")


def test_frames_and_rows_in_memory_are_taken(docs):
    from ssi_core.face.fit_tasks import with_judgements

    queries = pl.DataFrame(ASKED, schema=["id", "text"], orient="row")
    made = with_judgements(docs, queries, JUDGED, {})
    assert made.counts["judgements"] == 3
    with pytest.raises(BadInput, match="give both"):
        with_judgements(docs, queries, None, {})
