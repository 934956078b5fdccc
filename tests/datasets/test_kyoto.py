import gzip

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssi_core.collection import open_collection
from ssi_core.datasets.kyoto import title_mentions
from ssi_core.types import BadInput, Refused
from tests.datasets.dumps import real_data
from tests.datasets.kyoto import ARTICLES, article, release, sentence
from tests.sources import ingest

IDS = ["BLD00001", "CLT00002", "CLT00003"]


def test_a_small_release(tmp_path):
    made = ingest("kyoto", release(tmp_path / "in"), tmp_path / "out")
    both = open_collection(tmp_path / "out")
    assert both.frame("relations/translation").rows() == [(name, name) for name in IDS]
    japanese = pl.read_parquet(both.parts("queries"))
    assert japanese.select("id", "title", "language", "text").rows() == [
        ("BLD00001", "清水寺", "ja", "抹茶がある & 山"),
        ("CLT00002", "京都の抹茶", "ja", "清水寺の近く。京都の抹茶。\n二"),
        ("CLT00003", "抹茶", "ja", "京都の抹茶と清水寺"),
    ]
    # The check wins; without one, the last translation before it.
    assert both.documents.collect().select("title", "text").rows() == [
        ("Kiyomizu-dera", 'There is "tea".'),
        ("Tea of Kyoto", "Near the temple.\nSecond."),
        ("Tea", "Both."),
    ]
    links = [("CLT00002", "BLD00001"), ("CLT00003", "BLD00001"), ("CLT00003", "CLT00002")]
    for name in ("link", "query_link"):
        assert both.frame(f"relations/{name}").rows() == links
    assert both.dictionary is not None
    assert pl.read_parquet(both.dictionary).rows() == [
        ("清水寺", 'Kiyomizu-dera "temple"'),
        ("抹茶", "powdered tea"),
    ]
    assert made.counts == {
        "files": 5, "queries": 3, "documents": 3, "translations": 3, "title_mentions": 3,
        "dictionary_entries": 2,
    }  # fmt: skip
    assert made.skipped["article_malformed"] == 1
    assert made.skipped["malformed"]["GNM/GNM00155.xml"].startswith("line 2, column 12: ")
    assert made.skipped["article_without_text"] == 1
    assert made.skipped["sentence_without_translation"] == 1
    assert ingest("kyoto", tmp_path / "in", tmp_path / "out") == made
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_articles_of_some_categories(tmp_path):
    source = release(tmp_path / "in")
    whole = ingest("kyoto", source, tmp_path / "all")
    labels = pl.read_parquet(whole.path / "labels" / "*.parquet")
    categories = ("building", "culture", "culture")
    assert labels.rows() == [(i, "category", c) for i, c in zip(IDS, categories, strict=True)]
    made = ingest("kyoto", source, tmp_path / "culture", categories=["culture"])
    assert open_collection(made.path).frame("relations/translation")["source"].to_list() == IDS[1:]
    assert made.skipped["article_of_other_category"] == 3
    # Titles of articles that are left out are mentioned, and lead nowhere.
    assert open_collection(made.path).links.collect().rows() == [("CLT00003", "CLT00002")]
    assert made.key != whole.key
    with pytest.raises(BadInput, match="no category 'tea'; there are: Buddhism, building"):
        ingest("kyoto", source, tmp_path / "tea", categories=["tea"])


def test_a_lexicon_in_which_not_every_row_is_an_entry(tmp_path):
    rows = '"j","e",\n"茶","tea",\n"茶","tea",\n"水","",\n"城","castle","was: a castle",\n'
    made = ingest("kyoto", release(tmp_path / "in", lexicon=rows), tmp_path / "out")
    dictionary = pl.read_parquet(open_collection(made.path).dictionary)
    assert dictionary.rows() == [("茶", "tea"), ("城", "castle")]
    said = {n: made.skipped[n] for n in made.skipped if n.startswith("entry")}
    assert said == {"entry_duplicate": 1, "entry_note": 1, "entry_without_translation": 1}


@given(
    st.lists(
        st.tuples(st.text("あいう", min_size=1, max_size=5), st.text("あいう", max_size=12)),
        min_size=1,
        max_size=8,
    )
)
def test_title_mentions_are_all_occurrences(pages):
    ids = [str(n) for n in range(len(pages))]
    frame = pl.DataFrame(
        {"id": ids, "title": [t for t, _ in pages], "text": [text for _, text in pages]}
    )
    expected = [
        (a, b)
        for a, (_, text) in zip(ids, pages, strict=True)
        for b, (title, _) in zip(ids, pages, strict=True)
        if a != b and len(title) >= 3 and title in text
    ]
    assert title_mentions(frame).rows() == expected


@pytest.mark.parametrize(
    ("articles", "message"),
    [
        ({"../BLD/BLD00001.xml": "<art/>"}, "isn't a file CAT"),
        ({"/BLD/BLD00001.xml": "<art/>"}, "isn't a file CAT"),
        ({"readme.txt": "x"}, "isn't a file CAT"),
        ({"GNM/GNM00155.xml": ARTICLES["GNM/GNM00155.xml"]}, "no article in it has a text"),
        ({"BLD/BLD00001.xml": b"\xff\xfe\x00"}, "no article in it has a text"),
        ({}, "no article in it has a text"),
    ],
)
def test_archives_of_another_form(tmp_path, articles, message):
    with pytest.raises(BadInput, match=message):
        ingest("kyoto", release(tmp_path / "in", articles), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_entity_is_not_followed(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret words")
    attack = f'<!DOCTYPE art [<!ENTITY x SYSTEM "file://{secret}">]>'
    page = article("清水寺", "Temple", sentence("&x; 山", "&x; hill"))
    articles = {"BLD/BLD00001.xml": page.replace("<art", attack + "<art", 1)}
    made = ingest("kyoto", release(tmp_path / "in", articles), tmp_path / "out")
    texts = pl.read_parquet(made.path / "queries" / "*.parquet")["text"].to_list()
    assert "secret" not in texts[0]


def test_a_lexicon_in_another_encoding(tmp_path):
    path = release(tmp_path / "in") / "kyoto_lexicon.csv.gz"
    release(tmp_path / "in", lexicon="a,b\n")
    path.write_bytes(gzip.compress("日本語,英語\n茶,tea\n".encode("shift_jis")))
    with pytest.raises(BadInput, match="kyoto_lexicon"):
        ingest("kyoto", tmp_path / "in", tmp_path / "out")


def test_another_release_is_not_written_over(tmp_path):
    made = ingest("kyoto", release(tmp_path / "in"), tmp_path / "out")
    release(tmp_path / "in", lexicon='"j","e",\n"茶","tea",\n')
    with pytest.raises(Refused, match="Remove it, or name another directory"):
        ingest("kyoto", tmp_path / "in", tmp_path / "out")
    assert ingest("kyoto", tmp_path / "in", tmp_path / "out", force=True).key != made.key


@pytest.mark.slow
def test_the_published_release(tmp_path):
    made = ingest("kyoto", real_data("kyoto-ja-en"), tmp_path / "out")
    assert made.counts == {
        "files": 11_034,
        "queries": 11_033,
        "documents": 11_033,
        "translations": 11_033,
        "title_mentions": 118_310,
        "dictionary_entries": 51_977,
    }
    assert list(made.skipped["malformed"]) == ["GNM/GNM00155.xml"]
    assert made.skipped["malformed"]["GNM/GNM00155.xml"].startswith("line 2811, ")
    assert made.skipped["sentence_without_translation"] == 2
    links = open_collection(made.path).links.collect()
    assert links["source"].n_unique() == 10_751
