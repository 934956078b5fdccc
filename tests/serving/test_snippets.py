"""What a result shows: the part of a text with the words of the query, and the address."""

import copy
import zlib
from dataclasses import asdict, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.passages import LONGEST, Passages, write_passages
from ssi_core.serving.ranked import Hit
from ssi_core.serving.searcher import Searcher, shown
from ssi_core.serving.snippets import WIDTH, Recent, Shown, beginning, snippet
from ssi_core.text.fields import SHORT, TEXT
from ssi_core.text.occurrences import Stemmed
from ssi_core.types import BadInput
from tests.robust.tally import attempt
from tests.serving.models import TEXTS, TITLES, documents, random_models, write_parts

FITTED = random_models(0)[0]
URLS = [f"https://example.org/{n}" if n else None for n in range(len(TEXTS))]


def subsets(text, *words):
    shown = snippet(text, dict.fromkeys(words, 1.0))
    return shown.text, [shown.text[start:end] for start, end in shown.marks]


def test_the_best_part_has_most_of_the_words():
    filler = "The road is long and nobody is on it. " * 20
    text = f"A car. {filler}The old car had an engine of 1886. {filler}"
    shown, marks = subsets(text, "car", "engine", "1886", "the")
    assert shown.startswith("The road") or shown.startswith("The old")
    assert "The old car had an engine of 1886." in shown
    assert {"car", "engine", "1886"} <= set(marks)
    assert shown.endswith("…")
    assert len(shown) <= WIDTH + 2
    # Where no word is there, the text begins.
    assert subsets(text, "moon") == (shown_beginning := subsets(text)[0], [])
    assert shown_beginning.startswith("A car. The road")
    assert subsets("", "car") == ("", [])
    assert subsets("  \n ", "car") == ("", [])


def test_words_that_weigh_little_are_not_marked():
    text = "The cat and the dog. " * 30 + "The old car is there. " + "The end of the road. " * 30
    shown = snippet(text, {"the": 0.01, "car": 2.0, "end": 1.5})
    assert [shown.text[start:end] for start, end in shown.marks][:2] == ["car", "end"]
    assert snippet("the end", {"the": 0.0}).marks == ((0, 3),)


def test_a_part_without_sentences_begins_and_ends_with_a_word():
    shown, marks = subsets("word " * 200 + "needle " + "word " * 200, "needle")
    assert marks == ["needle"]
    assert shown.strip("…").split() == [
        "needle" if w == "needle" else "word" for w in shown.strip("…").split()
    ]
    assert shown[0] == shown[-1] == "…"
    assert shown[1] == "w"


def test_japanese_has_no_blanks():
    text = "東京の電車は速い。" * 40 + "寺の鐘が鳴る。" + "京都の庭は広い。" * 40
    shown, marks = subsets(text, "鐘", "寺")
    assert marks == ["寺", "鐘"]
    assert "寺の鐘が鳴る。" in shown
    assert len(shown) <= WIDTH // 2 + 2
    # What touches is one mark.
    assert subsets("東京都庁", "東京", "都庁")[1] == ["東京都庁"]
    # Marks count characters: one beyond the first plane is one.
    assert subsets("😀 car 𠮷野", "car") == ("😀 car 𠮷野", ["car"])


@given(
    st.text("ab c.\n京都。😀<&", max_size=600),
    st.sets(st.sampled_from(["a", "ab", "c", "京都", "都", "abc"])),
)
def test_any_text_has_a_part(text, words):
    shown = snippet(text, dict.fromkeys(words, 1.0))
    assert len(shown.text) <= WIDTH + max(map(len, words), default=0) + 2
    assert shown.text.strip("…").strip() in " ".join(text.split())
    ends = [end for mark in shown.marks for end in mark]
    assert ends == sorted(set(ends))
    assert not ends or ends[-1] <= len(shown.text)


def searcher(tmp_path, **how):
    texts = documents(dict(FITTED.document_views))
    build_index(FITTED, texts, tmp_path / "index", parents={}, **how)
    return Searcher(FITTED, open_index(tmp_path / "index"))


def test_a_result_shows_its_text_and_its_address(tmp_path):
    hits = (
        searcher(tmp_path, texts=write_parts(tmp_path / "texts", TEXTS, URLS))
        .search(["Car?"], 9)[0]
        .hits
    )
    assert hits
    for hit in hits:
        row = int(hit.id.removeprefix("d"))
        assert (hit.url, hit.snippet) == (URLS[row], TEXTS[row])
        assert {hit.snippet[start:end] for start, end in hit.marks} <= {"car"}
    assert any(hit.marks for hit in hits)


def test_an_index_without_texts_finds_the_same(tmp_path):
    (tmp_path / "plain").mkdir()
    plain, full = (
        searcher(tmp_path / "plain"),
        searcher(tmp_path, texts=write_parts(tmp_path / "texts", TEXTS, URLS)),
    )
    assert plain.index.passages is None
    assert not plain.index.artefact.configuration["texts"]
    answers = [one.search(["car moon"], 5)[0].hits for one in (plain, full)]
    assert answers[0] == tuple(
        replace(h, url=None, snippet=None, marks=(), fields=()) for h in answers[1]
    )


def test_texts_of_other_documents_are_refused(tmp_path):
    few = write_parts(tmp_path / "texts", TEXTS[:4], URLS[:4])
    with pytest.raises(BadInput, match="do not belong to the 6 documents"):
        searcher(tmp_path, texts=few)


