"""The search box of documents of which nothing says what people ask for."""

import json

import numpy as np
import polars as pl
import pytest

import ssi_core as ssi
from ssi_core.command.failures import DONE
from ssi_core.command.library import library
from ssi_core.command.verb import run
from ssi_core.face.fit import search_model
from ssi_core.face.fit_tasks import reworded_task
from ssi_core.models.bm25f import Bm25F
from tests.corpora import topical
from tests.fielded import word

N = 120


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A root for all fits of this file."""
    return tmp_path_factory.mktemp("plain") / "root"


@pytest.fixture(autouse=True)
def _one_root(root, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(root))


def rows(n=N):
    """Documents whose titles have a word that is in no text."""
    texts, _ = topical(n)
    titles = [f"name{word(number)} {text.split(':')[0]}" for number, text in enumerate(texts)]
    return pl.DataFrame({"id": [f"d{i}" for i in range(n)], "title": titles, "text": texts})


@pytest.fixture(scope="module")
def fitted(root):
    """A fit of documents without links."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(root))
        return ssi.fit(rows(), stems=None)


def test_a_title_that_no_text_has_finds_its_document(fitted, tmp_path):
    index = fitted.save(tmp_path / "model")
    asked = [f"name{word(number)}" for number in range(N)]
    assert [one.hits[0].id for one in index.search(asked, 1)] == [f"d{n}" for n in range(N)]


def test_it_is_bm25f_with_documented_settings_and_says_so(fitted):
    assert fitted.label == fitted.comparison.baseline == "BM25F"
    assert list(fitted.comparison.reports) == fitted.choices == ["BM25F"]
    assert fitted.model.ranker() == Bm25F()
    assert fitted.facts == {}
    assert "titles alone" not in fitted.words
    assert "Nothing was learned from pairs: the model is BM25F." in str(fitted)
    assert "BM25F has its documented settings" in fitted.reason
    assert "cosine of TF-IDF" in fitted.reason
    assert fitted.comparison.measures == ("map", "ndcg_at_10", "mrr")


def test_its_documents_are_whole_where_it_is_measured(fitted):
    configuration, counts = fitted.task.artefact.configuration, fitted.task.counts
    assert (configuration["relevant"], configuration["queries"]) == ("self", "words:3")
    assert counts["documents_with"]["title"] == N


def test_related_documents_are_those_of_the_highest_cosine(fitted, tmp_path, capsys):
    index = fitted.save(tmp_path / "model")
    cosine = ssi.Ranker("tfidf").fit(fitted.task).index(fitted.documents)
    found, expected = (one.related("d7", k=5) for one in (index, cosine))
    assert [hit.id for hit in found] == [hit.id for hit in expected]
    assert [hit.score for hit in found] == [hit.score for hit in expected]
    assert run(library, ["related", str(tmp_path / "model"), "d7", "-k", "5", "--json"]) == DONE
    printed = json.loads(capsys.readouterr().out)["results"]
    assert [hit["id"] for hit in printed] == [hit.id for hit in expected]


@pytest.mark.trains
def test_links_without_words_teach_the_related_documents_alone():
    _, links = topical(N)
    fitted = ssi.fit(rows(), [(f"d{a}", f"d{b}") for a, b in links], auto=False, budget=2_000)
    assert (fitted.label, fitted.related.label) == ("BM25F", "SSI")
    assert "cosine" not in fitted.reason
    assert "documented defaults" in fitted.related.reason


def test_the_model_of_a_demo_is_the_same():
    model, called = search_model(ssi.read(rows()))
    assert (model.ranker(), called) == (Bm25F(), "BM25F")


@pytest.mark.parametrize(
    ("ends", "language", "stems"),
    [(("tions", "tion"), "en", True), (("", ""), "en", False), (("tions", "tion"), "de", False)],
)
def test_titles_decide_whether_stems_are_read(ends, language, stems):
    texts = [f"{word(n)}{ends[0]} and more" for n in range(300)]
    titles = [f"old {word(n)}{ends[1]}" for n in range(300)]
    docs = ssi.read({"title": titles, "text": texts}, language=language)
    assert reworded_task(docs).artefact.configuration["queries"] == "titles"
    configuration = ssi.fit(docs, stems=None).task.artefact.configuration
    assert (configuration["queries"], configuration["stems"]) == ("words:3", stems)


