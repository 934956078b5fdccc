"""Query logs with judgements: what is clicked, what is judged, and what is left out."""

import gzip
import json

import polars as pl
import pytest

from ssi_core import collection, store
from ssi_core.collection import open_collection
from ssi_core.corpus.texts import id_of
from ssi_core.datasets.query_log import JUDGED, PAIRS, QueryLog, write_query_log
from ssi_core.datasets.wikiqa import DEV, TRAIN
from ssi_core.datasets.zzquerylog import QUERIES, is_judged
from ssi_core.types import BadInput
from tests.datasets.dumps import real_data
from tests.sources import ingest

HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"


def written(path, pairs, judgements, shards=1, titles=("A b", "C d", "E f")):
    """A query log of rows (text, document, clicks) and (text, document, grade)."""
    frames = [
        pl.DataFrame([(*row, None)], schema=PAIRS, orient="row") for row in pairs
    ]  # a frame for each row: rows of a pair meet in different frames

    def make(building):
        documents = pl.DataFrame({"id": [f"d{n}" for n in range(len(titles))], "title": titles})
        judged = pl.DataFrame(judgements, schema=JUDGED, orient="row") if judgements else None
        write_query_log(building, QueryLog(frames, [documents], judged, "en", path, shards))

    return store.open_or_make(collection.KIND, {"shards": shards}, {}, make, out=path)


def named(made, relation):
    """Rows of a relation with the wording of the query in the place of its id."""
    queries = pl.read_parquet(made.path / "queries" / "*.parquet").select(source="id", text="text")
    assert queries["source"].is_unique().all()
    assert queries["source"].to_list() == sorted(queries["source"])
    return open_collection(made.path).frame(f"relations/{relation}").join(queries, on="source")


PAIRS_OF_A_TEST = [("Old  CAR", "d0", 2), ("moon", "d1", 1), ("old car", "d0", 3), ("...", "d1", 9)]
JUDGEMENTS = [("Moon", "d2", 3.0), ("sun", "d1", 0.0), ("moon ", "d2", 1.0), ("moon", "d9", 1.0)]


@pytest.mark.parametrize("shards", [1, 7])
def test_a_wording_is_one_query_and_all_is_accounted_for(tmp_path, shards):
    made = written(tmp_path / "log", PAIRS_OF_A_TEST, JUDGEMENTS, shards)
    clicks = named(made, "click")
    assert set(clicks.select("text", "target", "clicks", "weight").rows()) == {
        ("old car", "d0", 5, 5.0), ("moon", "d1", 1, 1.0)
    }  # fmt: skip
    assert clicks["source"].to_list() == sorted(clicks["source"])
    assert clicks.columns == [*collection.ENDS, "shown", "clicks", "weight", "grade", "text"]
    judged = named(made, "judgement")
    assert set(judged.select("text", "target", "grade").rows()) == {
        ("moon", "d2", 3.0), ("sun", "d1", 0.0)
    }  # fmt: skip
    expected = {
        "queries": 3, "documents": 3, "pairs": 2, "clicks": 6, "judged_queries": 1,
        "judgements": 2, "judgements_found": 4, "judged_documents": 2,
        "judged_queries_clicked": 1, "pairs_of_judged_documents": 1,
    }  # fmt: skip
    assert {name: made.counts[name] for name in expected} == expected
    assert made.skipped == {
        "judgement_repeated": 1, "judgement_unknown_document": 1, "pair_query_without_words": 1
    }  # fmt: skip


def test_shards_do_not_change_what_is_written(tmp_path):
    pairs = [(f"query {n % 300}", f"d{n % 3}", 1) for n in range(700)]
    one, many = (written(tmp_path / f"{shards}", pairs, JUDGEMENTS, shards) for shards in (1, 5))
    for table in ("queries", "relations/click"):
        texts = [pl.read_parquet(made.path / table / "*.parquet") for made in (one, many)]
        assert texts[0].equals(texts[1])


def test_a_log_without_judgements_has_no_such_relation_and_no_clicks_are_refused(tmp_path):
    made = written(tmp_path / "log", PAIRS_OF_A_TEST, [])
    assert open_collection(made.path).relations == ("click",)
    with pytest.raises(BadInput, match="no query has a title that was clicked on"):
        written(tmp_path / "none", [("!", "d0", 1)], JUDGEMENTS)
    with pytest.raises(BadInput, match="of 1 judgements beside it none has a grade above 0"):
        written(tmp_path / "zero", PAIRS_OF_A_TEST, JUDGEMENTS[1:2])


def questions(directory, train, dev):
    directory.mkdir(exist_ok=True)
    for name, rows in ((TRAIN, train), (DEV, dev)):
        with gzip.open(directory / name, "wt") as file:
            file.write(HEADER + "".join("\t".join(row) + "\n" for row in rows))
    return directory


ASKED = [
    ("Q1", "how old is the moon?", "D1", "Moon", "D1-0", "It is round .", "0"),
    ("Q1", "how old is the moon?", "D1", "Moon", "D1-1", "It is 4 billion years old .", "1"),
    ("Q2", "who sees it", "D1", "Moon", "D1-0", "It is round .", "0"),
]
HELD_OUT = [
    ("Q3", "is it round", "D1", "Moon", "D1-0", "It is round .", "1"),
    ("Q3", "is it round", "D1", "Moon", "D1-1", "It is 4 billion years old .", "0"),
]


