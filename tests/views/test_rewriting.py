import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ssi_core.tasks.task import open_task
from ssi_core.types import BadInput
from ssi_core.views.hashing import load_view, parse_view
from ssi_core.views.rewriting import Removal, Rewriting, Translation

ENTRIES = [("neko", "cat"), ("neko neko", "cats galore"), ("inu", "dog"), ("inu", "hound dog")]


def translation(entries=ENTRIES):
    frame = pl.DataFrame(entries, schema=["source", "target"], orient="row")
    return Translation(frame, "eo", "en")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Neko", "cat"),
        ("neko neko neko", "cats galore cat"),
        ("inu", "dog hound"),
        ("la inu 1999", "la dog hound 1999"),
        ("", ""),
    ],
)
def test_the_longest_run_first_all_translations_and_the_unknown_as_it_is(text, said):
    assert translation()([text]) == [said]


def test_a_translation_without_words_is_none():
    assert translation([("neko", "!"), ("!", "cat")])(["neko ! inu"]) == ["neko inu"]


def naive_removal(text, phrases):
    """At each place from left to right the longest phrase that stands there."""
    kept, at = "", 0
    while at < len(text):
        found = [p for p in phrases if len(p) >= 3 and text.startswith(p, at)]
        if found:
            kept, at = kept + " ", at + len(max(found, key=len))
        else:
            kept, at = kept + text[at], at + 1
    return kept


@given(st.lists(st.text("ab", max_size=5), max_size=6), st.text("abc", max_size=30))
@example(["aab", "aabb"], "caabbc")
def test_removal_is_its_naive_twin(phrases, text):
    assert Removal(phrases)([text]) == [naive_removal(text, phrases)]


def test_names():
    assert str(parse_view("dictionary.sublinear:100")) == "dictionary.sublinear:100"
    assert isinstance(parse_view("untitled.raw"), Rewriting)
    with pytest.raises(ValueError, match="dictionary, translated, untitled"):
        parse_view("google.raw")


def test_saved_and_loaded_it_reads_alike(mates_task_dirs, tmp_path):
    task = open_task(mates_task_dirs["link"])
    views = task.queries.views
    word = views["untitled.raw"].words[0]
    (title, *_) = views["untitled.raw"].rewriter.phrases
    texts = ["ĵthe ĵboats1 ĵstars3 titulo5x", f"{title} {word}", f"{word}{title}", ""]
    for name in ("dictionary.raw", "untitled.raw"):
        view = views[name]
        view.save(tmp_path / name)
        loaded = load_view(tmp_path / name)
        assert (loaded.name, loaded.space) == (name, view.space)
        assert loaded.rewritten(texts) == view.rewritten(texts) != texts
        assert (loaded.transform(texts) != view.transform(texts)).nnz == 0
        (tmp_path / name / "rewriting.json").write_text('{"name": "dictionary"}')
        with pytest.raises(BadInput, match=r"rewriting\.json"):
            load_view(tmp_path / name)
