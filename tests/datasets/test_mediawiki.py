import os
from collections import Counter

import polars as pl
import pytest

from ssi_core.collection import DOCUMENTS, ENDS, open_collection
from ssi_core.datasets.wikipedia import mediawiki
from ssi_core.types import BadInput, Refused
from tests.datasets import dumps
from tests.sources import ingest


def tables_of(path):
    corpus = open_collection(path)
    return corpus.documents.collect(), corpus.links.collect()


def test_each_page_and_each_link_falls_into_one_category(tmp_path):
    text = dumps.xml(
        dumps.page(1, "Car", "A '''car''' has an [[engine]], [[Engine|engines]], a [[Motor]]."
                   " [[Car]] [[#x]] [[fr:Auto]] [[Sorts:Things]] [[1984]] [[Twin]] [[]] [[Absent]]"
                   " [[Nowhere]] [[Blank]] [[Old year]] <!-- [[Engine]] -->"),
        dumps.page(2, "Engine", "{{t|[[Car]]}} drives the [[automobile]]."),
        dumps.page(3, "Motor", "#REDIRECT [[Engine]]", redirect="Engine"),
        dumps.page(4, "Automobile", "#REDIRECT [[Auto]]", redirect="Auto"),
        dumps.page(5, "Auto", "#REDIRECT [[Car#History]]", redirect="Car#History"),
        dumps.page(6, "Nowhere", "#REDIRECT [[Lost]]", redirect="Lost"),
        dumps.page(7, "Blank", "{{only|[[Car]]}}"),
        dumps.page(8, "Twin one", "the same [[Car]]"),
        dumps.page(9, "Twin", "the same [[Engine|Car]]"),
        dumps.page(10, "1984", "A year."),
        dumps.page(11, "Old year", redirect="1984"),
        dumps.page(12, "Talk:Car", "[[Car]] [[Engine]]", ns=1),
        dumps.page(13, "Car", "given twice [[Engine]]"),
        dumps.page(14, "Loop", redirect="Loop"),
    )  # fmt: skip
    path = dumps.write(tmp_path / "enwiki-1-pages-articles.xml.bz2", text)
    made = ingest("wikipedia", [path], tmp_path / "out", processes=1)
    dumps.accounts(made)
    documents, links = tables_of(tmp_path / "out")
    assert documents["id"].to_list() == ["1", "2", "8", "10"]
    assert documents["text"][0].startswith("A car has an engine, engines, a Motor. Car")
    assert documents["title"].to_list() == ["Car", "Engine", "Twin one", "1984"]
    assert set(links.rows()) == {("1", "2"), ("1", "8"), ("2", "1"), ("8", "1")}
    assert made.counts == {
        "pages": 14, "documents": 4, "redirects": 6, "redirects_resolved": 4, "links": 4,
        "links_found": 26, "anchors": 7,
    }  # fmt: skip
    assert set(open_collection(made.path).frame("relations/anchor").rows()) == {
        ("1", "2", "engine", 1), ("1", "2", "engines", 1), ("1", "2", "motor", 1),
        ("1", "8", "twin", 1), ("2", "1", "car", 1), ("2", "1", "automobile", 1),
        ("8", "1", "car", 1),
    }  # fmt: skip
    assert {name: n for name, n in made.skipped.items() if n} == {
        "page_empty": 1, "page_duplicate": 1, "page_repeated": 1, "page_other_namespace": 1,
        "redirect_to_nowhere": 1, "redirect_cycle": 1,
        "link_duplicate": 3, "link_self": 1, "link_section_only": 1, "link_interwiki": 1,
        "link_other_namespace": 1, "link_calendar_year": 2, "link_malformed": 1,
        "link_missing_page": 1, "link_redirect_to_nowhere": 1, "link_empty_page": 1,
        "link_from_redirect": 4, "link_from_empty_page": 1, "link_from_duplicate_page": 1,
        "link_from_repeated_page": 1, "link_from_other_namespace": 2,
    }  # fmt: skip


