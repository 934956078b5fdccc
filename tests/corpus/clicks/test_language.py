"""The language of texts: named in the map, or known to a corpus; else there is a warning."""

import logging
import shutil

import polars as pl
import pytest

from ssi_core.corpus.clicks.build import ingest_clicks
from tests.corpora import write_corpus
from tests.corpus.clicks import logs

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
    return ingest_clicks([path], form or logs.form(), tmp_path / "clicks", **how)


def warnings(caplog):
    return [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize("language", TEXTS)
def test_texts_of_one_word_each_are_warned_of(tmp_path, caplog, language):
    form = logs.form(pages={"language": "en"})
    found = ingest(tmp_path, rows_with(TEXTS[language]), form)
    assert found.counts["pages_not_split"] == 1
    assert "ads_not_split" not in found.counts
    (record,) = warnings(caplog)
    assert f'[pages] language = "{language}"' in record.getMessage()


@pytest.mark.parametrize("language", ["zh", "any"])
def test_a_language_in_the_map_is_taken(tmp_path, caplog, language):
    form = logs.form(pages={"language": language})
    found = ingest(tmp_path, rows_with(TEXTS["zh"]), form)
    assert "pages_not_split" not in found.counts
    assert warnings(caplog) == []
    texts = pl.read_parquet(found.path / "pages" / "documents" / "*.parquet")
    assert set(texts["language"]) == {language}


def test_texts_between_blanks_are_not_warned_of(tmp_path, caplog):
    long = "Donaudampfschifffahrtsgesellschaftskapitän{}"
    found = ingest(tmp_path, rows_with(long))
    assert "pages_not_split" not in found.counts
    assert warnings(caplog) == []


def test_a_corpus_knows_its_language(tmp_path, caplog):
    texts = [TEXTS["zh"].format(i) for i in range(30)]
    corpus = write_corpus(tmp_path / "corpus", texts, [], language="zh")
    columns = {k: v for k, v in logs.COLUMNS.items() if k != "page_text"}
    rows = [{**row, "url": row["url"].replace("p", "d")} for row in logs.rows(60)]
    found = ingest(tmp_path, rows, logs.form(columns=columns), pages=corpus)
    documents = pl.read_parquet(found.path / "pages" / "documents" / "*.parquet")
    assert set(documents["language"]) == {"zh"}
    assert warnings(caplog) == []