def test_texts_are_kept_one_by_one_and_not_beyond_a_bound(tmp_path):
    texts = ["", "line\nline", "long " * LONGEST, "京都 \ud7ff", "<script>"]
    urls = [None, "", " https://example.org/a b\n", "x", None]
    assert write_passages(tmp_path / "kept", write_parts(tmp_path / "texts", texts, urls)) == 5
    kept = Passages(tmp_path / "kept", 5)
    assert [kept[row].text for row in range(5)] == [text[:LONGEST] for text in texts]
    assert [kept[row].url for row in range(5)] == [None, None, "https://example.org/a b", "x", None]
    with pytest.raises(BadInput, match=r"starts.npy: .*expected int64 of shape \(7,\)"):
        Passages(tmp_path / "kept", 6)
    packed = tmp_path / "kept" / "packed.npy"
    packed.write_bytes(packed.read_bytes()[:-9] + b"\xff" * 9)
    with pytest.raises(BadInput, match="the text of row 4 is damaged"):
        Passages(tmp_path / "kept", 5)[4]


def test_all_fields_can_be_read_as_models_read_them(tmp_path):
    texts = ["", "line\nline", "long " * LONGEST]
    parts = write_parts(tmp_path / "texts", texts, [None, "a/b.html", None])
    names = ["", "boat\nboat", "ship\n" * LONGEST]
    named = pl.DataFrame({"title": ["", "", "Old name\nOld name"], "anchors": names})
    write_passages(tmp_path / "kept", parts, named)
    kept = Passages(tmp_path / "kept", 3)
    for row, text in enumerate(texts):
        whole = kept.whole(row)
        assert (whole["text"], whole["anchors"]) == (text, names[row])
        assert (whole["headings"], whole["url"]) == ("", ["", "a/b", ""][row])
    assert kept.whole(2)["title"] == f"{TITLES[2]}\nOld name\nOld name"
    assert (kept[2].title, kept[1].anchors) == (f"{TITLES[2]}\nOld name", "boat")


@pytest.mark.hostile("resealed directories")
def test_a_text_that_unpacks_to_more_than_any_document_is_refused(tmp_path):
    for size, whole in ((31 << 20, True), (33 << 20, False)):
        path = tmp_path / str(size)
        path.mkdir()
        packed = np.frombuffer(zlib.compress(b"\n" + bytes(size)), np.uint8)
        np.save(path / "packed.npy", packed)
        np.save(path / "starts.npy", np.array([0, len(packed)]))
        if whole:
            assert Passages(path, 1)[0].url is None
            continue
        with pytest.raises(BadInput, match="the text of row 0 is damaged"), attempt():
            Passages(path, 1)[0]


def made(text):
    return Shown({TEXT: text} | dict.fromkeys(SHORT, ""))


@given(st.text(alphabet="ab \n\t.京1", max_size=600), st.integers(0, 5))
def test_a_beginning_is_the_part_for_no_word(text, times):
    for whole in (text * times, "b" * WIDTH + " \n" * 1200 + text, "b" * 237 + text):
        assert beginning(whole) == snippet(whole, {})
        assert made(whole).snippet({}) == (snippet(whole, {}), ())


def test_a_hit_reads_what_it_shows_when_that_is_asked_for():
    read, whole = [], Hit("a", "Car", 1.5, "https://x", "a car", ((2, 5),), ("text",), ((0, 1),))
    shown = {name: getattr(whole, name) for name in ("url", "snippet", "marks", "fields")}

    def unread():
        def parts():
            read.append(1)
            return {**shown, "related": whole.related}

        return Hit.unread("a", "Car", 1.5, parts)

    hit = unread()
    assert (hit.id, hit.title, hit.score, read) == ("a", "Car", 1.5, [])
    assert hit.snippet == "a car"
    assert (hit.url, hit.marks, hit.fields) == (whole.url, whole.marks, whole.fields)
    assert (hit.related, read) == (whole.related, [1])
    assert unread() == whole
    assert hash(unread()) == hash(whole)
    assert repr(unread()) == repr(whole)
    assert asdict(unread()) == asdict(whole)
    assert replace(unread(), url=None) == replace(whole, url=None)
    assert vars(copy.deepcopy(unread())) == unread().shown() == vars(whole)
    with pytest.raises(AttributeError, match="no attribute 'text'"):
        unread().text  # noqa: B018


def test_a_search_reads_no_text_before_it_is_asked_for(tmp_path, monkeypatch):
    ours = searcher(tmp_path, texts=write_parts(tmp_path / "texts", TEXTS, URLS))
    read, take = [], Passages.__getitem__
    monkeypatch.setattr(
        Passages, "__getitem__", lambda self, row: read.append(row) or take(self, row)
    )
    hits = ours.search(["Car?"], 9)[0].hits
    assert [hit.id for hit in hits]
    assert not read
    assert hits[0].snippet == TEXTS[int(hits[0].id.removeprefix("d"))]
    assert len(read) == 1
    assert len(shown(ours.search(["Car?"], 9)[0]).hits) == len(set(read)) > 1


def test_what_was_shown_last_is_kept_as_far_as_it_is_short(monkeypatch):
    monkeypatch.setattr(Recent, "CHARACTERS", 30)
    recent, read = Recent(), []

    def get(row):
        return recent.get(row, lambda: read.append(row) or made("ten letters"))

    first = get(0)
    get(1)
    assert get(0) is first
    get(2)  # the third does not fit: the one goes that was shown the longest ago
    assert get(0) is first
    get(1)
    assert read == [0, 1, 2, 1]


def test_a_document_is_shown_for_stems_as_it_is_written():
    shown, having = made("Linked pages, and a cat.").snippet(Stemmed(link=2.0, cat=1.9))
    assert shown.marks == ((0, 6), (20, 23))
    assert having == (TEXT,)
