"""`ssi rank rerank`: files and folds of pairs, models without pickle, runs of MLflow."""

import json
import re
import shlex

import numpy as np
import pytest

from flows import tracking
from flows.cli import cli
from flows.tracking.database import search
from ssi_core.command.verb import run
from ssi_core.evaluation.trec import escape
from ssi_core.guests.reranking.commands import rerank
from ssi_core.guests.reranking.letor import read_folds, read_letor, write_letor
from ssi_core.guests.reranking.measures import means, per_query
from ssi_core.models import load_model
from ssi_core.tasks.task import build_task
from ssi_core.types import BadInput
from tests.corpora import write_collection
from tests.guests.reranking import made
from tests.guests.reranking.test_missing import ranks_of_systems

pytestmark = pytest.mark.usefixtures("own_root")

TABLE = """\
name = "two"
title = "Two rankers"

[[rows]]
label = "least squares"
ranker = "rankrls"
lambdas = [1.0]

[[rows]]
label = "one feature"
ranker = "greedy_rankrls"
lambdas = [1.0]
most = 1
[rows.printed]
letor_map = [0.5, 0.7]
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("rerank")
    for number in (1, 2):
        for n, side in enumerate(("train", "vali", "test")):
            features = made.pairs([12] * 15, seed=10 * number + n)
            queries = features.queries + f"-{side}"
            features = type(features)(**{**vars(features), "queries": queries})
            write_letor(features, path / "folds" / f"Fold{number}" / f"{side}.txt")
    (path / "table.toml").write_text(TABLE)
    return path


def test_a_ranker_is_trained_and_scores_a_file(data, tmp_path, ssi):
    fold, model = data / "folds" / "Fold1", tmp_path / "model"
    code, trained, _ = ssi(
        "rank", "rerank", "fit", fold, "--ranker", "rankrls", "--set", "lambdas=1,8", "--out", model
    )
    assert code == 0
    assert trained["facts"]["lambda"] in (1.0, 8.0)
    with pytest.raises(BadInput, match="holds a reranker, and no model"):
        load_model(model)
    assert not [path for path in model.rglob("*") if path.suffix in (".pkl", ".pickle")]
    written = tmp_path / "run.trec", tmp_path / "scores.txt"
    code, scored, _ = ssi(
        "rank",
        "rerank",
        "score",
        model,
        fold / "test.txt",
        "--out",
        written[0],
        "--scores",
        written[1],
    )
    assert code == 0
    assert scored["measures"] == trained["measures"]
    assert scored["queries"] == 15
    scores = np.loadtxt(written[1])
    features = read_letor(fold / "test.txt")
    lines = [line.split() for line in written[0].read_text().splitlines()]
    for query, rows in features.lists():
        mine = [line for line in lines if line[0] == escape(query)]
        order = rows.start + np.argsort(-scores[rows], kind="stable")
        assert [line[2] for line in mine] == [features.documents[int(row)] for row in order]
        assert [int(line[3]) for line in mine] == list(range(1, 13))
        assert np.all(np.diff([float(line[4]) for line in mine]) < 0)
        assert {line[5] for line in mine} == {"rankrls"}


def test_a_table_is_computed_and_each_row_is_a_run(data, tmp_path, ssi):
    saved = tmp_path / "result.json"
    code, result, _ = ssi(
        "rank", "rerank", "compare", data / "folds", "--table", data / "table.toml", "--save", saved
    )
    assert code == 0
    _, second, *references = result["rows"]
    assert [row["label"] for row in references] == ["best feature", "rank fusion"]
    assert second["printed"]["letor_map"]["folds"] == [0.5, 0.7]
    assert {"difference", "p", "p_holm"} == set(second["tests"]["letor_map"])
    experiment = tracking.client().get_experiment_by_name("reranking").experiment_id
    runs = {one.info.run_id: one for one in search(experiment, "")}
    assert set(runs) == {row["run_id"] for row in result["rows"]}
    kept = runs[second["run_id"]]
    assert kept.data.params["most"] == "1"
    assert kept.data.params["ranker"] == "greedy_rankrls"
    assert kept.data.metrics["test/letor_map"] == second["means"]["letor_map"]
    assert kept.data.metrics["fold_2/letor_map"] == second["folds"][1]["measures"]["letor_map"]
    assert kept.data.tags["row"] == "one feature"
    written = json.loads(saved.read_text())
    assert "run_id" not in written["rows"][0]
    assert written["rows"][1]["means"] == second["means"]


def test_features_of_models_are_folds_to_compare(tmp_path, ssi):
    write_collection(tmp_path / "collection")
    build_task(tmp_path / "collection", tmp_path / "task", relevant="judgement")
    pairs = tmp_path / "pairs"
    arguments = (
        "rank",
        "rerank",
        "features",
        tmp_path / "task",
        "--models",
        "bm25,tfidf",
        "--depth",
        5,
    )
    code, made_of, _ = ssi(*arguments, "--out", pairs)
    assert code == 0
    assert made_of["features"][:3] == ["bm25", "tfidf", "document_words"]
    folds = read_folds(pairs)
    assert made_of["pairs"] == sum(len(fold.test) for fold in folds)
    for fold in folds:
        counts = {side: len(getattr(fold, side).queries) for side in ("train", "valid", "test")}
        assert made_of["folds"][fold.name] == {
            "train": counts["train"], "vali": counts["valid"], "test": counts["test"]
        }  # fmt: skip
    rows = "first stage,RankRLS"
    code, result, _ = ssi(
        "rank", "rerank", "compare", pairs, "--table", "first-stage", "--rows", rows
    )
    assert code == 0
    assert result["title"] == "Rerankers of a first ranking"
    assert_has_references(result)
    (pairs / "notes.txt").write_text("mine")
    code, refused, _ = ssi(*arguments, "--out", pairs)
    assert code == 4
    assert "left alone" in refused["error"]["message"]


def test_a_person_sees_a_table_for_each_measure(data, capsys):
    arguments = [
        "rank",
        "rerank",
        "compare",
        str(data / "folds"),
        "--table",
        str(data / "table.toml"),
    ]
    assert run(cli, arguments) == 0
    out = capsys.readouterr().out
    assert all(f"LETOR {name}" in out for name in ("MAP", "P@10", "MeanNDCG", "NDCG@10"))
    assert "0.6000" in out
    assert "against least squares" in out
    printed = " ".join(out.split())
    assert re.search(r"best feature \(1, higher is better\), MAP 0\.\d{4}: no ranker is", printed)
    assert re.search(r"rank fusion, MAP 0\.\d{4}: below it: one feature \(0\.\d{4}, p 0", printed)
    assert "missing values" not in printed


def test_other_folds_are_not_titled_as_those_of_a_paper(data, capsys):
    arguments = [
        "rank",
        "rerank",
        "compare",
        str(data / "folds"),
        "--rows",
        "RankRLS,greedy RankRLS",
    ]
    assert run(cli, arguments) == 0
    out = capsys.readouterr().out
    assert "Rankers on folds" in out
    assert "LETOR 4.0" not in out
    assert "printed " not in out.replace("its printed values are of other data", "")


@pytest.mark.parametrize(
    ("table", "rows"),
    [("mq2008", "RankRLS,RankSVM"), ("feature-selection", "AdaRank,coordinate ascent")],
)
def test_nothing_of_a_paper_is_told_of_other_folds_in_json(table, rows, data, ssi):
    code, result, _ = ssi(
        "rank", "rerank", "compare", data / "folds", "--table", table, "--rows", rows
    )
    assert code == 0
    assert result["title"] == "Rankers on folds"
    assert result["source"] == ""
    assert not [row for row in result["rows"] if "printed" in row]
    assert "MQ2008" not in json.dumps(result)
    assert_has_references(result)


def assert_has_references(result):
    """Both rows that no ranker should be below, chosen by the first measure of the table."""
    rows = {row["label"]: row for row in result["rows"]}
    first = result["measures"][0]
    for label in ("best feature", "rank fusion"):
        assert rows[label]["parameters"] == {"measure": first}
        assert result["references"]["rows"][label]["mean"] == rows[label]["means"][first]
    assert {"feature", "direction"} <= rows["best feature"]["folds"][0]["facts"].keys()


def test_missing_values_are_counted_and_scaled(tmp_path, ssi, capsys):
    folds = tmp_path / "folds"
    for seed, side in enumerate(("train", "vali", "test")):
        write_letor(ranks_of_systems(20, seed), folds / "Fold1" / f"{side}.txt")
    arguments = ["rank", "rerank", "compare", str(folds), "--rows", "RankRLS", "--scale"]
    assert run(cli, arguments) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert re.search(r"missing values of the test queries: [\d,]+ \(\d\d\.\d%\)", out)
    assert "best feature (system%207, lower is better), MAP 0." in out
    fold = folds / "Fold1"
    code, fitted, _ = ssi("rank", "rerank", "fit", fold, "--scale", "--out", tmp_path / "model")
    assert code == 0
    assert fitted["facts"]["missing_values"] == ranks_of_systems(20, 0).missing
    code, scored, _ = ssi("rank", "rerank", "score", tmp_path / "model", fold / "test.txt")
    assert scored["measures"] == fitted["measures"]
    code, plain, _ = ssi("rank", "rerank", "fit", fold, "--out", tmp_path / "plain")
    assert plain["measures"] != fitted["measures"]
    code, wrong, _ = ssi("rank", "rerank", "fit", fold, "--models", "bm25", "--scale", "--out", "m")
    assert code == 2
    assert "--scale goes with a file" in wrong["error"]["message"]


@pytest.fixture
def plain(tmp_path, monkeypatch, ssi):
    """An empty directory, in which a task is made of made-up documents without any option."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    assert ssi("data", "ingest", "sample", "--size", 60, "--out", "corpus")[0] == 0
    assert ssi("data", "features", "corpus", "--out", "task")[0] == 0


