"""The files of a site's search, and the ranking that Python reads of them."""

import errno
import os
import shutil

import numpy as np
import polars as pl
import pytest

import ssi_core as ssi
from ssi_core.collection import open_collection
from ssi_core.guests.site import face, learning, writing
from ssi_core.guests.site.addresses import STYLES, address_of
from ssi_core.guests.site.ranking import SiteIndex
from ssi_core.guests.site.records import (
    Called,
    pack_group,
    pack_word,
    unpack_group,
    unpack_words,
    word_of,
)
from ssi_core.tasks.unseen import documents_of, texts_in_views
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput, Refused, Texts
from tests.guests.site.made import HOSTILE, queries, small

pytestmark = pytest.mark.usefixtures("own_root")


def bytes_of(directory):
    return {file.name: file.read_bytes() for file in directory.iterdir()}


def test_records_are_read_as_they_were_written():
    rng = np.random.default_rng(0)
    words = []
    for number, df in enumerate((1, 3, 300)):
        pages = np.sort(rng.choice(40_000, df, replace=False)).astype(np.int32)
        row = rng.normal(size=4).astype(np.float32) * (number < 2)
        weights = np.geomspace(9, 0.001, df).astype(np.float32)
        several = [np.sort(rng.choice(50_000, df)).astype(np.int32) for _ in range(3)]
        places = rng.integers(16, size=df, dtype=np.int32)
        called = Called(*several, places, rng.random(df) < 0.5)
        words.append((pages, weights, word_of(pages, weights, 255 - df % 9, called, number, row)))
    data = b"".join(pack_word(word, 4) for *_, word in words)

    for (pages, weights, word), read in zip(words, unpack_words(data, 3, 4), strict=True):
        np.testing.assert_array_equal(read.pages, pages)
        np.testing.assert_array_equal(read.weights, word.weights)
        assert (read.scale, read.idf, read.row_scale) == (word.scale, word.idf, word.row_scale)
        assert read.weight == word.weight
        for field in ("numbers", "pages", "totals", "positions", "titles"):
            np.testing.assert_array_equal(*(getattr(one.called, field) for one in (read, word)))
        assert read.weights.min() >= 1  # a page that has a word is never without it
        steps = np.where(read.weights > 1, 0.51, 1.01)
        assert (np.abs(read.scale * read.weights - weights) <= word.scale * steps).all()
        assert (read.row is None) == (word.row is None)
    assert words[0][2].row is None  # idf 0

    vectors = rng.normal(size=(7, 4)).astype(np.float32)
    numbers = np.array([0, 1, 5, 300, 301, 40_000, 40_001], np.int32)
    pages, scale, rows = unpack_group(pack_group(numbers, vectors), 4)
    np.testing.assert_array_equal(pages, numbers)
    assert np.abs(scale[:, None] * rows - vectors).max() <= scale.max() * 0.51


@pytest.mark.trains
def test_the_same_pages_and_seed_make_the_same_bytes(wiki, tmp_path, monkeypatch):
    folder = shutil.copytree(wiki, tmp_path / "public", ignore=lambda *_: ["search"])
    ssi.site(folder, folder / "search", budget=60_000)
    assert bytes_of(folder / "search") == bytes_of(wiki / "search")


@pytest.mark.trains
def test_a_part_is_learnt_and_the_files_say_so(wiki):
    index = SiteIndex(wiki / "search")
    assert index.manifest["dimensions"] == learning.DIMENSIONS
    assert index.manifest["root"] == "../"
    assert len(index) == len(list(wiki.glob("wiki/*.html")))
    assert index.pages[0][1].startswith("wiki/")


@pytest.mark.trains
def test_int8_ranks_as_float32_does(made):
    folder, learnt, *_ = made
    index = SiteIndex(folder / "search")
    overlap, ranks = [], []
    for query, _ in queries(index, 400):
        exact, rounded = learnt.ranked(query), [page for page, _ in index.rank(query)]
        if not exact:
            continue
        overlap.append(len({*exact[:10]} & {*rounded[:10]}) / len(exact[:10]))
        ranks.append(1 / (1 + rounded.index(exact[0])))
    assert np.mean(overlap) >= 0.98
    assert np.mean(ranks) >= 0.98


