"""What a person sees of a site's search, and the numbers and bytes that a browser is given."""

import base64
import io
import struct

import numpy as np
import polars as pl
import pytest
from rich.console import Console

import ssi_core as ssi
from ssi_core.guests.site import commands, ranking, writing
from ssi_core.guests.site.clusters import clusters_of
from ssi_core.guests.site.commands import _told
from ssi_core.guests.site.matching import _MOST_PAGES, naming, weights_of
from ssi_core.guests.site.ranking import SiteIndex
from ssi_core.guests.site.records import Called, pack_group, pack_vectors, pack_word, word_of
from tests.guests.site.made import small

pytestmark = pytest.mark.usefixtures("own_root")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The search of five pages, and its folder."""
    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(folder / "root"))
        return ssi.site(small(folder / "docs"), folder / "search"), folder


def test_a_person_reads_how_large_a_search_is_and_what_it_chose(tmp_path):
    out = tmp_path / "search"
    outcome = commands.site.callback(folder=small(tmp_path / "docs"), out=out)
    shown = io.StringIO()
    outcome.show(Console(file=shown, width=300))
    files = list(out.iterdir())
    size = sum(file.stat().st_size for file in files)
    assert (outcome.value["files"], outcome.value["bytes"]) == (len(files), size)
    assert shown.getvalue().splitlines() == [
        f"{out}: 5 pages, {outcome.value['words']} words, {len(files)} files, {size / 1e6:.1f} MB",
        "  BM25F with its defaults: there are too few pages to choose by.",
    ]


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"queries": "anchors", "latent": 0.5}, "with a latent part, chosen on held-out words of"),
        ({"queries": "titles", "latent": 0.0}, "without a latent part, chosen on held-out titles."),
        ({"queries": "else", "latent": 1.0}, "with a latent part, chosen on held-out words."),
    ],
)
def test_what_was_chosen_is_told(chosen, told):
    assert _told(chosen).startswith(f"BM25F {told}")


# --- bytes of the records ---


def test_a_word_is_packed_as_the_record_says():
    pages, weights = np.array([0, 130, 131], np.int32), np.array([5.1, 0.001, 2.55], np.float32)
    called = Called(
        np.array([3, 4], np.int32), np.array([0, 131], np.int32), np.array([9, 300], np.int32),
        np.array([0, 15], np.int32), np.array([True, False]),
    )  # fmt: skip
    row = np.array([0.5, -1.0, 0.0], np.float32)
    scale = struct.pack("<f", np.float32(np.float32(5.1) / np.float32(255)))
    plain = (
        b"\x03" + scale + b"\x01\x82\x01\x01" + bytes([255, 1, 127]) + b"\x07\x02"
        + b"\x04\x01\xa1\x02"  # number 3, page 0, 32 * 9 + 1
        + b"\x01\x83\x01\x9e\x4b"  # number 4, page 131, 32 * 300 + 2 * 15
    )  # fmt: skip
    weights[2] = np.float32(127) * np.float32(5.1) / np.float32(255)
    assert pack_word(word_of(pages, weights, 7, called), 0) == plain
    assert pack_word(word_of(pages, weights, 7, called, 0.0, row), 3) == plain + bytes(4)
    latent = struct.pack("<ff", 2, np.float32(2) / np.float32(127)) + bytes([64, 129, 0])
    assert pack_word(word_of(pages, weights, 7, called, 2.0, row), 3) == plain + latent


def test_vectors_are_packed_in_steps_of_a_127th_of_the_largest():
    vectors = np.array([[127, -63.4, 0.6], [0, 0, 0]], np.float32)
    packed = struct.pack("<f", 1) + bytes([127, 256 - 63, 1]) + bytes(4 + 3)
    assert pack_vectors(vectors) == packed
    assert pack_group(np.array([1, 200], np.int32), vectors) == b"\x02\x02\xc7\x01" + packed


def test_parts_end_with_what_makes_them_large_enough():
    assert list(writing._parts([3, 1, 2, 4, 9, 1], 4, lambda n: n)) == [[3, 1], [2, 4], [9], [1]]
    assert list(writing._parts([2, 2], 4, lambda n: n)) == [[2, 2]]


def test_a_chunk_is_a_call_of_the_program_with_its_name():
    assert writing._chunk("w0", "ä", [1, 2]) == 'ssi.chunk("w0","ä",[1,2]);\n'.encode()
    assert writing._chunk("p0", "\ud800") == b'ssi.chunk("p0","?");\n'


def test_the_manifest_and_the_pages_are_those_of_the_folder(written):
    site, _ = written
    [manifest] = site._index._values("manifest")
    version = manifest.pop("version")
    assert len(version) == 8
    assert manifest == {
        "format": 3, "rule": "words", "root": "../", "pages": 5, "dimensions": 0, "k3": 8.0,
        "centers": "", "firstWords": manifest["firstWords"], "firstPages": [0],
    }  # fmt: skip
    assert [url for _, url, _ in site._index.pages] == [
        "cars.html", "el.html", "he.html", "index.html", "strange.html",
    ]  # fmt: skip
    assert site._index.pages[0][0] == "Old cars"
    names, data = site._index._values("w0")
    assert manifest["firstWords"][0] == names.split(" ")[0]
    assert names.split(" ") == sorted(names.split(" "))
    assert len(base64.b64decode(data)) > 5 * len(names.split(" "))


# --- scores ---


def score_of(index, words, page):
    """The score of a page for words that are no names, by the sentence of the page on sites."""
    asked = got = total = 0.0
    k3 = index.manifest["k3"]
    for name in words:
        word = index.word(name)
        asked += word.weight
        if page in word.pages.tolist():
            got += word.weight
            place = word.pages.tolist().index(page)
            total += (k3 + 1) / (k3 + 1) * word.scale * int(word.weights[place])
    return total * (got / asked) ** 2


def test_scores_are_sums_of_weights_times_the_share_of_the_query(written):
    index = written[0]._index
    for text in ("four", "has four", "see four page", "has see"):
        for page, score in index.rank(text):
            assert score == pytest.approx(score_of(index, text.split(), page), rel=1e-12)
    assert [page for page, _ in index.rank("four four")] == [0]
    [(_, once)], [(_, twice)] = index.rank("four"), index.rank("four four")
    assert twice == pytest.approx(once * (9 * 2 / 10), rel=1e-12)


def test_a_beginning_is_weighed_by_its_share_of_the_word(written, monkeypatch):
    index = written[0]._index
    (page, typed), (same, whole) = (
        index.rank("strang", typing=True)[0], index.rank("strange")[0],
    )  # fmt: skip
    assert page == same
    assert index._completions("strang") == [(index.word("strange"), 6 / 7)]
    assert typed < whole
    # "car" is a word, so that "cars" counts for less beside it.
    weights = {id(word): weight for word, weight in index._completions("car")}
    assert weights == {id(index.word("car")): 1, id(index.word("cars")): 0.3 * 3 / 4}
    # Too many chunks of words begin so.
    monkeypatch.setitem(index.manifest, "firstWords", ["a", *[f"car{n}" for n in "abcd"], "z"])
    monkeypatch.setattr(ranking.SiteIndex, "_words_in", lambda self, number: {})
    index.__dict__.pop("_firsts", None)
    assert index._completions("car") == []
    monkeypatch.setattr(ranking.SiteIndex, "_words_in", lambda self, number: pytest.fail("read"))
    assert index._completions("car") == []
    index.__dict__.pop("_firsts", None)


def test_weights_are_idf_in_sixteenths_from_1_to_255():
    df = np.array([1, 3, 10, 1000, 1_000_000])
    expected = [min(255, max(1, round(16 * np.log(1 + (1e6 - n + 0.5) / (n + 0.5))))) for n in df]
    assert weights_of(df, 1_000_000).tolist() == expected
    assert weights_of(np.array([1]), 10**9).tolist() == [255]


def test_headings_of_more_than_three_pages_name_none():
    lines = [f"Mine {n}\nOften" + "\nRARE" * (n < _MOST_PAGES) for n in range(4)]
    assert [*naming(lines)] == [*([f"Mine {n}", "RARE"] for n in range(3)), ["Mine 3"]]


def test_up_to_two_thousand_and_some_pages_are_one_group():
    vectors = np.repeat(np.eye(2, dtype=np.float32), 1500, axis=0)
    assert [group.tolist() for group in clusters_of(vectors[:2000])] == [list(range(2000))]
    groups = clusters_of(vectors)
    assert np.concatenate(groups).tolist() == list(range(3000))
    assert all(len({*(group >= 1500)}) == 1 for group in groups)


def test_a_directory_without_both_files_is_no_search(tmp_path):
    for name in (writing.PROGRAM, f"{writing.MANIFEST}.js"):
        assert not writing.is_site(tmp_path)
        (tmp_path / name).write_text("")
    assert writing.is_site(tmp_path)


def test_frames_of_pages_have_a_row_for_each(written):
    site, _ = written
    frame = pl.DataFrame(site._index.pages, schema=["title", "url", "text"], orient="row")
    assert len(frame) == len(site) == len(SiteIndex(site.path))