def typed(verb, ssi):
    """Type the example of a help that names models of a task."""
    (example,) = [line for line in rerank.commands[verb].examples if "--models" in line]
    code, answer, _ = ssi(*shlex.split(example.replace("tfidf", "ssi"))[1:])
    assert code == 0
    return answer["features"]


@pytest.mark.trains
def test_the_example_of_fit_works_on_a_plain_task(plain, ssi):
    assert typed("fit", ssi)[:3] == ["bm25", "language_model", "bilinear"]
    assert ssi("search", "model", "car")[1]["results"]


@pytest.mark.slow
@pytest.mark.trains
def test_the_example_of_features_works_on_a_plain_task(plain, ssi):
    """With "ssi", too."""
    assert typed("features", ssi)[:3] == ["bm25", "language_model", "bilinear"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ("fit", "Fold1", "--ranker", "rankrsl", "--out", "model"),
            3,
            "--ranker: no ranker 'rankrsl'. Did you mean 'rankrls'",
        ),
        (
            ("fit", "Fold1", "--ranker", "adarank", "--set", "optimise=ndcg", "--out", "model"),
            3,
            "optimise='ndcg'; expected letor_map",
        ),
        (
            (
                "fit",
                "Fold1",
                "--ranker",
                "coordinate_ascent",
                "--set",
                "optimise=ndcg",
                "--out",
                "model",
            ),
            3,
            "optimise='ndcg'; expected letor_map",
        ),
        (
            ("fit", "Fold1", "--ranker", "best_first", "--set", "optimise=ndcg", "--out", "model"),
            3,
            "optimise='ndcg'; expected letor_map",
        ),
        (("score", "Fold1", "Fold1"), 3, "it is a folder. Name one of its files"),
        (("fit", "Fold1", "--set", "lambda=1", "--out", "model"), 3, "no key 'lambda'"),
        (("fit", "Fold1", "--valid", "Fold2/vali.txt", "--out", "model"), 2, "goes with a file"),
        (("fit", "Fold3", "--out", "model"), 3, "there is no such file"),
        (("score", "Fold1", "Fold1/test.txt"), 3, "holds no reranker"),
        (("compare", "Fold1"), 3, "it has no fold"),
        (("compare", ".", "--table", "mq2007"), 3, "Did you mean 'mq2008'"),
        (("compare", ".", "--rows", "RankSVN"), 3, "Did you mean 'RankSVM'"),
        (("compare", ".", "--rows", "RankSVM"), 3, "no row with a ranker"),
    ],
)
def test_what_is_wrong_is_named(data, tmp_path, monkeypatch, ssi, arguments, code, message):
    monkeypatch.chdir(data / "folds")
    returned, outcome, _ = ssi("rank", "rerank", *arguments)
    assert returned == code
    assert message in outcome["error"]["message"]


