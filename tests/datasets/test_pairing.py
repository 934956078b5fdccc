import gzip
from collections import Counter

import polars as pl
import pytest

from ssi_core.collection import open_collection
from ssi_core.datasets.wikipedia.languagelinks import LanguageLinks, Source, read_sitelinks
from ssi_core.datasets.wikipedia.pairing import pair_up
from ssi_core.sample.encyclopedia import write_sample
from ssi_core.types import BadInput
from tests.datasets import dumps
from tests.datasets.test_languagelinks import item, items, table
from tests.sources import ingest


def corpus(directory, language, *pages):
    dump = dumps.write(
        directory / f"{language}wiki-p.xml.bz2", dumps.xml(*pages, language=language)
    )
    ingest("wikipedia", [dump], directory / language, processes=1)
    return directory / language


@pytest.fixture
def corpora(tmp_path):
    japanese = corpus(
        tmp_path, "ja",
        dumps.page(10, "自動車", "自動車は走る。"),
        dumps.page(11, "犬", "犬は鳴く。"),
        dumps.page(12, "車", "#REDIRECT", redirect="自動車"),
        dumps.page(13, "猫", "猫は眠る。"),
    )  # fmt: skip
    english = corpus(
        tmp_path, "en",
        dumps.page(1, "Car", "A car drives."),
        dumps.page(2, "Dog", "A dog barks."),
        dumps.page(3, "Auto", "#REDIRECT", redirect="Car"),
        dumps.page(4, "Hound", "A dog barks."),
        dumps.page(5, "Cat", "A cat sleeps."),
    )  # fmt: skip
    return japanese, english


def links(*rows, by_id=None):
    frame = pl.DataFrame(rows, schema=["query", "document"], orient="row")
    return LanguageLinks(frame, by_id, Counter())


def paired(corpora, *rows, by_id=None):
    return pair_up(links(*rows, by_id=by_id), *map(open_collection, corpora))


def test_a_corpus_knows_the_other_titles_of_its_documents(corpora):
    japanese, english = (open_collection(corpus).redirects.collect() for corpus in corpora)
    assert japanese.rows() == [("12", "10", "車")]
    assert english.rows() == [("3", "1", "Auto"), ("4", "2", "Hound")]


def test_titles_and_ids_are_resolved(corpora):
    pairs, counts, skipped = paired(corpora, ("車", "Auto"), ("犬", "Hound"), ("猫", "Cat"))
    assert pairs.rows() == [("10", "1"), ("11", "2"), ("13", "5")]
    assert counts == {"links_found": 3, "translations": 3, "through_redirects": 2}
    assert not skipped
    pairs, _, _ = paired(corpora, ("犬", "2"), by_id="documents")
    assert pairs.rows() == [("11", "2")]
    pairs, _, _ = paired(corpora, ("11", "Dog"), by_id="queries")
    assert pairs.rows() == [("11", "2")]


def test_a_document_has_one_mate_and_the_direct_one_comes_first(corpora):
    rows = [("車", "Dog"), ("自動車", "Car"), ("自動車", "Car"), ("犬", "Car"), ("犬", "Dog")]
    pairs, counts, skipped = paired(corpora, *rows)
    assert pairs.rows() == [("10", "1"), ("11", "2")]
    assert skipped == Counter(link_to_second_mate=2, link_duplicate=1)
    assert counts["translations"] + skipped.total() == counts["links_found"]


def test_what_is_in_no_corpus_is_counted(corpora):
    rows = [("犬", "Dog"), ("馬", "Dog"), ("猫", "Horse"), ("馬", "Horse")]
    _, counts, skipped = paired(corpora, *rows)
    assert counts["translations"] == 1
    assert skipped == Counter(
        link_query_not_in_corpus=1, link_document_not_in_corpus=1, link_neither_in_corpus=1
    )


def translations(path):
    return pl.read_parquet(path / "relations" / "translation").rows()


def test_mates_from_a_table(corpora, tmp_path):
    path = table(tmp_path / "enwiki-langlinks.sql.gz", (1, "ja", "自動車"), (2, "fr", "Chien"))
    made = ingest("mates", out=tmp_path / "out", langlinks=path, corpora=corpora)
    both = open_collection(tmp_path / "out")
    assert translations(both.path) == [("10", "1")]
    assert both.dictionary is None
    assert both.relevant == ("translation",)  # these documents have no links
    assert made.counts["translations"] == 1
    assert made.skipped == {"other_language": 1}
    # The texts are those of the two, without a copy of them.
    for side, given in zip(("queries", "documents"), map(open_collection, corpora), strict=True):
        parts = both.parts(side)
        assert made.counts[side] == given.artefact.counts["documents"]
        assert all(a.samefile(b) for a, b in zip(parts, given.parts("documents"), strict=True))
    # Where the two are does not matter afterwards.
    moved = [place.rename(tmp_path / f"moved-{place.name}") for place in corpora]
    assert ingest("mates", out=tmp_path / "out", langlinks=path, corpora=moved) == made


