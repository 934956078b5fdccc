"""Phrases of titles and headings: pairs of words that stand near each other in a line."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy import sparse

import ssi_core as ssi
from ssi_core.tasks.layout import PHRASE_VIEW
from ssi_core.text import fields
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import DERIVED_VIEWS, BadInput
from ssi_core.views.hashing import load_view
from ssi_core.views.names import PHRASES
from ssi_core.views.phrases import NEAR, PhraseView
from tests.fielded import write_fielded

WORDS = [f"word{n}" for n in range(9)]


def line(rng, least, most):
    return " ".join(rng.choice(WORDS, rng.integers(least, most)))


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    rng = np.random.default_rng(0)
    rows = [
        {
            "id": f"d{n}",
            "title": line(rng, 1, 8),
            "headings": [line(rng, 1, 8) for _ in range(n % 3)],
            "text": f"{line(rng, 4, 9)} {'filler ' * 2} unlike{n}",
        }
        for n in range(61)
    ]
    links = [(f"d{n}", f"d{(n + 7) % 61}", line(rng, 2, 4)) for n in range(61)]
    links = pl.DataFrame(links, schema=["source", "target", "anchor"], orient="row")
    return ssi.read(rows, links, language="en", out=tmp_path_factory.mktemp("phrases") / "docs")


@pytest.fixture(scope="module")
def task(docs, tmp_path_factory):
    out = tmp_path_factory.mktemp("phrases") / "task"
    return ssi.Task.of(docs, "self", queries="words:3", words=8, out=out).data


@pytest.fixture(scope="module")
def view(task):
    return task.documents.views[PHRASES]


def counted(view, lines):
    """Count the pairs of known words with at most two words between, line by line."""
    known, found = set(view.base.words), {}
    for text in lines:
        words = tokenize(text)
        for i, j in combinations(range(len(words)), 2):
            if j - i <= 3 and words[i] != words[j] and {words[i], words[j]} <= known:
                pair = frozenset((words[i], words[j]))
                found[pair] = found.get(pair, 0) + 1
    return found


def by_name(view, row):
    names = [view.words[column] for column in row.indices]
    return {frozenset(name.split("+")): n for name, n in zip(names, row.data, strict=True)}


def test_the_columns_are_the_phrases_of_titles_and_headings(docs, task, view):
    rows = docs.frame.select("title", "headings").rows()
    expected = [counted(view, [title, *(headings or "").split("\n")]) for title, headings in rows]
    assert {frozenset(name.split("+")) for name in view.words} == {p for e in expected for p in e}
    matrix = task.documents.matrix(PHRASES)
    assert matrix.dtype == np.float32
    assert max(map(max, (one.values() for one in expected if one))) > 1
    for n, one in enumerate(expected):
        assert by_name(view, matrix[[n]]) == one


def test_what_is_read_anew_has_the_same_phrases(docs, task, view):
    titles = docs.frame["title"].to_list()
    headings = docs.frame["headings"].fill_null("").to_list()
    both, rng = zip(titles, headings, strict=True), np.random.default_rng(1)
    texts = [
        fields.join(text=line(rng, 4, 9), title=t, headings=h, anchors=line(rng, 4, 9))
        for t, h in both
    ]
    ours, theirs = view.transform(texts), task.documents.matrix(PHRASES)
    assert (ours != theirs).nnz == 0


def test_no_phrase_goes_over_the_end_of_a_line_or_is_far(view):
    a, b = [word for word in view.base.words if word != "filler"][:2]
    assert a == view.base.words[0]
    column = [frozenset(name.split("+")) for name in view.words].index(frozenset((a, b)))
    near, far = " other" * (NEAR - 1), " other" * NEAR
    texts = [f"{a}{near} {b}", f"{b}{near} {a}", f"{a}{far} {b}", f"{a}\n{b}", f"{a} {a}"]
    assert view.count(texts)[:, [column]].toarray().ravel().tolist() == [1, 1, 0, 0, 0]


def test_a_text_without_fields_and_no_text_have_none(view):
    assert view.transform([" ".join(WORDS), ""]).nnz == 0
    assert view.transform([]).shape == (0, len(view.words))


def test_a_query_has_all_pairs_of_its_words_each_a_share(view):
    # Every third pair of words is no phrase, and "filler" is a word of texts alone.
    view = PhraseView(view.base, np.delete(view.keys, slice(None, None, 3)))
    words = [*view.base.words]
    queries = [[0, 3, 5, 7], [2], [], [1, 4], sorted([words.index("filler"), 2, 6])]
    counts = sparse.csr_array((len(queries), len(words)), dtype=np.float32).tolil()
    for row, several in enumerate(queries):
        for column in several:
            counts[row, column] = 2
    rows = view.of_words(sparse.csr_array(counts))
    known = {frozenset(name.split("+")) for name in view.words}
    for n, several in enumerate(queries):
        pairs = {frozenset((words[i], words[j])) for i, j in combinations(several, 2)} & known
        expected = dict.fromkeys(pairs, pytest.approx(1 / max(1, len(several) - 1)))
        assert by_name(view, rows[[n]]) == expected
        alone = view.of_words(sparse.csr_array(counts[[n]]))
        assert by_name(view, alone) == expected
        assert alone.has_sorted_indices
    assert rows.nnz > 3
    assert rows.has_sorted_indices


def test_only_documents_have_them_and_none_where_they_ask(docs, task, tmp_path):
    assert not set(task.queries.views) & {*DERIVED_VIEWS}
    linked = ssi.Task.of(docs, "link", out=tmp_path / "link").data
    assert "fields" in linked.documents.views
    assert PHRASES not in linked.documents.views
    alone = ssi.Task.of(docs, "self", queries="words:3", fields=["text"], out=tmp_path / "alone")
    assert PHRASES not in alone.data.documents.views


def test_titles_that_are_asked_are_in_no_phrase(tmp_path):
    place = write_fielded(tmp_path / "collection")
    asked = ssi.Task.of(ssi.read(place), "self", out=tmp_path / "task").data
    names = asked.documents.views[PHRASES].words
    assert any("about" in name.split("+") for name in names)
    assert not any(name.startswith("title") or "+title" in name for name in names)


def test_a_saved_view_is_the_same_and_a_damaged_one_is_refused(view, tmp_path):
    view.save(tmp_path)
    again = load_view(tmp_path)
    assert isinstance(again, PhraseView)
    assert again.space == view.space
    np.testing.assert_array_equal(again.keys, view.keys)
    np.save(tmp_path / "keys.npy", view.keys[1:])
    with pytest.raises(BadInput, match="its phrases were changed"):
        load_view(tmp_path)
    np.save(tmp_path / "keys.npy", view.keys[::-1])
    with pytest.raises(BadInput, match="keys"):
        load_view(tmp_path)


def test_the_view_of_a_task_is_checked(task):
    saved = load_view(task.path / PHRASE_VIEW)
    assert saved.space == task.documents.views[PHRASES].space