@pytest.mark.trains
def test_the_latent_query_is_that_of_the_model(made):
    folder, learnt, _, mixed = made
    documents = ssi.read(folder)
    part = learning.fitted_parts(mixed)[1]
    asked = ["a car of the capital", "old car", "city"]
    views = {name: view.transform(asked) for name, view in part.query_views.items()}
    whole = texts_in_views(documents_of(open_collection(documents.path)), part.document_views)
    pages = part.embed_documents(whole).dense
    assert mixed.arrays["beta"][0] != 1
    names = pl.Series(asked)
    texts = Texts(names, names, views, part.query_views)
    for query, vector in zip(asked, part.embed_queries(texts).dense, strict=True):
        expected = mixed.arrays["beta"][0] * pages @ vector
        np.testing.assert_allclose(
            learnt.latent.scores(tokenize(query)), expected, rtol=1e-4, atol=1e-5
        )


def test_a_small_site_has_a_search_without_a_training(tmp_path):
    site = ssi.site(small(tmp_path / "docs"), tmp_path / "search")
    assert site.search("wheels")[0].url == "cars.html"
    assert site.search("no-such-word") == []
    assert "queries" not in site.chosen
    assert not (tmp_path / "search/v0.js").exists()
    assert repr(site).startswith("Site of 5 pages")


def test_a_word_that_is_typed_stands_for_those_that_begin_so(tmp_path):
    site = ssi.site(small(tmp_path / "docs"), tmp_path / "search")
    assert site.search("whee") == []
    assert [hit.url for hit in site.search("whee", typing=True)] == ["cars.html"]
    assert [hit.url for hit in site.search("whee ", typing=True)] == []
    # A word itself is before longer ones, though these are rarer; a name never counts twice.
    [typed, *_], [whole, *_] = site.search("car", typing=True), site.search("car")
    assert typed.url == whole.url
    assert whole.score <= typed.score <= 2 * whole.score


def test_titles_are_kept_as_they_are_but_for_signs_of_permalinks(tmp_path):
    folder = small(tmp_path / "docs")
    (folder / "sharp.html").write_text("<h1>C#<a href='#c'>¶</a></h1><p>Sharp <a href='cars.md'>c")
    site = ssi.site(folder, tmp_path / "search")
    assert site.search("strange")[0].title == HOSTILE
    assert site.search("sharp")[0].title == "C#"


@pytest.mark.trains
def test_accents_may_be_left_out_or_typed_where_no_page_has_the_word_so(tmp_path):
    folder = small(tmp_path / "docs")
    (folder / "role.md").write_text("# Role\n\nA rôle of pâté. [s](index.md)")
    (folder / "rome.md").write_text("# Rome\n\nPâte. [s](index.md)")
    (folder / "rose.md").write_text("# Rose\n\nPâte. [s](index.md)")
    site = ssi.site(folder, tmp_path / "search", budget=0)
    for query, url in (("cafe", "el"), ("strasse", "el"), ("Cárs", "cars"), ("pate", "rome")):
        assert site.search(query)[0].url == f"{url}.html"
    plain, accented = site.search("role")[0].score, site.search("rôle")[0].score
    assert plain > accented > 0  # each is its own word


@pytest.mark.trains
def test_words_are_in_the_order_of_a_browser(tmp_path):
    folder = small(tmp_path / "docs")
    (folder / "cars.md").write_text("# \ufa0e and \U00010428 [s](index.md)", encoding="utf-8")
    site = SiteIndex(ssi.site(folder, tmp_path / "search").path)
    [words] = [_words(site, number) for number in range(len(site.manifest["firstWords"]))]
    # A browser compares the two halves of a letter beyond the first 65,536.
    assert words.index("\U00010428") < words.index("\ufa0e")


def _words(site, number):
    return site._values(f"w{number}")[0].split(" ")


@pytest.mark.trains
def test_equal_pages_are_in_the_order_of_their_paths(tmp_path):
    folder = small(tmp_path / "docs")
    for number in range(25):
        text = "The same words. [Start](../index.md)"
        (folder / f"x{number:02}").mkdir()
        (folder / f"x{number:02}/same.md").write_text(text)
    found = ssi.site(folder, tmp_path / "search").search("same words", k=30)
    first = [hit.url for hit in found if hit.score == found[0].score]
    assert first == sorted(first)
    assert len(first) == 25