def test_a_model_of_a_task_is_searched_explained_and_measured(tmp_path, ssi):
    """One command trains a first stage and a reranker; every other command takes the model."""
    write_collection(tmp_path / "collection")
    build_task(tmp_path / "collection", tmp_path / "task", relevant="judgement")
    model = tmp_path / "model"
    code, trained, _ = ssi(
        "rank", "rerank", "fit", tmp_path / "task", "--models", "bm25,tfidf", "--depth", 6,
        "--set", "lambdas=1,8", "--out", model,
    )  # fmt: skip
    assert code == 0
    assert trained["features"] == ["bm25", "tfidf", "document_words", "query_words", "first_stage"]
    assert trained["facts"]["lambda"] in (1.0, 8.0)
    assert [row["ranker"] for row in trained["measures"]] == ["first stage", "reranked"]
    code, first, _ = ssi("search", model, "boats1 boats2", "-k", 8)
    assert code == 0
    hits = first["results"]
    code, _, _ = ssi(
        "data", "index", model, "--task", tmp_path / "task", "--out", tmp_path / "index"
    )
    assert code == 0
    code, second, _ = ssi("search", model, "boats1 boats2", "-k", 8, "--index", tmp_path / "index")
    assert code == 0
    assert second["results"] == hits
    code, parts, _ = ssi("explain", model, "boats1 boats2", hits[0]["id"])
    assert code == 0
    assert parts["parts"] == []
    shares = sum(one["share"] for one in parts["features"])
    assert shares + parts["rest"] == pytest.approx(parts["score"])
    code, refused, _ = ssi("export", model, "--to", "opensearch", "--out", tmp_path / "export")
    assert code == 3
    assert "ranker of its first documents" in refused["error"]["message"]
    code, refused, _ = ssi("rank", "rerank", "fit", tmp_path / "task", "--depth", 5, "--out", model)
    assert code == 2


