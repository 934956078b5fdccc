import gzip

import polars as pl
import pytest

from ssi_core.collection import open_collection
from ssi_core.datasets.smart import read_records
from ssi_core.types import BadInput
from tests.corpora import judged_pairs
from tests.datasets.dumps import real_data
from tests.sources import ingest

DOCUMENTS = """.I 1
.T
wing in a
slipstream .
.A
brenckman,m.
.B
j. ae. scs. 25, 1958
.W
wing in a slipstream .
  an experimental study
.I 2
.W
no title
.K
heat, flow
.I 1
0
.T
over two lines
.W
.X
3	5	1
"""
QUERIES = ".I 001\n.W\nwhat laws\n.I 007\n.W\nwhich wings\n.I 9\n.W\nunjudged\n"


def write(directory, judgements, documents=DOCUMENTS, names=None, zipped=True):
    directory.mkdir()
    texts = (documents, QUERIES, judgements)
    for name, text in zip(names or ("cran.all.1400", "cran.qry", "cranqrel"), texts, strict=True):
        path = directory / (name + ".gz" if zipped else name)
        path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    return directory


def table(made, name):
    return pl.read_parquet(made.path / name / "*.parquet")


def test_cranfield_counts_its_queries_and_grades_backwards(tmp_path):
    """Query 2 of the judgements is the second of the file; code 1 is best, -1 is grade 0."""
    lines = "1 1 1 \r\n1 2 4\n1 10 -1\n2 2 2\n\n2 2 3\n2 77 1\n8 1 1\n"
    made = ingest("collection", write(tmp_path / "in", lines), tmp_path / "out")
    assert judged_pairs(made.path).rows() == [
        ("1", "1", 4), ("1", "2", 1), ("1", "10", 0), ("7", "2", 3),
    ]  # fmt: skip
    assert table(made, "queries").select("id", "text").rows() == [
        ("1", "what laws"), ("7", "which wings"), ("9", "unjudged"),
    ]  # fmt: skip
    assert made.counts == {
        "documents": 3, "queries": 3, "judged_queries": 2,
        "judgements": 4, "judgements_not_relevant": 1, "judgements_found": 7,
        "gains": {"0": 0, "1": 1, "3": 3, "4": 4},
    }  # fmt: skip
    assert dict(made.skipped) == {
        "judgement_duplicate": 1, "judgement_of_unknown_document": 1,
        "judgement_of_unknown_query": 1, "field_B": 1, "field_X": 1,
    }  # fmt: skip
    dropped = sum(n for name, n in made.skipped.items() if name.startswith("judgement"))
    assert made.counts["judgements"] + dropped == made.counts["judgements_found"]


def test_texts_have_the_title_once(tmp_path):
    made = ingest("collection", write(tmp_path / "in", "1 1 1\n"), tmp_path / "out")
    documents = open_collection(made.path).documents.collect()
    assert documents["id"].to_list() == ["1", "2", "10"]
    assert documents["title"].to_list() == ["wing in a slipstream .", "2", "over two lines"]
    assert documents["text"].to_list() == [
        "brenckman,m.\nwing in a slipstream . an experimental study",
        "no title\nheat, flow",
        "over two lines",
    ]
    assert open_collection(made.path).links.collect().is_empty()


@pytest.mark.parametrize("names", [("CISI.ALL", "CISI.QRY", "CISI.REL"),
                                   ("cacm.all", "query.text", "qrels.text")])  # fmt: skip
def test_others_judge_by_number_and_every_line_is_relevant(tmp_path, names):
    lines = "     1     1\t0\t0.0\n07 10  0 0\n"
    made = ingest(
        "collection", write(tmp_path / "in", lines, names=names, zipped=False), tmp_path / "out"
    )
    assert judged_pairs(made.path).rows() == [("1", "1", 1), ("7", "10", 1)]


def test_a_second_ingestion_finds_it_up_to_date(tmp_path):
    source = write(tmp_path / "in", "1 1 1\n")
    assert ingest("collection", source, tmp_path / "out") == ingest(
        "collection", source, tmp_path / "out"
    )


@pytest.mark.parametrize(
    ("judgements", "documents", "said"),
    [
        ("1 1 9\n", DOCUMENTS, "line 1 is '1 1 9', expected .* one of 1, 2, 3, 4, -1"),
        ("1 1 1\nfoo 1 1\n", DOCUMENTS, "line 2"),
        ("1 1\n", DOCUMENTS, "line 1"),
        ("1 1 1\n", ".I 1\n.W\nx\n.I 1\n.W\ny\n", "two records have the number 1"),
        ("1 1 1\n", "no marks\n", "no record"),
    ],
)
def test_files_of_another_form(tmp_path, judgements, documents, said):
    source = write(tmp_path / "in", judgements, documents)
    with pytest.raises(BadInput, match=said):
        ingest("collection", source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_files_that_are_missing_or_damaged(tmp_path):
    with pytest.raises(BadInput, match=r"cranfield: cran\.all\.1400.*cacm"):
        ingest("collection", tmp_path / "nowhere", tmp_path / "out")
    source = write(tmp_path / "in", "1 1 1\n")
    file = source / "cran.all.1400.gz"
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(BadInput, match="Restore"):
        ingest("collection", source, tmp_path / "out")
    file.write_bytes(gzip.compress(b".I 1\n.W\n\xff\xfe\n"))
    with pytest.raises(BadInput, match="Restore"):
        ingest("collection", source, tmp_path / "out")


def test_a_field_that_is_there_twice_is_joined(tmp_path):
    (tmp_path / "x").write_text(".I 3\n.W \none\n.A\nme\n.W\ntwo\n")
    (record,) = read_records(tmp_path / "x")
    assert record.text == "me\none two"


@pytest.mark.parametrize(
    ("name", "documents", "queries", "judged", "judgements", "relevant"),
    [
        ("cranfield", 1400, 225, 225, 1837, 1612),
        ("cisi", 1460, 112, 76, 3114, 3114),
        ("cacm", 3204, 64, 52, 796, 796),
    ],
)
def test_the_published_collections(
    tmp_path, name, documents, queries, judged, judgements, relevant
):
    made = ingest("collection", real_data("ir-test-collections", name), tmp_path / "out")
    found = made.counts
    assert found["documents"] == documents
    assert (found["queries"], found["judged_queries"]) == (queries, judged)
    assert found["judgements_found"] == found["judgements"] == judgements
    assert found["judgements"] - found["judgements_not_relevant"] == relevant