@pytest.mark.parametrize("style", STYLES)
def test_addresses_follow_the_generator(style):
    ends = {"html": "a/b.html", "folders": "a/b/", "bare": "a/b", "files": "a/b.md"}
    assert address_of("a/b.md", None, style) == ends[style]
    index = {"html": "a/index.html", "folders": "a/", "bare": "a/", "files": "a/README.md"}
    assert address_of("a/README.md", "a/README.md", style) == index[style]
    assert address_of("a/b.html", "https://example.org/", style) == "a/b.html"
    assert address_of("a/b.md", "/there/", style) == "there/"


def test_an_earlier_search_is_replaced_and_anything_else_left_alone(tmp_path, monkeypatch):
    folder, out = small(tmp_path / "docs"), tmp_path / "search"
    ssi.site(folder, out)
    (out / "w99.js").write_text("stale")
    ssi.site(folder, out)
    assert not (out / "w99.js").exists()
    monkeypatch.setattr(face, "learn", None)  # it is refused before anything is learnt
    with pytest.raises(Refused, match="left alone"):
        ssi.site(folder, folder)
    with pytest.raises(Refused, match="left alone"):
        writing.write_site(learning.learn(ssi.read(folder)), folder, root="", addresses="html")
    assert (folder / "index.md").exists()


def test_a_file_beside_those_of_a_search_is_not_removed_with_them(tmp_path):
    folder = small(tmp_path / "pages")
    site = ssi.site(folder, tmp_path / "public")
    (site.path / "w0.js.gz").write_bytes(b"packed by a server")
    ssi.site(folder, tmp_path / "public")
    (site.path / "index.html").write_text("of the site")
    with pytest.raises(Refused, match=r"such as 'index\.html'; it is left alone"):
        ssi.site(folder, tmp_path / "public")
    assert (site.path / "index.html").read_text() == "of the site"


def test_a_full_disk_is_named_by_the_place_of_the_search(tmp_path, monkeypatch):
    folder = small(tmp_path / "pages")

    def full(path, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(writing.Path, "write_bytes", full)
    with pytest.raises(Refused, match=r"public.*: no space is left on its disk"):
        ssi.site(folder, tmp_path / "public")
    assert not (tmp_path / "public").exists()


def test_a_language_with_a_dictionary_is_refused_with_a_remedy(tmp_path, monkeypatch):
    folder = small(tmp_path / "docs")
    with monkeypatch.context() as patch:
        patch.setattr(face, "learn", None)
        with pytest.raises(BadInput, match=r"language='any'"):
            ssi.site(folder, tmp_path / "search", language="ja")
    assert len(ssi.site(folder, tmp_path / "search", language="any")) == 5


@pytest.mark.trains
def test_of_a_long_page_the_beginning_is_kept_for_snippets(tmp_path):
    folder = small(tmp_path / "docs")
    (folder / "long.md").write_text(f"# Long\n\n{'word ' * 5000} finally [s](index.md)")
    index = SiteIndex(ssi.site(folder, tmp_path / "search").path)
    [(page, _)] = index.rank("finally")
    assert len(index.pages[page][2]) == 8000


def test_what_is_no_search_of_a_site_is_refused(tmp_path):
    with pytest.raises(BadInput, match="ssi site FOLDER"):
        ssi.Site(tmp_path)
    ssi.site(small(tmp_path / "docs"), tmp_path / "search")
    manifest = tmp_path / "search/manifest.js"
    manifest.write_text(manifest.read_text().replace('"format":3', '"format":2'))
    with pytest.raises(BadInput, match="another version"):
        ssi.Site(tmp_path / "search")


def test_chunks_are_read_by_no_other_version(tmp_path):
    folder = small(tmp_path / "docs")
    first = SiteIndex(ssi.site(folder, tmp_path / "search").path).manifest["version"]
    (folder / "cars.md").write_text("# New cars\n\n[Start](index.md)")
    assert SiteIndex(ssi.site(folder, tmp_path / "search").path).manifest["version"] != first


def test_the_verb_writes_and_tells(tmp_path, ssi):
    code, said, _ = ssi("site", small(tmp_path / "docs"), "--out", tmp_path / "search")
    assert code == 0
    assert said["pages"] == 5
    assert said["chosen"] == {"latent": 0.0}