def test_no_query_is_learned_from_and_measured(data, tmp_path, ssi):
    """As in a table: what was learned or chosen on a query says nothing about it."""
    fold, out = data / "folds" / "Fold1", tmp_path / "model"
    train, valid = fold / "train.txt", fold / "vali.txt"
    query = read_letor(train).queries[0]
    for given in ((train, "--valid", train), (tmp_path / "shared",)):
        if given[0].name == "shared":
            given[0].mkdir()
            for side in ("train", "vali"):
                (given[0] / f"{side}.txt").write_bytes((fold / f"{side}.txt").read_bytes())
            (given[0] / "test.txt").write_bytes(train.read_bytes())
        code, refused, _ = ssi("rank", "rerank", "fit", *given, "--out", out)
        assert code == 3
        assert f"query {query} is in " in refused["error"]["message"]
        assert not out.exists()
    for name, given in (("alone", (train,)), ("validated", (train, "--valid", valid))):
        assert ssi("rank", "rerank", "fit", *given, "--out", tmp_path / name)[0] == 0


def test_a_number_is_a_name_and_a_value_a_list_where_the_ranker_wants_one(data, tmp_path, ssi):
    fold, out = data / "folds" / "Fold1", tmp_path / "model"
    arguments = "--ranker", "feature", "--set", "feature=3"
    code, fitted, _ = ssi("rank", "rerank", "fit", fold, *arguments, "--out", out)
    assert code == 0
    features = read_letor(fold / "test.txt")
    assert fitted["measures"] == means(per_query(features, features.values[:, 2]))
    code, fitted, _ = ssi("rank", "rerank", "fit", fold, "--set", "lambdas=8", "--out", out)
    assert (code, fitted["facts"]["lambda"]) == (0, 8.0)


def test_what_is_measured_and_what_counts_as_nothing_is_said(data, tmp_path, capsys):
    fold = data / "folds" / "Fold1"
    run(cli, ["rank", "rerank", "fit", str(fold), "--out", str(tmp_path / "model")])
    assert f"measured on {fold / 'test.txt'}:" in capsys.readouterr().out.replace("\n", "")
    short = tmp_path / "short.txt"
    lines = (fold / "test.txt").read_text().splitlines(keepends=True)
    short.write_text("".join([*lines[:12], *lines[12:21]]))
    run(cli, ["rank", "rerank", "score", str(tmp_path / "model"), str(short)])
    shown = capsys.readouterr().out
    assert "1 queries have fewer than 10 documents" in shown
    assert shown.count("fewer than") == 1