@pytest.mark.trains
def test_titles_that_were_hidden_in_training_count_in_a_search(tmp_path):
    docs = ssi.read({"title": [word(n) for n in range(N)], "text": [
        f"{word(n)} {word(n + 1)} {word(n + 1)} {word(n + 2)}" for n in range(N)
    ]})  # fmt: skip
    task = ssi.Task.of(docs, "self")
    assert task.counts["documents_with"]["title"] == 0
    note = "Words that stand in titles alone are not among them"
    fitted = ssi.fit(docs, ask="titles", auto=False, budget=500)
    assert note in fitted.words
    # The documented settings stand beside BM25F where people type; it is written, and read again.
    assert (fitted.label, fitted.model.fitted_.model.name) == ("BM25F + SSI", "mixture")
    assert fitted.reason == "Settings: BM25F + SSI, the documented defaults."
    fitted.save(tmp_path / "model")
    assert ssi.load(tmp_path / "model").fitted_.model == fitted.model.fitted_.model
    hits = ssi.Ranker("bm25f").fit(task).index(docs).search([word(n) for n in range(9, 20)], 3)
    assert [one.hits[0].title for one in hits] == [word(n) for n in range(9, 20)]
    scores = np.array([[hit.score for hit in one.hits[:2]] for one in hits])
    assert (scores[:, 0] > 1.5 * scores[:, 1]).all()


@pytest.mark.parametrize("n", [3, 5, 12])
def test_a_handful_of_documents_is_enough_for_a_search(n):
    index = ssi.fit(rows(n), stems=None).index()
    assert index.search(f"name{word(n - 1)}", 1).hits[0].id == f"d{n - 1}"


@pytest.mark.parametrize("titles", [["Home"] * N, ["Home", "Untitled"] * (N // 2)])
def test_documents_of_one_title_are_held_out_by_their_ids(titles):
    fitted = ssi.fit(rows().with_columns(title=pl.Series(titles)))
    assert fitted.task.counts["pairs"]["valid"] > 0
    assert fitted.index().search(rows()["text"][7], 1)[0].id == "d7"


@pytest.mark.parametrize("texts", [rows(2), ["cars and boats"] * 9], ids=["few", "alike"])
def test_too_few_different_documents_for_a_test_are_refused(texts):
    with pytest.raises(ssi.BadInput, match=r"are too few, or too much alike.*Give more documents"):
        ssi.fit(texts)


def test_one_query_has_no_error_and_its_json_is_read_by_any_parser(tmp_path, capsys):
    (tmp_path / "three.csv").write_text(
        "title,text\na,red cars now\nb,blue boats now\nc,green trees now\n"
    )
    words = ["fit", str(tmp_path / "three.csv"), "--out", str(tmp_path / "model")]
    assert run(library, words) == DONE
    printed = capsys.readouterr().out
    assert "1 query." in printed
    assert "nan" not in printed
    assert run(library, [*words, "--json"]) == DONE

    def refuse(name):
        raise AssertionError(name)

    (row,) = json.loads(capsys.readouterr().out, parse_constant=refuse)["measures"]
    assert (row["map"], row["map_se"]) == (1.0, None)


def test_what_was_read_and_what_was_left_out_comes_first(tmp_path, capsys):
    table = rows(12).with_columns(id=pl.Series(["d1", *(f"d{n}" for n in range(1, 12))]))
    table = table.with_columns(text=pl.Series([*table["text"][:-1], ""]))
    fitted = ssi.fit(table)
    said = (
        "10 documents; fields: text, title. Language: en (guessed from the script of the texts). "
        "Left out: document id repeated 1, document without text 1."
    )
    assert fitted.documents.account == said
    assert " ".join(str(fitted).split("\n\n")[0].split()) == said
    assert fitted._repr_html_().count(said) == 1
    table.write_csv(tmp_path / "table.csv")
    words = ["fit", str(tmp_path / "table.csv"), "--out", str(tmp_path / "model"), "--json"]
    assert run(library, words) == DONE
    value = json.loads(capsys.readouterr().out)
    assert (value["read"]["documents"], value["read"]["documents_found"]) == (10, 12)
    assert value["skipped"] == {"document_id_repeated": 1, "document_without_text": 1}


def test_of_many_reasons_the_most_frequent_are_told(tmp_path):
    for name in ("a.md", *(f"{n}.x{n % 9}" for n in range(17)), "last.zz", "more.zz", "z.zz"):
        (tmp_path / name).write_text("a car")
    said = ssi.read(tmp_path).account
    assert "Left out: file zz 3, file x0 2, file x1 2" in said
    assert said.endswith("file x6 2 and 2 more.")