def test_a_page_of_tables_only_has_the_text_of_its_cells(tmp_path):
    text = dumps.xml(
        dumps.page(1, "Games", "{| class=x\n! Year !! City\n|-\n| 1896 || [[Athens]]\n|}"),
        dumps.page(2, "Athens", "A city.\n{|\n| of the [[Games]]\n|}"),
        dumps.page(3, "Rome", "{{only|a template}}"),
        dumps.page(4, "List", "{|\n| a\n|}", ns=1),
    )
    path = dumps.write(tmp_path / "enwiki-1.xml", text)
    whole = ingest("wikipedia", [path], tmp_path / "out", processes=1)
    dumps.accounts(whole)
    documents, links = tables_of(tmp_path / "out")
    assert documents["text"].to_list() == ["Year\nCity\n1896\nAthens", "A city."]
    assert set(links.rows()) == {("1", "2"), ("2", "1")}
    assert (whole.counts["pages_of_tables"], whole.skipped["page_empty"]) == (1, 1)
    again = ingest("wikipedia", [path], tmp_path / "again", processes=1, since=tmp_path / "out")
    assert again.counts["pages_of_tables"] == 1
    assert again.counts["since"]["kept"] == 4


def test_cities_that_a_template_names_by_their_page_are_two_documents(tmp_path):
    text = "'''{{PAGENAME}}''' is a city."
    cities = dumps.xml(dumps.page(1, "Lyon", text), dumps.page(2, "Rome", text))
    path = dumps.write(tmp_path / "enwiki-1.xml", cities)
    assert ingest("wikipedia", [path], tmp_path / "out", processes=1).skipped["page_duplicate"] == 0
    documents, _ = tables_of(tmp_path / "out")
    assert documents["text"].to_list() == ["Lyon is a city.", "Rome is a city."]


def test_parts_have_the_stated_schema(tmp_path):
    path = dumps.write(tmp_path / "jawiki-1.xml", dumps.xml(*dumps.many(40)))
    ingest("wikipedia", [path], tmp_path / "out", processes=1, part_bytes=4000)
    documents, links = tables_of(tmp_path / "out")
    assert dict(documents.schema) == DOCUMENTS
    assert dict(links.schema) == ENDS
    assert set(documents["language"]) == {"ja"}
    parts = sorted(p.name for p in (tmp_path / "out" / "documents").iterdir())
    assert parts == [f"part-{i:05d}.parquet" for i in range(len(parts))]
    assert len(parts) > 3
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "artefact.json", "documents", "pages", "relations",
    ]  # fmt: skip


def test_any_way_of_reading_gives_the_same_corpus(tmp_path):
    pages = dumps.many(300)
    single = dumps.write(tmp_path / "enwiki-1-pages-articles.xml.bz2", dumps.xml(*pages))
    multi = dumps.write_multistream(tmp_path, pages)
    serial = ingest("wikipedia", [single], tmp_path / "serial", processes=1, part_bytes=20_000)
    shown = []
    parallel = ingest(
        "wikipedia",
        [single], tmp_path / "parallel", processes=2, part_bytes=20_000,
        progress=lambda fraction, message: shown.append(fraction),
    )  # fmt: skip
    streams = ingest("wikipedia", [multi], tmp_path / "streams", processes=2, part_bytes=20_000)
    dumps.accounts(serial)
    assert serial.key == parallel.key
    assert shown == sorted(shown)
    assert shown[-1] == 1
    for made in (parallel, streams):
        assert (made.counts, made.skipped) == (serial.counts, serial.skipped)
        for ours, theirs in zip(tables_of(made.path), tables_of(serial.path), strict=True):
            assert ours.equals(theirs)
    assert "POLARS_MAX_THREADS" not in os.environ


def test_several_files_make_one_corpus(tmp_path):
    one = dumps.write(tmp_path / "enwiki-1.xml", dumps.xml(dumps.page(1, "A", "a [[B]]")))
    two = dumps.write(tmp_path / "enwiki-2.xml", dumps.xml(dumps.page(2, "B", "b [[A]]")))
    ingest("wikipedia", [one, two], tmp_path / "out", processes=1)
    assert set(tables_of(tmp_path / "out")[1].rows()) == {("1", "2"), ("2", "1")}
    other = dumps.write(tmp_path / "dewiki-2.xml", dumps.xml(dumps.page(2, "B", "b [[A]]")))
    with pytest.raises(BadInput, match=r"dewiki.*'de'.*'en'"):
        ingest("wikipedia", [one, other], tmp_path / "mixed")


def test_a_corpus_without_links_can_be_read(tmp_path):
    path = dumps.write(tmp_path / "enwiki-1.xml", dumps.xml(dumps.page(1, "A", "alone")))
    assert ingest("wikipedia", [path], tmp_path / "out", processes=1).counts["links"] == 0
    assert tables_of(tmp_path / "out")[1].height == 0


