"""The language of texts: named in the map, known to a corpus, or guessed from their script."""

import logging
import shutil

import polars as pl
import pytest

import ssi_core as ssi
from ssi_core import store
from ssi_core.corpus.language import guess_language
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput
from tests import sources
from tests.corpora import write_corpus
from tests.guests.click_logs import logs

TEXTS = {
    "zh": "第{}篇文章介绍一座古老的城市和它的历史。",
    "ja": "第{}号のきじはふるいまちのれきしをつたえる。",
    "th": "บทความ{}เล่าเรื่องเมืองเก่า",
}


def rows_with(text):
    return [{**row, "body": text.format(row["url"][1:])} for row in logs.rows(60)]


def ingest(tmp_path, rows, form=None, **how):
    path = logs.write_csv(tmp_path / "log.csv", rows)
    shutil.rmtree(tmp_path / "clicks", ignore_errors=True)
    return logs.ingest([path], form or logs.form(), tmp_path / "clicks", **how)


def warnings(caplog):
    return [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("language", TEXTS)
def test_texts_of_one_word_each_are_warned_of(tmp_path, caplog, language):
    form = logs.form(queries={"language": "en"})
    found = ingest(tmp_path, rows_with(TEXTS[language]), form)
    assert found.counts["queries_not_split"] == 1
    assert "documents_not_split" not in found.counts
    (record,) = warnings(caplog)
    assert f'[queries] language = "{language}"' in record.getMessage()


@pytest.mark.parametrize("language", ["zh", "any"])
def test_a_language_in_the_map_is_taken(tmp_path, caplog, language):
    form = logs.form(queries={"language": language})
    found = ingest(tmp_path, rows_with(TEXTS["zh"]), form)
    assert "queries_not_split" not in found.counts
    assert warnings(caplog) == []
    texts = pl.read_parquet(found.path / "queries" / "*.parquet")
    assert set(texts["language"]) == {language}


def test_texts_between_blanks_are_not_warned_of(tmp_path, caplog):
    long = "Donaudampfschifffahrtsgesellschaftskapitän{}"
    found = ingest(tmp_path, rows_with(long))
    assert "queries_not_split" not in found.counts
    assert warnings(caplog) == []


def test_a_corpus_knows_its_language(tmp_path, caplog):
    texts = [TEXTS["zh"].format(i) for i in range(30)]
    corpus = write_corpus(tmp_path / "corpus", texts, [], language="zh")
    columns = {k: v for k, v in logs.COLUMNS.items() if k != "query_text"}
    rows = [{**row, "url": row["url"].replace("p", "d")} for row in logs.rows(60)]
    found = ingest(tmp_path, rows, logs.form(columns=columns), queries=corpus)
    documents = pl.read_parquet(found.path / "queries" / "*.parquet")
    assert set(documents["language"]) == {"zh"}
    assert warnings(caplog) == []


GUESSES = [
    ("zh", "一座古老的城市和它的历史", ["一座", "座古", "古老", "老的", "的城"]),
    ("zh", "苹果手机壳 iPad", ["苹果", "果手", "手机", "机壳", "ipad"]),
    ("any", "苹果 iPhone 15 手机壳", ["苹果", "iphone", "15", "手机", "机壳"]),
    ("ja", "古い都市の歴史を伝える", ["古い", "都市", "歴史", "伝える"]),
    ("th", "เมืองเก่า", ["เมื", "มือ", "อง", "งเ", "เก่", "ก่า"]),
    ("ko", "오래된 도시의 역사", ["오래된", "도시의", "역사"]),
    ("hi", "पुराना शहर", ["पुराना", "शहर"]),
    ("ta", "பழைய நகரம்", ["பழைய", "நகரம்"]),
    ("en", "eine alte Stadt, ein café", ["eine", "alte", "stadt", "ein", "café"]),
    ("any", "старый город", ["старый", "город"]),
    ("any", "παλιά πόλη", ["παλιά", "πόλη"]),
    ("any", "the old city 古老的城市", ["the", "old", "city", "古老", "老的"]),
    ("any", "東京都 の京都府庁舎前", ["東京", "京都", "の京", "京都"]),
    ("any", "شكرًا، مَدْرَسَة كتــاب", ["شكرا", "مدرسة", "كتاب"]),
    ("any", "שָׁלוֹם עולם", ["שלום", "עולם"]),
    ("any", "İstanbul'da ılık ÇAY", ["istanbul", "da", "ılık", "çay"]),
    ("en", "42 17", ["42", "17"]),
    ("en", "", []),
]


@pytest.mark.parametrize(("language", "text", "words"), GUESSES)
def test_the_script_says_how_words_are_found(language, text, words):
    assert guess_language([text]) == language
    assert tokenize(text, language)[: len(words)] == words


def test_a_few_words_of_another_script_do_not_change_the_language():
    assert guess_language(["an old city and its history"] * 200 + ["古老的城"]) == "en"
    assert guess_language(["一座古老的城市和它的历史"] * 50 + ["ตัว", "old"]) == "zh"
    assert guess_language(["一座古老的城市"] * 50 + ["まちのれきし"] * 5) == "any"


@pytest.mark.parametrize("language", TEXTS)
def test_without_a_word_of_it_the_language_is_guessed_and_said(tmp_path, caplog, language):
    rows = [
        {**row, "creative": TEXTS[language].format(row["ad"][1:])}
        for row in rows_with(TEXTS[language])
    ]
    found = ingest(tmp_path, rows)
    texts = sum(found.counts[name] for name in ("queries", "documents"))
    how = f"guessed from the script of {texts} texts"
    assert found.counts["language"] == f"{language} ({how})"
    for side in ("queries", "documents"):
        documents = pl.read_parquet(found.path / side / "*.parquet")
        assert set(documents["language"]) == {language}
    assert warnings(caplog) == []


def test_queries_and_documents_of_two_scripts_are_guessed_side_by_side(tmp_path):
    found = ingest(tmp_path, rows_with(TEXTS["zh"]))
    assert "language" not in found.counts
    assert found.counts["queries_language"].startswith("zh (guessed from the script of 20 texts")
    assert found.counts["documents_language"].startswith("en (")
    named = ingest(tmp_path, rows_with(TEXTS["zh"]), logs.form(documents={"language": "en"}))
    assert "language" not in named.counts
    assert named.counts["queries_language"].startswith("zh (guessed from the script of 20 texts")


def test_a_guess_may_change_with_later_logs_and_is_that_of_all_texts(tmp_path):
    latin, chinese = logs.rows(30), rows_with(TEXTS["zh"])[120:]
    for row in chinese:
        row |= {"url": f"z{row['url']}", "ad": f"z{row['ad']}", "creative": "古老的城市" * 40}
    paths = [logs.write_csv(tmp_path / f"{n}.csv", part) for n, part in enumerate((latin, chinese))]
    first = logs.ingest(paths[:1], logs.form(), tmp_path / "first")
    whole = logs.ingest(paths, logs.form(), tmp_path / "whole")
    found = logs.ingest(paths[1:], logs.form(), tmp_path / "found", since=first.path)
    assert first.counts["language"].startswith("en (")
    assert found.counts["language"] == whole.counts["language"]
    for made, language in ((first, "en"), (found, "zh"), (whole, "zh")):
        documents = pl.read_parquet(made.path / "documents" / "*.parquet")
        assert set(documents["language"]) == {language}, "an earlier artefact stays as it is"
    assert store.read(first.path, "collection").key == first.key


def test_sides_that_are_guessed_to_differ_are_read_as_one_by_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "root"))
    table = tmp_path / "docs.csv"
    table.write_text(
        "id,title\na,red кроссовки 鞋子 red\nb,hat шапка 帽子 hat\nc,car авто 车 car\n"
    )
    log = tmp_path / "log.csv"
    log.write_text("query,document\n" + "".join(f"word{n} red,{'abc'[n % 3]}\n" for n in range(30)))
    with pytest.raises(BadInput, match=r"texts in 2 languages .*\(language='any'\)"):
        ssi.Task.of(sources.ingest("clicks", log, documents=table).path)
    again = sources.ingest("clicks", log, documents=table, language="any")
    assert ssi.Task.of(again.path).counts["pairs"]