def test_answers_are_clicked_and_sentences_of_held_out_questions_judged(tmp_path):
    made = ingest("wikiqa", questions(tmp_path / "in", ASKED, HELD_OUT), tmp_path / "out")
    assert named(made, "click").select("text", "target").rows() == [
        ("how old is the moon?", "D1-1")
    ]
    judged = named(made, "judgement").select("text", "target", "grade")
    assert set(judged.rows()) == {("is it round", "D1-0", 1.0), ("is it round", "D1-1", 0.0)}
    sentences = open_collection(made.path).documents.collect()
    assert sentences["text"].to_list() == sentences["title"].to_list()
    assert made.counts["documents"] == 2
    assert made.skipped == {"question_without_answer": 1}


def test_a_damaged_question_names_its_line(tmp_path):
    wrong = [*ASKED, ("Q4", "a question", "1")]
    with pytest.raises(BadInput, match=r"WikiQA-train.tsv.gz: line 5 is .* the label 0 or 1"):
        ingest("wikiqa", questions(tmp_path / "in", wrong, HELD_OUT), tmp_path / "out")


def test_the_published_questions(tmp_path):
    made = ingest("wikiqa", real_data("wikiqa"), tmp_path / "out")
    expected = {
        "rows": 20_360 + 2733, "questions": 2118, "pairs": 1040, "judgements": 2733,
        "queries": 873 + 296, "judged_queries": 126, "documents": 21_090,
    }  # fmt: skip
    assert {name: made.counts[name] for name in expected} == expected
    assert made.skipped == {"question_without_answer": 2118 - 873}


def results(*labelled):
    return [
        {"label": label, "clicks": clicks, "average_position": 1.0} for label, clicks in labelled
    ]


def sports(directory, queries):
    directory.mkdir(exist_ok=True)
    with gzip.open(directory / QUERIES, "wt") as file:
        json.dump(queries, file)
    return directory


def test_a_fifth_of_the_queries_has_grades_in_the_place_of_clicks(tmp_path):
    words = [f"club {n}" for n in range(40)]
    shares = results(("A", 80), ("B", 15), ("A ", 5)), results(("A", 50), ("B", 30), ("C", 20))
    queries = [{"query": word, "results": shares[n % 2]} for n, word in enumerate(words)]
    made = ingest("zzquerylog", sports(tmp_path / "in", queries), tmp_path / "out")
    clicks, judged = named(made, "click"), named(made, "judgement")
    held_out = {word for word in words if is_judged(word)}
    assert 0 < len(held_out) < 20
    assert set(judged["text"]) == held_out
    assert set(clicks["text"]) == set(words) - held_out
    grades = {
        (n % 2, label): grade
        for n, word in enumerate(words)
        for label in "ABC"
        for grade in judged.filter(text=word, target=id_of(label))["grade"]
    }
    assert grades == {(0, "A"): 3, (0, "B"): 0, (1, "A"): 2, (1, "B"): 1, (1, "C"): 0}
    # Not as the file has them, which is by clicks.
    documents = pl.read_parquet(made.path / "documents" / "*.parquet")["id"].to_list()
    assert documents == sorted(map(id_of, "ABC"))
    assert made.counts["results"] == 120
    assert made.skipped == {"result_summed": 20}


def test_a_damaged_result_names_its_query(tmp_path):
    queries = [{"query": "a", "results": results(("A", 1))}, {"query": "b", "results": [{}]}]
    with pytest.raises(BadInput, match=f"{QUERIES}: query 2: KeyError: 'label'"):
        ingest("zzquerylog", sports(tmp_path / "in", queries), tmp_path / "out")
    for wrong in (("", 1), ("A", -1)):
        queries = [{"query": "a", "results": results(("A", 0), wrong)}]
        said = f"query 1: ValueError: label {wrong[0]!r}, clicks {wrong[1]}; expected"
        with pytest.raises(BadInput, match=said):
            ingest("zzquerylog", sports(tmp_path / "in", queries), tmp_path / "out")
    with pytest.raises(BadInput, match="expected a JSON list of queries"):
        ingest("zzquerylog", sports(tmp_path / "in", {"query": "a"}), tmp_path / "out")


def test_the_published_sports_queries(tmp_path):
    made = ingest("zzquerylog", real_data("zzquerylog"), tmp_path / "out")
    expected = {
        "queries": 461, "documents": 3993, "pairs": 4400, "judgements": 959, "results": 6856,
        "judged_queries": 85,
    }  # fmt: skip
    assert {name: made.counts[name] for name in expected} == expected
    assert made.counts["pairs"] + made.counts["judgements"] + 1497 == 6856
    documents = pl.read_parquet(made.path / "documents" / "*.parquet")["id"].to_list()
    assert documents == sorted(documents)


def test_the_grade_of_a_share_is_that_of_the_publisher():
    from ssi_core.datasets.zzquerylog import grade_of

    directory = real_data("zzquerylog")
    with gzip.open(directory / QUERIES, "rt") as file:
        queries = {query["query_id"]: query["results"] for query in json.load(file)}
    with gzip.open(directory / "zz_query_log_qrels.txt.gz", "rt") as file:
        judgements = [line.split() for line in file]
    assert len(judgements) > 250
    for query, _, entity, grade in judgements:
        total = sum(result["clicks"] for result in queries[query])
        shares = [r["clicks"] / total for r in queries[query] if r.get("entity_id") == entity]
        assert grade_of(max(shares)) == int(grade)