def test_a_second_run_returns_at_once_and_another_input_is_refused(tmp_path):
    path = dumps.write(tmp_path / "enwiki-1.xml", dumps.xml(dumps.page(1, "A", "a")))
    first = ingest("wikipedia", [path], tmp_path / "out", processes=1)
    stamp = (tmp_path / "out" / "artefact.json").stat().st_mtime_ns
    assert ingest("wikipedia", [path], tmp_path / "out", processes=1) == first
    assert (tmp_path / "out" / "artefact.json").stat().st_mtime_ns == stamp
    dumps.write(path, dumps.xml(dumps.page(1, "A", "other")))
    with pytest.raises(Refused, match="Remove it"):
        ingest("wikipedia", [path], tmp_path / "out", processes=1)
    ingest("wikipedia", [path], tmp_path / "out", processes=1, force=True)
    assert tables_of(tmp_path / "out")[0]["text"].to_list() == ["other"]


@pytest.mark.parametrize("processes", [1, 2])
def test_bad_input_leaves_what_was_whole(tmp_path, processes):
    path = dumps.write(tmp_path / "enwiki-1.xml", dumps.xml(*dumps.many(60)))
    whole = ingest("wikipedia", [path], tmp_path / "out", processes=1)
    dumps.write(path, dumps.xml(*dumps.many(60)).encode().replace(b"word40", b"\xff"))
    with pytest.raises(BadInput, match="'Page 40'"):
        ingest(
            "wikipedia", [path], tmp_path / "out", processes=processes, part_bytes=5000, force=True
        )
    assert open_collection(tmp_path / "out").artefact == whole
    assert sorted(p.name for p in tmp_path.iterdir()) == ["enwiki-1.xml", "out"]


def test_a_dump_without_articles(tmp_path):
    path = dumps.write(tmp_path / "enwiki-1.xml", dumps.xml(dumps.page(1, "A", redirect="B")))
    with pytest.raises(BadInput, match="no page of the main namespace"):
        ingest("wikipedia", [path], tmp_path / "out", processes=1)
    with pytest.raises(ValueError, match="give DUMPS"):
        ingest("wikipedia", [], tmp_path / "out")


def test_the_english_excerpt(tmp_path):
    path = dumps.real_data("wiki-dumps", "enwiki-pages-articles1-p10p30302-shortened.xml.bz2")
    made = ingest("wikipedia", [path], tmp_path / "out", processes=1)
    dumps.accounts(made)
    assert made.counts["pages"] == 206
    assert made.counts["documents"] == 106
    assert made.counts["redirects"] == 99
    assert made.counts["redirects_resolved"] == 13
    assert made.skipped["page_other_namespace"] == 1
    documents, links = tables_of(tmp_path / "out")
    assert made.counts["links_found"] == 32381
    assert links.height == made.counts["links"] == 87
    ids = set(documents["id"])
    assert set(links["source"]) | set(links["target"]) <= ids
    anarchism = documents.filter(pl.col("title") == "Anarchism")["text"].item()
    assert anarchism.startswith("Anarchism is a political philosophy that advocates self-governed")


@pytest.mark.parametrize(
    ("name", "language", "word"),
    [("jawiki", "ja", "ベルリン"), ("dewiki", "de", "Philosoph"), ("simplewiki", "en", "Berlin")],
)
def test_excerpts_under_a_foreign_header(tmp_path, name, language, word):
    path = dumps.real_data("wiki-dumps", f"{name}-minidump.xml.bz2")
    made = ingest("wikipedia", [path], tmp_path / "out", processes=1)
    dumps.accounts(made)
    documents, _ = tables_of(tmp_path / "out")
    assert set(documents["language"]) == {language}
    assert word in documents["text"][0]
    assert "[[" not in documents["text"][0]


def test_links_of_chunks_are_resolved_so_many_at_once(monkeypatch):
    monkeypatch.setattr(mediawiki, "LINKS_AT_ONCE", 3)
    counts = [Counter(targets=targets) for targets in (2, 1, 3, 0, 1)]
    assert list(mediawiki.groups_of(counts)) == [[0, 1], [2], [3, 4]]
    assert list(mediawiki.groups_of(counts[:3])) == [[0, 1], [2]]
