"""Which fields of a document have the words of a query: in results, snippets and explanations."""

import numpy as np
import polars as pl
import pytest

import ssi_core as ssi
from ssi_core.collection import open_collection
from ssi_core.face.index import Index
from ssi_core.models.bm25f import Bm25F, settings_of
from ssi_core.serving.explain import explain
from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.searcher import Searcher
from ssi_core.tasks.build import build_task
from ssi_core.tasks.fields import names_of_task
from ssi_core.tasks.reading import raw_texts
from ssi_core.tasks.task import open_task
from ssi_core.tasks.unseen import documents_of
from ssi_core.text.fields import FIELDS, OWN, split
from ssi_core.text.tokenizer import tokenize
from ssi_core.views.phrases import BESIDE
from tests.fielded import word

N = 41
NUMBERS = {"title": 1000, "headings": 2000, "url": 3000, "text": 4000, "anchors": 5000}
"""Field -> word(number + i) stands in that field of document i, and nowhere else."""


@pytest.fixture(scope="module", autouse=True)
def root(tmp_path_factory):
    """A root of the module's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(tmp_path_factory.mktemp("root")))
        yield


def rows():
    for i in range(N):
        own = {name: word(number + i) for name, number in NUMBERS.items()}
        yield {
            "id": f"d{i}",
            "title": f"About {own['title']}",
            "headings": [f"History, {own['headings']} and others", "Notes"],
            "url": f"https://example.org/notes/{own['url']}.html",
            # The common word stands in several fields; two lines, so that no title is made of it.
            "text": f"Some notes.\nMany things are noted by {own['text']}, {word(9000 + i % 7)}.",
        }


@pytest.fixture(scope="module")
def docs(tmp_path_factory):
    path = tmp_path_factory.mktemp("fields")
    pl.DataFrame(list(rows())).write_ndjson(path / "docs.jsonl")
    links = [(f"d{i}", f"d{(i + 1) % N}", f"see {word(5000 + (i + 1) % N)}") for i in range(N)]
    links += [(f"d{(i + 2) % N}", f"d{i}", f"see {word(5000 + i)}") for i in range(N)]
    pl.DataFrame(links, ["source", "target", "anchor"], orient="row").write_csv(path / "links.csv")
    return ssi.read(path / "docs.jsonl", links=path / "links.csv")


@pytest.fixture(scope="module")
def task(docs, tmp_path_factory):
    out = tmp_path_factory.mktemp("task") / "task"
    build_task(docs.path, out, relevant="self", queries="words:2", words="all", fields=FIELDS)
    return ssi.Task.open(out)


@pytest.fixture(scope="module")
def index(docs, task):
    return ssi.Ranker("bm25f").fit(task).index(docs)


@pytest.mark.parametrize("field", NUMBERS)
def test_a_word_of_one_field_alone_is_found_in_that_field(index, field):
    hits = index.search(word(NUMBERS[field] + 7)).hits
    assert [(hit.id, hit.fields) for hit in hits] == [("d7", (field,))]


def test_words_of_several_fields_name_all_of_them(index):
    asked = " ".join(word(number + 7) for number in NUMBERS.values())
    assert index.search(asked, k=1).hits[0].fields == (
        "title",
        "headings",
        "url",
        "anchors",
        "text",
    )
    # Words that weigh little beside the heaviest do not count.
    assert index.search(f"notes {word(1007)}", k=1).hits[0].fields == ("title",)


def test_the_snippet_is_of_the_text_or_else_the_heading(index):
    def shown(asked):
        (hit,) = index.search(asked).hits
        return hit.snippet, [hit.snippet[start:end] for start, end in hit.marks]

    text = f"Some notes. Many things are noted by {word(4007)}, {word(9000)}."
    assert shown(word(4007)) == (text, [word(4007)])
    assert shown(word(2007)) == (f"History, {word(2007)} and others", [word(2007)])
    assert shown(f"{word(2007)} {word(4007)}") == (text, [word(4007)])
    for number in (1007, 3007, 5007):
        assert shown(word(number)) == (text, [])


def test_an_index_of_a_task_names_the_fields_too(task, tmp_path):
    fitted = ssi.Ranker("bm25f").fit(task).fitted_
    opened = open_task(task.path)
    names = names_of_task(task.path)
    for place, named in (("with", names), ("without", None)):
        build_index(
            fitted, opened.documents, tmp_path / place, parents={}, texts=raw_texts(task.path),
            names=named,
        )  # fmt: skip
    found = {
        place: Searcher(fitted, open_index(tmp_path / place)).search([word(5007)])[0].hits[0].fields
        for place in ("with", "without")
    }
    assert found == {"with": ("anchors",), "without": ()}


def naive_shares(documents, row, term, settings):
    """Shares of fields in x of a word: w_f tf_f / B_f over their sum (Zaragoza et al. 2004)."""
    counted = [{name: tokenize(text) for name, text in split(one).items()} for one in documents]
    mean = {name: sum(len(one[name]) for one in counted) / len(documents) for name in FIELDS}
    x = {}  # of a word without x there are no shares
    for name in FIELDS:
        b = {"text": settings["b"], "anchors": settings["b_anchors"]}.get(name, settings["b_short"])
        length = len(counted[row][name]) / mean[name]
        weight = settings.get(name, 1.0)
        x[name] = weight * counted[row][name].count(term) / (1 - b + b * length)
    return {name: value / sum(x.values()) for name, value in x.items() if value}


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"b": (0.3,), "b_short": (0.9,), "b_anchors": (0.6,), "title": (4.0,), "url": (0.5,)},
        {"headings": (0.0,), "anchors": (0.0,)},
    ],
)
def test_shares_of_a_word_are_those_of_the_formula(docs, task, settings):
    fitted = Bm25F(**settings).fit(open_task(task.path), np.random.default_rng(0))
    index = Index.of(fitted, docs)
    # The mean lengths of the model are those of its task, whose titles are not hidden.
    raw = documents_of(open_collection(docs.path))["text"].to_list()
    for asked, row in ((f"notes {word(5009)}", 9), (f"about {word(2003)}", 3)):
        expected = {
            one: naive_shares(raw, row, one, settings_of(fitted)) for one in tokenize(asked)
        }
        parts = [one for one in index.explain(asked, f"d{row}").parts if not is_phrase(one)]
        assert {part.document_word for part in parts} == {one for one in expected if expected[one]}
        for part in parts:
            assert sum(part.fields.values()) == pytest.approx(1, rel=1e-12)
            assert dict(part.fields) == pytest.approx(expected[part.document_word], rel=1e-5)


def is_phrase(part):
    return BESIDE in part.document_word


@pytest.mark.parametrize("beside", [(), ({"model": "tfidf", "view": "raw"},)])
def test_words_that_stand_together_in_a_name_are_a_part_of_their_own(docs, task, beside):
    ranker = ssi.Ranker("bm25f", phrases=(2.0,))
    if beside:
        parts = ({"model": "bm25f", "phrases": (2.0,)}, *beside)
        ranker = ssi.Ranker("mixture", parts=parts, betas=(1.0,))
    fitted = ranker.fit(task)
    asked = f"about {word(NUMBERS['title'] + 4)}"
    other = ssi.read([{"id": "new", "title": asked, "text": f"{asked}, too"}], language="en")
    [phrase] = filter(is_phrase, fitted.index(other).explain(asked, "new").parts)
    assert dict(phrase.fields) == {"title": None}
    index = fitted.index(docs)
    for first, field in (("about", "title"), ("history", "headings")):
        asked = f"{word(NUMBERS[field] + 3)} {first}"
        explained = index.explain(asked, "d3")
        [phrase] = filter(is_phrase, explained.parts)
        assert set(phrase.document_word.split(BESIDE)) == set(asked.split())
        assert dict(phrase.fields) == {field: None}
        assert phrase.part > 1
        [score] = (hit.score for hit in index.search(asked, 60).hits if hit.id == "d3")
        assert explained.score == pytest.approx(score, rel=1e-5)
        total = sum(part.part for part in explained.parts) + explained.rest
        assert total == pytest.approx(explained.score, rel=1e-6)


def test_other_models_name_the_fields_without_shares(docs, task):
    index = ssi.TfIdf().fit(task).index(docs)
    explained = index.explain(f"{word(1003)} {word(4003)} {word(2003)}", "d3")
    found = {part.document_word: dict(part.fields) for part in explained.parts}
    fields = {word(1003): "title", word(4003): "text", word(2003): "headings"}
    assert found == {one: {field: None} for one, field in fields.items()}
    assert explained.frame["fields"].sort().to_list() == sorted(fields.values())
    assert "found in" in str(explained)


def test_a_sum_of_models_names_the_fields_of_both(docs, task):
    parts = ({"model": "tfidf", "view": "raw"}, {"model": "bm25f"})
    index = ssi.Ranker("mixture", parts=parts, betas=(1.0,)).fit(task).index(docs)
    found = index.explain(word(4003), "d3").parts
    assert [(part.document_word.rstrip("′"), part.where) for part in found] == [
        (word(4003), "text")
    ] * 2


def test_fields_of_an_explanation_are_those_that_documents_have_themselves(index, docs):
    kept = index._searcher.ranked[0]
    raw = documents_of(open_collection(docs.path))["text"].to_list()
    for row in (0, N - 1):
        fields = kept.fields(row)
        expected = split(raw[row])
        assert {name: fields[name] for name in OWN} == {name: expected[name] for name in OWN}
        assert set(fields["anchors"].split("\n")) == set(expected["anchors"].split("\n"))
        assert explain(index._searcher, word(4000 + row), f"d{row}").parts[0].fields == {
            "text": 1.0
        }


def test_an_index_of_earlier_code_is_made_again(index, docs, task, monkeypatch):
    monkeypatch.setattr("ssi_core.face.index.stored", lambda storage: {})
    monkeypatch.setattr("ssi_core.serving.index.stored", lambda storage: {})
    fitted = ssi.Ranker("bm25f").fit(task)
    earlier = fitted.index(docs)
    monkeypatch.undo()
    assert fitted.index(docs).path == index.path != earlier.path
