"""What stands in a document is found, whichever source it was read by and whatever field it is in.

A BM25F index of the documents as they are, not as a task reads them, answers the words.
"""

import json
from collections import Counter

import pytest

import ssi_core as ssi
from ssi_core.collection import open_collection
from ssi_core.corpus import sources
from ssi_core.tasks.build import build_task
from ssi_core.tasks.unseen import documents_of
from ssi_core.text.fields import FIELDS, split
from ssi_core.text.tokenizer import tokenize
from tests.face.made_sources import BARE, FIELD, SOURCES
from tests.fielded import word


def index_of(documents, place):
    """A BM25F index of documents; the task has their own words for queries."""
    build_task(
        documents.path, place, relevant="self", queries="words:2", words="all", fields=FIELDS,
        views=("counts",),
    )  # fmt: skip
    return ssi.Ranker("bm25f").fit(ssi.Task.open(place)).index(documents)


def alone(documents, field):
    """A word of a field that stands in one document alone, and that document."""
    frame = documents.frame
    used = Counter()
    for texts in frame.select("title", "text").rows():
        used.update(set(tokenize(" ".join(texts))))
    for text, row in zip(frame[field], frame["id"], strict=True):
        for one in tokenize(text):
            if used[one] == 1:
                return one, row
    raise AssertionError("no word is in one document alone")


def numbered(documents, i):
    """The document of a number, whatever its source calls it."""
    names = {word(2000 + i), word(3000 + i)}
    frame = documents.frame
    (found,) = (row for row, *texts in frame.select("id", "title", "text").rows()
                if names & set(tokenize(" ".join(texts))))  # fmt: skip
    return found


def test_every_source_has_an_input_here():
    assert SOURCES.keys() == sources.SOURCES.keys()


@pytest.mark.parametrize("source", SOURCES)
def test_a_word_of_any_field_finds_its_document(source, tmp_path):
    (tmp_path / "in").mkdir()
    documents, expected = SOURCES[source](place=tmp_path / "in")
    if isinstance(expected, dict):
        rows = {one: numbered(documents, i) for one, i in expected.items()}
    else:
        rows = dict(alone(documents, field) for field in expected)
    read = documents_of(open_collection(documents.path)).select("id", "text").rows()
    for one, row in rows.items():
        fields = split(dict(read)[row])
        field = "text" if source in BARE else FIELD.get(one.removesuffix("html"), "")
        assert one in tokenize(fields[field] if field else " ".join(fields.values())), field
    index = index_of(documents, tmp_path / "task")
    for one, row in rows.items():
        hits = [hit.id for hit in index.search(one)]
        # The words of a link stand in the text that it is in, and a document has other names.
        assert row == hits[0] if isinstance(expected, dict) else row in hits, one


def test_a_word_that_occurs_once_among_60_000_finds_its_document(tmp_path):
    words = [word(number) for number in range(60_000)]
    texts = [" ".join(words[first : first + 600] * 2) for first in range(0, 60_000, 600)]
    texts[17] += " qqsingular"
    index = index_of(ssi.read(texts), tmp_path / "task")
    assert [hit.id for hit in index.search("qqsingular")] == ["17"]
    counts = ssi.Task.open(tmp_path / "task").counts
    assert counts["words"] == counts["distinct_words"] == 60_001


@pytest.mark.parametrize(
    ("headings", "kept"),
    [
        (["First part", "C|D"], "First part\nC|D"),
        ("First part|Second part", "First part\nSecond part"),
        ("[Draft] one\nSecond part", "[Draft] one\nSecond part"),
        ("", None),
    ],
)
def test_each_heading_of_a_table_is_an_entry_of_its_own(headings, kept, tmp_path):
    rows = [{"id": "a", "text": "words", "headings": headings}]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert ssi.read(tmp_path / "rows.jsonl").frame["headings"].to_list() == [kept]


CODE = {
    "E0425": "error[E0425]: cannot find value",
    "__init__": "the method __init__(self) of a class",
    "--force": "push with --force",
    ".gitignore": "the list .gitignore beside it",
    "C++": "templates of C++20 and of C++",
    "read_file()": "call read_file(path)",
    "std::vec": "the type std::vec::Vec",
}


@pytest.fixture(scope="module")
def manual(tmp_path_factory):
    path = tmp_path_factory.mktemp("manual")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(path / "root"))
        texts = [*CODE.values(), *(f"a page about {word(i)}" for i in range(30))]
        yield index_of(ssi.read(texts), path / "task")


@pytest.mark.parametrize("name", CODE)
def test_a_word_of_code_finds_its_document_as_it_is_spelled_and_without_its_signs(name, manual):
    wanted = str(list(CODE).index(name))
    for spelled in (name, name.upper(), f"`{name}`", " ".join(tokenize(name))):
        assert [hit.id for hit in manual.search(spelled)] == [wanted], spelled
