"""`ssi rank codes`: curves, codes without pickle, search in a ball, runs of MLflow."""

import json

import pytest

from flows import tracking
from flows.cli import cli
from flows.tracking.database import search
from ssi_core.command.verb import run
from tests.guests.codes import made

pytestmark = pytest.mark.usefixtures("own_root")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return made.lines(tmp_path_factory.mktemp("codes") / "own.jsonl", 90, 30)


def test_curves_are_computed_and_each_method_is_a_run(data, tmp_path, ssi):
    saved = tmp_path / "result.json"
    code, result, _ = ssi(
        "rank",
        "codes",
        "compare",
        data,
        "--methods",
        "sth,lsi",
        "--lengths",
        "4,16",
        "--save",
        saved,
    )
    assert code == 0
    first, second = result["rows"]
    assert set(second["tests"]) == {"precision", "recall", "accuracy"}
    experiment = tracking.client().get_experiment_by_name("codes").experiment_id
    runs = {one.info.run_id: one for one in search(experiment, "")}
    assert set(runs) == {first["run_id"], second["run_id"]}
    kept = runs[first["run_id"]]
    assert kept.data.params["neighbours"] == "25"
    assert kept.data.params["hasher"] == "sth"
    assert kept.data.metrics["test/precision"] == first["curve"]["16"]["precision"]
    history = tracking.client().get_metric_history(first["run_id"], "test/recall")
    assert {point.step: point.value for point in history} == {
        4: first["curve"]["4"]["recall"],
        16: first["curve"]["16"]["recall"],
    }
    written = json.loads(saved.read_text())
    assert "run_id" not in written["rows"][0]
    assert written["rows"][1]["curve"] == second["curve"]


def test_codes_are_learnt_and_searched(data, tmp_path, ssi):
    model = tmp_path / "codes"
    code, fitted, _ = ssi(
        "rank", "codes", "fit", data, "--method", "sths", "--bits", "2", "--set", "neighbours=10",
        "--out", model,
    )  # fmt: skip
    assert code == 0
    assert fitted["facts"]["graph_parts"] == 3
    assert fitted["measures"]["precision"] > 0.3
    code, found, _ = ssi(
        "rank", "codes", "search", model, "a kitten that purrs", "--radius", 0, "-k", 3
    )
    assert code == 0
    assert len(found["hits"]) == 3 <= found["texts"]
    themes = {row["id"]: row["label"] for row in map(json.loads, data.read_text().splitlines())}
    assert {themes[hit["id"]] for hit in found["hits"]} == {"cats"}
    assert {hit["distance"] for hit in found["hits"]} == {0}


def test_hubs_are_measured_in_each_space(data, tmp_path, ssi, capsys):
    saved = tmp_path / "hubs.json"
    code, found, _ = ssi(
        "rank", "codes", "hubs", data, "--dimensions", "2,3", "-k", 3, "--save", saved
    )
    assert code == 0
    assert json.loads(saved.read_text())["rows"] == found["rows"]
    spaces = [(row["space"], row["features"]) for row in found["rows"]]
    assert spaces[-2:] == [("LSI", 3), ("LSI", 2)]
    assert spaces[0][0] == "words"
    assert found["rows"][0]["bad_ratio"] < 0.3  # texts of a theme share its words
    assert run(cli, ["rank", "codes", "hubs", str(data), "--dimensions", "2"]) == 0
    assert "BN_k" in capsys.readouterr().out


def test_a_person_sees_a_table_for_each_measure(data, capsys):
    arguments = ["rank", "codes", "compare", str(data), "--methods", "sth,lsh", "--lengths", "16"]
    assert run(cli, arguments) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in ("precision", "recall", "kNN accuracy", "empty balls"))
    assert "90 training texts, 30 test texts, 3 classes, radius 1" in out
    assert "against sth" in out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("compare", "own.jsonl", "--methods", "sht"), 3, "Did you mean 'sth'"),
        (("compare", "own.jsonl", "--lengths", "0,8"), 2, "0 is not in the range 1<=x<=1024"),
        (("hubs", "own.jsonl", "--dimensions", "x"), 2, "'x' is no whole number"),
        (("hubs", "own.jsonl", "-k", "90"), 3, "Give more texts"),
        (("compare", "."), 3, "neither reut2-000.sgm nor"),
        (("compare", "none.tar"), 3, "there is no such file or folder"),
        (("fit", "own.jsonl", "--set", "k=3", "--out", "m"), 3, "no key 'k'"),
        (("fit", "own.jsonl", "--bits", "90", "--out", "m"), 3, "Take fewer bits"),
        (("search", ".", "cat"), 3, "holds no codes"),
    ],
)
def test_what_is_wrong_is_named(data, monkeypatch, ssi, arguments, code, message):
    monkeypatch.chdir(data.parent)
    returned, outcome, _ = ssi("rank", "codes", *arguments)
    assert returned == code
    assert message in outcome["error"]["message"]


@pytest.mark.parametrize(
    ("radius", "said"), [(1024, "no such directory"), (1025, "0<=x<=1024"), (-1, "0<=x<=1024")]
)
def test_codes_differ_in_at_most_all_bits_that_there_can_be(radius, said, capsys):
    assert run(cli, ["rank", "codes", "search", "nowhere", "a text", "--radius", str(radius)]) != 0
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_text_without_a_known_word_finds_nothing(data, tmp_path, ssi, capsys):
    """Its code is that of a row of zeros, which is near texts that it has nothing to do with."""
    model = tmp_path / "codes"
    ssi("rank", "codes", "fit", data, "--method", "lsi", "--bits", "2", "--out", model)
    for text in ("xyzzy", ""):
        code, found, _ = ssi("rank", "codes", "search", model, text, "--radius", 2)
        assert (code, found) == (0, {"texts": 0, "hits": []})
    run(cli, ["rank", "codes", "search", str(model), "xyzzy"])
    assert "none of the text's words" in capsys.readouterr().out


def test_what_is_wrong_is_named_by_its_option(data, tmp_path, ssi):
    arguments = "--out", tmp_path / "out"
    code, refused, _ = ssi("rank", "codes", "fit", data, "--method", "sht", *arguments)
    assert code == 3
    assert "--method: no hasher 'sht'. Did you mean 'sth'" in refused["error"]["message"]
    other = tmp_path / "own.ndjson"
    other.write_bytes(data.read_bytes())
    code, refused, _ = ssi("rank", "codes", "fit", other, *arguments)
    assert code == 3
    assert "Name the file .jsonl" in refused["error"]["message"]
    code, _, _ = ssi("rank", "codes", "fit", other.rename(other.with_suffix(".jsonl")), *arguments)
    assert code == 0


def test_a_note_on_tests_stands_where_there_are_tests(data, capsys):
    for lengths, noted in (("4", False), ("16", True)):
        run(cli, ["rank", "codes", "compare", str(data), "--methods", "sth,lsi",
                  "--lengths", lengths])  # fmt: skip
        assert ("p: sign test" in capsys.readouterr().out) == noted
