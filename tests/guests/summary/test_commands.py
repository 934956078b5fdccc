"""`ssi rank summary` and `ssi search --summary`: concepts without pickle, runs of MLflow."""

import json

import pytest

from flows import tracking
from flows.cli import cli
from flows.tracking.database import search
from ssi_core.command.verb import run
from ssi_core.serving.index import build_index
from tests.flows.services import TFIDF, write_model
from tests.guests.summary import made
from tests.guests.summary.test_questions import meeting, write_meetings
from tests.serving.models import TEXTS, documents, write_parts

pytestmark = pytest.mark.usefixtures("own_root")


@pytest.fixture
def concepts(tmp_path, ssi):
    wiki = made.collection(tmp_path / "wiki")
    code, written, _ = ssi("rank", "summary", "concepts", wiki, "--out", tmp_path / "concepts")
    assert code == 0
    assert written["concepts"] == len(made.PAGES)
    assert written["links"] == len(made.LINKS)
    assert written["language"] == "en"
    return tmp_path / "concepts"


def test_text_files_are_summarised(concepts, tmp_path, ssi):
    for number, text in enumerate(made.TEXTS):
        (tmp_path / f"{number}.txt").write_text(text)
    files = tmp_path / "0.txt", tmp_path / "1.txt"
    code, plain, _ = ssi("rank", "summary", "of", "cheap fossil fuel", *files, "--length", 8)
    assert code == 0
    first = {"file": str(files[1]), "text": "Fossil fuel was cheap in those days."}
    assert plain["sentences"] == [first]
    arguments = "--weighting", "tfidf", "--concepts", concepts
    code, related, _ = ssi(
        "rank", "summary", "of", "fossil fuel", *files, "--length", 30, *arguments
    )
    assert code == 0
    assert first in related["sentences"]
    code, refused, _ = ssi("rank", "summary", "of", "a", *files, *arguments, "--weighting", "bm25")
    assert code == 2
    assert "--weighting bm25 has no concepts" in refused["error"]["message"]
    code, refused, _ = ssi("rank", "summary", "of", "a", tmp_path / "none.txt")
    assert code == 3
    assert "none.txt" in refused["error"]["message"]


def test_a_table_is_computed_and_each_row_is_a_run(concepts, tmp_path, ssi):
    answer = "Delegates spoke about global warming for many hours."
    one = meeting(*made.TEXTS, answer=answer)
    data = write_meetings(tmp_path / "QMSum", train={"a": one}, val={"b": one, "c": one})
    saved = tmp_path / "result.json"
    arguments = "--concepts", concepts, "--length", 20, "--save", saved
    rows = ("--row", "TF-IDF, Word", "--row", "Graph, + Matrix")
    code, result, _ = ssi("rank", "summary", "compare", data, *arguments, *rows)
    assert code == 0
    first, second = result["rows"]
    assert result["tested"] == {"queries": 4, "groups": 2}
    assert set(second["tests"]["rouge1"]) == {"difference", "interval", "p", "p_holm"}
    experiment = tracking.client().get_experiment_by_name("summaries").experiment_id
    runs = {one.info.run_id: one for one in search(experiment, "")}
    assert set(runs) == {first["run_id"], second["run_id"]}
    kept = runs[second["run_id"]]
    assert kept.data.params["similarity"] == "matrix"
    assert kept.data.params["words"] == "20"
    assert kept.data.metrics["test/rougesu"] == second["means"]["rougesu"]
    assert kept.data.tags["row"] == "Graph, + Matrix"
    written = json.loads(saved.read_text())
    assert "run_id" not in written["rows"][0]
    assert written["rows"][1]["means"] == second["means"]


def test_a_person_sees_a_table(concepts, tmp_path, capsys):
    one = meeting(*made.TEXTS)
    data = write_meetings(tmp_path / "QMSum", train={"a": one}, val={"b": one})
    rows = ("--row", "snippet", "--row", "TF-IDF, Word")
    arguments = ["rank", "summary", "compare", data, "--concepts", concepts, *rows]
    assert run(cli, list(map(str, arguments))) == 0
    printed = capsys.readouterr().out
    assert "ROUGE-SU4" in printed
    assert ".1178" in printed


def test_a_table_without_concepts_says_what_is_left_out_and_what_beats_the_default(
    tmp_path, ssi, capsys
):
    one = meeting(*made.TEXTS)
    data = write_meetings(tmp_path / "QMSum", train={"a": one}, val={"b": one})
    assert run(cli, ["rank", "summary", "compare", str(data)]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "left out without --concepts: TF-IDF, + Concept; TF-IDF, + Matrix; Graph, +" in printed
    assert "BM25 of sentences, the default, is significantly below no row" in printed
    code, refused, _ = ssi(
        "rank", "summary", "compare", data, "--row", "TF-IDF, Word", "--row", "Graph, + Matrix"
    )
    assert code == 3
    assert "Add --concepts DIR" in refused["error"]["message"]


@pytest.fixture
def model(tmp_path):
    directory = tmp_path / "model"
    write_model(TFIDF, directory)
    spoken = [f"Here one speaks of the {text}." for text in TEXTS]
    texts = write_parts(tmp_path / "parts", spoken, [None] * len(TEXTS))
    own = documents(dict(TFIDF.document_views))
    parents = {"model": "again"}
    build_index(TFIDF, own, directory / "index", parents=parents, texts=texts, force=True)
    return directory


def test_a_search_is_summarised(model, concepts, ssi, capsys):
    code, plain, _ = ssi("search", model, "car engine")
    assert code == 0
    assert "summary" not in plain
    code, summed, _ = ssi("search", model, "car engine", "--summary", 20)
    assert code == 0
    assert [hit["id"] for hit in summed["results"]] == [hit["id"] for hit in plain["results"]]
    assert {one["id"] for one in summed["summary"]["sentences"]} <= {
        hit["id"] for hit in plain["results"]
    }
    assert summed["summary"]["sentences"]
    code, both, _ = ssi("search", model, "car engine", "--summary", 20, "--concepts", concepts)
    assert code == 0
    assert both["summary"]["sentences"]
    code, wrong, _ = ssi("search", model, "car engine", "--concepts", concepts)
    assert code == 2
    assert "--summary" in wrong["error"]["message"]
    capsys.readouterr()
    assert run(cli, ["search", str(model), "car engine", "--summary", "20"]) == 0
    first = summed["summary"]["sentences"][0]
    assert f"({first['title']})" in capsys.readouterr().out


def test_what_answers_nothing_is_said(tmp_path, ssi, capsys):
    (tmp_path / "ship.txt").write_text("The old ship had two engines. It sank in a storm.")
    (tmp_path / "empty.txt").touch()
    of = "rank", "summary", "of"
    for query, answers in (("storm", True), ("xyzzy", False), ("", False)):
        code, found, _ = ssi(*of, query, tmp_path / "ship.txt")
        assert (code, found["answers"]) == (0, answers)
        run(cli, [*of, query, str(tmp_path / "ship.txt")])
        assert ("no sentence shares a word" in capsys.readouterr().out) != answers
    run(cli, [*of, "storm", str(tmp_path / "empty.txt")])
    assert "nothing to choose from" in capsys.readouterr().out


def test_the_language_of_texts_is_guessed(tmp_path, ssi):
    path = tmp_path / "ja.txt"
    path.write_text("船は嵐の中で沈みました。船長は寝ていました。乗組員は岸まで漕いだ。")
    code, found, _ = ssi("rank", "summary", "of", "船はなぜ沈んだ", path)
    assert code == 0
    assert [one["text"] for one in found["sentences"]] == ["船は嵐の中で沈みました。"]
