import bz2
import gzip
import json
from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssi_core.datasets.wikipedia.languagelinks import (
    Source,
    read_interlanguage,
    read_langlinks,
    read_sitelinks,
)
from ssi_core.types import BadInput
from tests.datasets import dumps


def source(path, languages=("ja", "en"), processes=1):
    return Source(path, languages, processes, lambda fraction, message: None)


def table(path, *rows, raw=b""):
    said = ",".join(f"({page},'{code}','{title}')" for page, code, title in rows).encode()
    path.write_bytes(gzip.compress(b"INSERT INTO `langlinks` VALUES " + said + raw + b";\n"))
    return path


def test_a_table_of_the_wiki_of_the_documents(tmp_path):
    path = table(
        tmp_path / "enwiki-latest-langlinks.sql.gz",
        (1, "ja", "自動車"), (1, "fr", "Voiture"), (2, "ja", "犬_(動物)"), (3, "en", "Odd"),
        (4, "ja", ""),
        raw=b",(5,'ja','\xff')",
    )  # fmt: skip
    found = read_langlinks(source(path))
    assert found.by_id == "documents"
    assert found.frame.rows() == [("自動車", "1"), ("犬 (動物)", "2")]
    assert found.skipped == Counter(
        other_language=1, own_language=1, title_empty=1, title_not_utf8=1
    )


def test_a_table_of_the_wiki_of_the_queries(tmp_path):
    for name in ("jawiki-langlinks.sql.gz", "links.sql.gz"):
        path = table(tmp_path / name, (10, "en", "car"), (11, "de", "Hund"))
        found = read_langlinks(source(path))
        assert found.by_id == "queries"
        assert found.frame.rows() == [("10", "Car")]


def test_a_table_of_simple_english_is_of_english_and_no_other_is(tmp_path):
    rows = (10, "en", "car"), (11, "de", "Hund")
    path = table(tmp_path / "svwiki-latest-langlinks.sql.gz", *rows)
    assert read_langlinks(source(path, ("sv", "en"))).by_id == "queries"
    path = table(tmp_path / "simplewiki-latest-langlinks.sql.gz", (10, "sv", "bil"))
    assert read_langlinks(source(path, ("sv", "en"))).by_id == "documents"


def test_a_table_of_nobody_knows_whose_wiki(tmp_path):
    path = table(tmp_path / "dewiki-langlinks.sql.gz", (1, "ja", "車"), (1, "en", "Car"))
    with pytest.raises(BadInput, match="links to both 'ja' and 'en'"):
        read_langlinks(source(path))


def items(*entities):
    return b"[\n" + b",\n".join(json.dumps(one).encode() for one in entities) + b"\n]\n"


def item(**titles):
    return {
        "id": "Q1",
        "labels": {"en": {"language": "en", "value": '"jawiki"'}},
        "sitelinks": {s: {"site": s, "title": t, "badges": []} for s, t in titles.items()},
    }


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_site_links_of_wikidata(tmp_path, pack):
    path = tmp_path / "all.json"
    empty = {"id": "P1", "sitelinks": []}
    entities = (item(enwiki="Car", jawiki="自動車"), item(enwiki="X"), empty, item(jawiki="Y"))
    path.write_bytes(pack(items(*entities)))
    found = read_sitelinks(source(path))
    assert found.by_id is None
    assert found.frame.rows() == [("自動車", "Car")]
    assert found.skipped == Counter(entity_without_both=3)
    classical = tmp_path / "other.json"
    classical.write_bytes(items(item(zh_yuewiki="車", simplewiki="Car", enwiki="Car")))
    assert read_sitelinks(source(classical, ("zh-yue", "en"))).frame.rows() == [("車", "Car")]


def test_an_entity_that_is_too_long_is_left_out_and_counted(tmp_path, monkeypatch):
    monkeypatch.setattr("ssi_core.corpus.inputs.LARGEST_LINE", 300)
    path = tmp_path / "all.json"
    path.write_bytes(items(item(enwiki="Car", jawiki="車"), {"id": "x" * 900}))
    found = read_sitelinks(source(path))
    assert found.frame.rows() == [("車", "Car")]
    assert found.skipped == {"entity_too_long": 1}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<mediawiki>\n", "line 1 is no entity of Wikidata"),
        (items(item(enwiki="A")) + b'{"id": "Q2", "jawiki', "line 4 is no entity"),
        (b'[\n{"jawiki" "enwiki"},\n]', "line 2 is no entity"),
        (b'[\n{"sitelinks": {"jawiki": 1, "enwiki": 2}}\n]', "line 2 is no entity"),
        (bz2.compress(items(item(enwiki="A") | {"x": "y" * 99}))[:-20], "Download it again"),
        (b"", "empty"),
    ],
)
def test_files_that_are_no_dump_of_wikidata(tmp_path, data, message):
    path = tmp_path / "all.json"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=message):
        read_sitelinks(source(path))


@given(
    st.lists(
        st.sampled_from([b"{", b"}", b'"jawiki"', b'"enwiki":', b'"sitelinks":', b"1", b",", b"\n"])
    )
)
def test_any_other_text_is_items_or_bad_input(tmp_path_factory, parts):
    path = tmp_path_factory.mktemp("items") / "all.json"
    path.write_bytes(b"[\n" + b"".join(parts))
    with suppress(BadInput):
        assert read_sitelinks(source(path)).frame.is_empty()


@pytest.mark.parametrize("processes", [1, 2])
def test_links_in_old_wikitext(tmp_path, processes):
    pages = (
        dumps.page(1, "Car", "A car. [[ja:自動車]] [[fr:Voiture]]\n[[ JA : 乗用車 ]]"),
        dumps.page(2, "Dog", "See [[:ja:犬]]. <!-- [[ja:猫]] --> <nowiki>[[ja:猫]]</nowiki>"),
        dumps.page(3, "Talk", "[[ja:話]]", ns=1),
        dumps.page(4, "Old", "#REDIRECT [[Car]] [[ja:車]]", redirect="Car"),
        dumps.page(5, "Nothing", "[[ja:]]"),
    )
    path = dumps.write(tmp_path / "enwiki-old.xml.bz2", dumps.xml(*pages))
    found = read_interlanguage(source(path, processes=processes))
    assert found.by_id == "documents"
    assert found.frame.rows() == [("自動車", "1"), ("乗用車", "1")]
    with pytest.raises(BadInput, match="its language is 'en'"):
        read_interlanguage(source(path, ("ja", "de")))


def test_the_real_excerpts():
    found = read_sitelinks(source(dumps.real_data("wiki-dumps", "wikidata-excerpt.json.bz2")))
    assert found.frame.height == 336
    assert found.skipped == Counter(entity_without_both=1368)
    assert ("宇宙", "Universe") in found.frame.rows()
    dump = "enwiki-pages-articles1-p10p30302-shortened.xml.bz2"
    found = read_interlanguage(source(dumps.real_data("wiki-dumps", dump)))
    assert found.frame.rows() == [("農学", "572")]