def test_mates_with_a_dictionary(corpora, tmp_path):
    path = table(tmp_path / "enwiki-langlinks.sql.gz", (1, "ja", "自動車"))
    given = tmp_path / "d.tsv"
    given.write_text("自動車\tcar\n犬\tdog\n犬\tdog\n", encoding="utf-8")
    made = ingest("mates", out=tmp_path / "out", langlinks=path, corpora=corpora, dictionary=given)
    assert made.counts["dictionary_entries"] == 2
    assert made.skipped == {"entry_duplicate": 1}
    entries = pl.read_parquet(open_collection(tmp_path / "out").dictionary)
    assert entries.rows() == [("自動車", "car"), ("犬", "dog")]
    given.write_text("自動車\tcar\n", encoding="utf-8")
    again = ingest(
        "mates", out=tmp_path / "out", langlinks=path, corpora=corpora, dictionary=given, force=True
    )
    assert (again.key != made.key, again.counts["dictionary_entries"]) == (True, 1)


def test_mates_from_wikidata_and_from_wikitext(corpora, tmp_path):
    path = tmp_path / "all.json.gz"
    path.write_bytes(gzip.compress(items(item(enwiki="Auto", jawiki="車"))))
    ingest("mates", out=tmp_path / "wikidata", wikidata=path, corpora=corpora)
    assert translations(tmp_path / "wikidata") == [("10", "1")]
    old = dumps.xml(dumps.page(11, "犬", "犬 [[en:Dog]]"), language="ja")
    path = dumps.write(tmp_path / "jawiki-old.xml.bz2", old)
    ingest("mates", out=tmp_path / "wikitext", wikitext=path, corpora=corpora, processes=1)
    assert translations(tmp_path / "wikitext") == [("11", "2")]


def test_no_mates(corpora, tmp_path):
    path = table(tmp_path / "enwiki-langlinks.sql.gz", (1, "fr", "Voiture"))
    with pytest.raises(BadInput, match="no link between 'ja' and 'en'"):
        ingest("mates", out=tmp_path / "out", langlinks=path, corpora=corpora)
    path = table(tmp_path / "enwiki-langlinks.sql.gz", (1, "ja", "馬"), (9, "ja", "馬"))
    with pytest.raises(BadInput, match=r"no mates; .*1 query not in corpus, 1 neither in corpus"):
        ingest("mates", out=tmp_path / "out", langlinks=path, corpora=corpora)
    with pytest.raises(BadInput, match="are both in 'en'"):
        ingest("mates", out=tmp_path / "out", langlinks=path, corpora=(corpora[1], corpora[1]))
    assert not (tmp_path / "out").exists()


def test_both_editions_of_the_sample(tmp_path):
    counts = write_sample(tmp_path / "sample", documents=60, seed=2)
    places = []
    for language in ("ja", "en"):
        (dump,) = (tmp_path / "sample").glob(f"{language}wiki-*.xml.bz2")
        ingest("wikipedia", [dump], tmp_path / language, processes=1)
        places.append(tmp_path / language)
    (path,) = (tmp_path / "sample").glob("*langlinks.sql.gz")
    made = ingest("mates", out=tmp_path / "out", langlinks=path, corpora=places)
    assert made.counts["translations"] == counts["mates"] == made.counts["links_found"]
    assert made.skipped["other_language"] > 0


@pytest.mark.slow
def test_the_mates_of_the_wikidata_excerpt(tmp_path):
    path = dumps.real_data("wiki-dumps", "wikidata-excerpt.json.bz2")
    languages = ("ja", "en")
    titles = read_sitelinks(Source(path, languages, 1, lambda fraction, message: None)).frame
    places = [
        corpus(
            tmp_path, language,
            *(dumps.page(n, title, f"{title} {n}") for n, title in enumerate(titles[side], 1)),
        )
        for language, side in zip(languages, ("query", "document"), strict=True)
    ]  # fmt: skip
    made = ingest("mates", out=tmp_path / "out", wikidata=path, corpora=places)
    assert made.counts["translations"] == 336
