"""The anchor log: what links say, and the titles that they lead to."""

import polars as pl
import pytest

from ssi_core.collection import open_collection
from ssi_core.types import BadInput
from tests.datasets.dumps import page, real_data, write, xml
from tests.sources import ingest

PAGES = (
    page(1, "Car", "A [[car|Motor car]] has a [[wheel]], an [[engine]] and [[wheel]]s."),
    page(2, "Boat", "A boat is no [[automobile]] and has [[SAM systems|sam systems]]; [[Loop]]."),
    page(3, "Automobile", "#REDIRECT", redirect="Auto"),
    page(4, "Auto", "#REDIRECT", redirect="Car"),
    page(5, "SAM systems", "#REDIRECT", redirect="Surface-to-air missile"),
    page(6, "Loop", "#REDIRECT", redirect="Circle"),
    page(7, "Circle", "#REDIRECT", redirect="Loop"),
    page(8, "Engines", "The [[engine|Engine]], [[Pics:a.jpg]], [[wheel|…]]."),
)
TABLE = "query\tdocument\tgrade\nMotor  Car\tcar\t4\nmotor car\tRace track\t0\n"


@pytest.fixture
def dump(tmp_path):
    return write(tmp_path / "enwiki-pages-articles.xml", xml(*PAGES))


def pairs_of(made):
    """(wording, id of the title) -> clicks."""
    queries = pl.read_parquet(made.path / "queries" / "*.parquet").select(source="id", text="text")
    clicks = open_collection(made.path).frame("relations/click").join(queries, on="source")
    return {(text, title): n for text, title, n in clicks.select("text", "target", "clicks").rows()}


EQUAL = {
    ("wheel", "Wheel"): 1,
    ("engine", "Engine"): 2,
}
OTHER = {
    ("motor car", "Car"): 1,
    ("wheels", "Wheel"): 1,
    ("automobile", "Car"): 2,
    ("auto", "Car"): 1,
    ("sam systems", "Surface-to-air_missile"): 2,
}


@pytest.mark.parametrize("part_bytes", [1, 1 << 20])
def test_words_of_links_find_titles_that_the_dump_lacks(dump, tmp_path, part_bytes):
    made = ingest("anchors", [dump], tmp_path / "out", processes=1, part_bytes=part_bytes)
    assert pairs_of(made) == EQUAL | OTHER
    titles = open_collection(made.path).documents.select("id", "title", "text").collect()
    assert titles.rows() == [
        (title.replace(" ", "_"), title, title)
        for title in ("Car", "Engine", "Surface-to-air missile", "Wheel")
    ]
    counts, skipped = made.counts, made.skipped
    assert skipped == {
        "link_anchor_without_words": 1, "link_other_namespace": 1, "link_to_nowhere": 1,
        "redirect_to_nowhere": 2,
    }  # fmt: skip
    links = sum(n for name, n in skipped.items() if name.startswith("link_"))
    assert counts["links"] + links == counts["links_found"] == 10
    assert counts["clicks"] == counts["links"] + counts["redirects"]
    assert (counts["links_equal"], counts["redirects"], counts["pages"]) == (3, 3, 8)


def test_words_that_are_the_title_can_be_left_out(dump, tmp_path):
    made = ingest("anchors", [dump], tmp_path / "out", equal="drop", processes=1)
    assert pairs_of(made) == OTHER
    assert made.skipped["link_equal"] == made.counts["links_equal"] == 3


def test_judged_titles_are_documents_and_a_judged_wording_is_the_query_of_the_anchor(
    dump, tmp_path
):
    table = tmp_path / "judged.tsv"
    table.write_text(TABLE)
    made = ingest("anchors", [dump], tmp_path / "out", judgements=table, processes=1)
    counts = made.counts
    assert pairs_of(made) == EQUAL | OTHER
    judged = open_collection(made.path).frame("relations/judgement")
    assert set(judged.select("target", "grade").rows()) == {("Car", 4.0), ("Race_track", 0.0)}
    assert judged["source"].n_unique() == 1
    assert counts["judged_queries_clicked"] == 1
    assert counts["pairs_of_judged_documents"] == 3
    assert counts["documents"] == 5


def test_a_page_of_two_dumps_is_read_once(dump, tmp_path):
    other = write(tmp_path / "enwiki-more.xml", xml(PAGES[1], PAGES[2], page(9, "Oar", "[[Boat]]")))
    made = ingest("anchors", [dump, other], tmp_path / "out", processes=1)
    assert pairs_of(made) == EQUAL | OTHER | {("boat", "Boat"): 1}
    assert made.skipped["link_from_repeated_page"] == 3


def test_qrels_have_no_words(dump, tmp_path):
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("1 0 Car 3\n")
    with pytest.raises(BadInput, match=r"qrels.txt: qrels have numbers of queries.*columns query"):
        ingest("anchors", [dump], tmp_path / "out", judgements=qrels, processes=1)


@pytest.mark.slow
def test_the_excerpt_and_discernatron(tmp_path):
    dump = real_data("wiki-dumps", "enwiki-pages-articles1-p10p30302-shortened.xml.bz2")
    made = ingest(
        "anchors", [dump], tmp_path / "out", judgements=real_data("discernatron"), processes=1
    )
    expected = {
        "pairs": 22_876, "judged_queries": 124, "judgements": 3804, "judged_documents": 3772,
        "redirects": 99, "links": 30_155,
    }  # fmt: skip
    assert {name: made.counts[name] for name in expected} == expected
    pairs = pairs_of(made)
    assert ("hominid", "Hominidae") in pairs
    assert max(made.counts["gains"].values()) == 3.0
    # Some queries are quoted twice: quotes of the file, and those that the visitor typed.
    queries = pl.read_parquet(made.path / "queries" / "*.parquet")
    assert '"babe" movie released on dvd' in queries["text"].to_list()
