"""One row of a table, from the task directory to its run."""

import json
import shutil
import tomllib

import mlflow
import numpy as np
import polars as pl
import pytest

from flows import environment, tracking
from flows.cli import cli
from flows.training import board, rows
from flows.training.rows import how_of, run_row
from ssi_core.command.verb import run as ssi
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.trec import write_trec
from ssi_core.experiment import Row, checkpoints, parse_table
from ssi_core.models import MODELS, load_model
from ssi_core.models.tfidf import TfIdf
from ssi_core.selection.two_folds import two_folds
from ssi_core.tasks.task import build_task, open_task
from ssi_core.training.descend import Diverged
from ssi_core.types import BadInput, Inapplicable
from tests.corpora import topical, write_collection, write_corpus
from tests.seals import reseal

pytestmark = [pytest.mark.trains, pytest.mark.usefixtures("models_of_little_code")]

TABLE = """
name = "judged"
title = "Judged queries"
measures = ["map", "ndcg_at_10"]

[tasks.queries]
words = "all"
relevant = "judgement"

[[rows]]
label = "TF-IDF"
model = "tfidf"
"""


@pytest.mark.usefixtures("mlflow_root")
def test_a_row_on_folds_reports_every_query_once(tmp_path, capsys):
    build_task(write_collection(tmp_path / "corpus"), tmp_path / "task", relevant="judgement")
    (tmp_path / "judged.toml").write_text(TABLE)
    run = run_row(str(tmp_path / "judged.toml"), "TF-IDF", tmp_path / "task", 0, "c")
    task = open_task(tmp_path / "task")
    frames = []
    for fold in task.folds:
        fit = MODELS["tfidf"]().fit(fold, np.random.default_rng(0))
        frames.append(evaluate(fit, fold, tuples=0).per_query)
    expected = pl.concat(frames).sort("query")
    report = tracking.run_report(run)
    assert report.per_query["id"].to_list() == task.queries.ids.to_list()
    assert report.per_query.select("id", "map", "ndcg_at_10").equals(
        expected.select("id", "map", "ndcg_at_10")
    )
    assert report.means["map"] == pytest.approx(expected["map"].mean())
    for verb in (
        ["lab", "evaluate", run, "--task", str(tmp_path / "task")],
        ["lab", "export-trec", run],
    ):
        where = ["--out", str(tmp_path / "trec")] if verb[1] == "export-trec" else []
        assert ssi(cli, [*verb, *where, "--fold", "6"]) == 3
        assert "folds are 1 to 5" in capsys.readouterr().err
    # Most queries of the collection are ones that each model has learnt from.
    assert ssi(cli, ["lab", "evaluate", run, "--on", str(tmp_path / "corpus")]) == 3
    assert (
        f"has learnt from its judgements. 'ssi lab evaluate {run} --task" in capsys.readouterr().err
    )
    # A directory holds the model of one fold, and does not say of which.
    directory = str(tracking.model_directory(run))
    assert ssi(cli, ["lab", "evaluate", directory, "--task", str(tmp_path / "task")]) == 3
    assert "Name its fold, 1 to 5 (--fold)" in capsys.readouterr().err
    assert tracking.client().get_run(run).data.params["candidates"] == "all 200 documents"
    logged = tracking.client().get_run(run).data.metrics
    assert logged["test/ndcg_at_10"] == pytest.approx(expected["ndcg_at_10"].mean())


@pytest.mark.usefixtures("mlflow_root")
def test_weights_that_need_no_training_are_chosen_by_two_halves(tmp_path):
    weights = (0.001, 0.5, 0.999)
    table = TABLE.replace('words = "all"', 'words = "all"\nranked = "judged"')
    table = table.replace("title =", 'two_folds = "ndcg_at_3"\nqueries = 3\ntitle =')
    row = f'[[rows]]\nlabel = "UM"\nmodel = "language_model"\nbackground = {[*weights]}\n'
    (tmp_path / "judged.toml").write_text(table + row)
    corpus = write_collection(tmp_path / "corpus")
    build_task(corpus, tmp_path / "task", words="all", relevant="judgement", ranked="judged")
    run = run_row(str(tmp_path / "judged.toml"), "UM", tmp_path / "task", 0, "c")
    frames = []
    for fold in open_task(tmp_path / "task").folds:
        fit = MODELS["language_model"](weights).fit(fold, np.random.default_rng(0))
        frames.append(two_folds(fit.model.variants(fit), fold, "ndcg_at_3", queries=3).per_query)
    assert [len(frame) for frame in frames] == 5 * [3]
    assert tracking.run_report(run).per_query.equals(pl.concat(frames).sort("query"))


@pytest.mark.usefixtures("mlflow_root")
def test_the_models_of_all_folds_are_kept_and_rank_the_queries_that_they_test(tmp_path, capsys):
    build_task(write_collection(tmp_path / "corpus"), tmp_path / "task", relevant="judgement")
    (tmp_path / "judged.toml").write_text(TABLE + TRAINED[TRAINED.index("[[rows]]") :])
    run = run_row(str(tmp_path / "judged.toml"), "U'V", tmp_path / "task", 0, "c")
    report = tracking.run_report(run)

    def written(*how):
        out = tmp_path / "-".join(["trec", *how])
        assert ssi(cli, ["lab", "export-trec", run, "--out", str(out), *how]) == 0
        lines = [line.split() for line in (out / "run.trec").read_text().splitlines()]
        return {(query, document): (rank, score) for query, _, document, rank, score, _ in lines}

    whole = written()
    assert {query for query, _ in whole} == set(report.per_query["id"])
    for number, fold in enumerate(open_task(tmp_path / "task").folds, 1):
        fitted = load_model(tracking.fold_directory(run, number))
        write_trec(fitted, fold, tmp_path / f"by-hand-{number}")
        lines = (tmp_path / f"by-hand-{number}" / "run.trec").read_text().splitlines()
        ranked = {(q, d): (rank, score) for q, _, d, rank, score, _ in map(str.split, lines)}
        assert ranked.items() <= whole.items()
    assert written("--fold", "5") == ranked
    capsys.readouterr()
    assert ssi(cli, ["lab", "evaluate", run, "--task", str(tmp_path / "task"), "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)["metrics"]
    assert measured["test/map"] == pytest.approx(report.means["map"])
    # Files of a fold may be lost.
    shutil.rmtree(tracking.fold_directory(run, 2))
    with pytest.raises(BadInput, match=r"no model of fold 2: .*Train the row again"):
        tracking.fold_directory(run, 2)


@pytest.mark.usefixtures("mlflow_root")
def test_a_view_that_a_task_lacks_is_answered_by_the_command_that_makes_it(tmp_path, capsys):
    corpus = write_collection(tmp_path / "corpus")
    asked = {"relevant": "judgement", "fields": ["text", "title"], "words": "all", "pool": 7}
    build_task(corpus, tmp_path / "task", views=["raw"], **asked)
    (tmp_path / "judged.toml").write_text(TABLE + 'view = "sublinear:9"')
    how = ["lab", "train", str(tmp_path / "judged.toml"), "--row", "TF-IDF", "--task"]
    assert ssi(cli, [*how, str(tmp_path / "task")]) == 3
    said = " ".join(capsys.readouterr().err.split())
    assert "it has no view sublinear:9, which row 'TF-IDF' reads; it has counts" in said
    assert ", fields, phrases, raw. Make a task" in said
    command = (
        "ssi data features COLLECTION --views counts,raw,sublinear:9 --out task-views "
        "--relevant judgement --words all --fields text,title --pool 7"
    )
    assert said.endswith(command)
    words = [str(corpus) if word == "COLLECTION" else word for word in command.split()[1:]]
    words[words.index("task-views")] = str(tmp_path / "again")
    assert ssi(cli, words) == 0
    assert ssi(cli, [*how, str(tmp_path / "again")]) == 0


@pytest.mark.usefixtures("mlflow_root")
def test_titles_first_takes_no_number_for_a_title_and_says_that_there_is_none(tmp_path):
    corpus = write_collection(tmp_path / "corpus")
    for part in (corpus / "documents").iterdir():
        numbered = pl.read_parquet(part).with_columns(title="id")
        numbered.write_parquet(part)
    reseal(corpus)
    build_task(corpus, tmp_path / "task", relevant="judgement")
    (tmp_path / "judged.toml").write_text(
        TABLE + TRAINED[TRAINED.index("[[rows]]") :] + 'learn_first = "titles"'
    )
    with pytest.raises(Inapplicable, match=r"0 pairs to learn from.*or leave the row out"):
        run_row(str(tmp_path / "judged.toml"), "U'V", tmp_path / "task", 0, "untitled")
    assert "0 pairs to learn from" in tracking.reasons("judged", "untitled")["U'V"]


TRAINED = """
name = "trained"
title = "A row that trains"

[[rows]]
label = "U'V"
model = "bilinear"
diagonal = "none"
dimensions = 8
rates = [0.1]
epoch = 250
budget = 1000
"""


class Interrupted:
    """A row of `TRAINED` that can be interrupted at a step, and what it leaves."""

    def __init__(self, path, task, patch):
        self.table, self.task, self.patch = path / "trained.toml", task, patch
        self.table.write_text(TRAINED)

    def row(self, comparison, threads=1, until=None):
        def watch(run, step, metrics):
            if step == until:
                raise KeyboardInterrupt

        with self.patch.context() as patch:
            patch.setattr(tracking.rows.RowRun, "watch", watch)
            return run_row(str(self.table), "U'V", self.task, 0, comparison, threads)

    def interrupt(self, comparison, threads=1):
        with pytest.raises(KeyboardInterrupt):
            self.row(comparison, threads, until=500)

    @staticmethod
    def left():
        return sorted((environment.home() / "checkpoints").glob("*/*"))


@pytest.fixture
def trained(mlflow_root, tmp_path, task_dir, monkeypatch):
    return Interrupted(tmp_path, task_dir, monkeypatch)


def facts(run):
    return mlflow.artifacts.load_dict(f"runs:/{run}/facts.json")


def tags(run):
    return tracking.client().get_run(run).data.tags


def test_a_row_goes_on_with_other_threads_and_says_so(trained):
    whole = trained.row("whole")
    assert (tags(whole)["threads"], tags(whole)["reproducible"]) == ("1", "yes")

    trained.interrupt("other", threads=2)
    other = trained.row("other")
    assert (tags(other)["threads"], tags(other)["reproducible"]) == ("2, then 1", "no")
    assert facts(other)["reseeded_at"] == 500

    trained.interrupt("same")
    same = trained.row("same")
    assert (tags(same)["threads"], tags(same)["reproducible"]) == ("1", "yes")
    assert facts(same)["resumed_at"] == 500
    assert facts(same)["validation_rank_loss"] == facts(whole)["validation_rank_loss"]
    assert trained.left() == []


def test_a_checkpoint_of_other_code_is_said_and_kept(trained, caplog, monkeypatch):
    trained.interrupt("first")
    (kept,) = trained.left()
    with monkeypatch.context() as patch:
        patch.setattr(checkpoints, "digest_of", lambda *things: "other-code")
        found = facts(trained.row("second"))
    assert "resumed_at" not in found
    assert f'{kept}: row "U\'V" with seed 0' in caplog.text
    assert "remove that directory" in caplog.text
    assert trained.left() == [kept]
    # The code that it is of goes on from it.
    assert facts(trained.row("third"))["resumed_at"] == 500
    assert trained.left() == []


def test_code_of_a_row_follows_its_model_and_its_parts(tmp_path):
    rows = [
        {"label": "SSI", "model": "bilinear"},
        {"label": "LSI", "model": "lsi"},
        {"label": "both", "model": "mixture", "parts": [{"model": "bilinear"}, {"model": "lsi"}]},
    ]
    table = parse_table({"name": "n", "title": "t", "rows": rows})
    found = {row.label: {kind.name for kind in row.ranker().kinds()} for row in table.rows}
    assert found == {"SSI": {"bilinear"}, "LSI": {"lsi"}, "both": {"mixture", "bilinear", "lsi"}}
    assert len({checkpoints.code_of(row) for row in table.rows}) == 3


def test_a_row_that_fails_or_diverges_leaves_nothing_to_go_on_from(trained):
    trained.table.write_text(TRAINED.replace("[0.1]", "[1e6]\nmargin = 1e6\ninit_std = 100.0"))
    with pytest.raises(Diverged):
        trained.row("first")
    assert trained.left() == []


@pytest.mark.usefixtures("mlflow_root")
def test_a_row_posts_how_far_its_training_is(task_dir, tmp_path, monkeypatch, capsys):
    posts, fit = [], TfIdf.fit

    def trained(self, task, rng, **how):
        how["watch"](500, {"val/rank_loss": 0.1})
        return fit(self, task, rng, **how)

    monkeypatch.setattr(board, "post", lambda *line: posts.append(line))
    monkeypatch.setattr("flows.training.rows.post", board.post)
    monkeypatch.setattr(TfIdf, "fit", trained)
    (tmp_path / "posts.toml").write_text(
        TABLE.replace('split = "queries"', "").replace("judged", "posts")
    )
    how = ["--task", str(task_dir), "--row", "TF-IDF", "--seed", "2"]
    assert ssi(cli, ["lab", "train", str(tmp_path / "posts.toml"), *how]) == 0
    assert posts == [
        ("TF-IDF, seed 2", None, "begins"),
        ("TF-IDF, seed 2", None, "500 triples, validation loss 10.00 %"),
        ("TF-IDF, seed 2", None, "measuring"),
    ]


@pytest.mark.parametrize(("settings", "tag"), [({}, "yes"), ({"validation_time": 0.05}, "no")])
def test_a_schedule_by_the_clock_is_not_reproducible(settings, tag):
    row = Row("U'V", "bilinear", "pairs", parameters=settings)
    parts = [{"model": "bilinear", **settings}, {"model": "tfidf"}]
    chosen = Row("both", "best_of", "pairs", parameters={"parts": parts})
    assert how_of([1], row)["reproducible"] == how_of([1], chosen)["reproducible"] == tag


@pytest.mark.usefixtures("mlflow_root")
def test_a_part_of_a_training_is_validated_and_measured_less(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "QUERIES_OF_PART", 2)
    build_task(write_corpus(tmp_path / "corpus", *topical()), tmp_path / "task", words="all")
    (tmp_path / "trained.toml").write_text(TRAINED.replace("epoch = 250", "epoch = 50"))

    def trained(comparison, *part):
        given = str(tmp_path / "trained.toml"), "U'V", tmp_path / "task", 0, comparison, 1
        run = run_row(*given, *part)
        steps = tracking.client().get_metric_history(run, "val/rank_loss")
        return run, [one.step for one in steps], tracking.run_report(run).per_query

    whole, steps, every = trained("whole")
    assert steps[:5] == [0, 50, 100, 150, 200]
    for part in ((500, None), (None, whole)):
        assert len(trained(f"not a part {part}", *part)[2]) == len(every) > 2
    run, steps, some = trained("part", 500, whole)
    assert steps == list(range(0, 501, 100))
    assert tracking.client().get_run(run).data.params["epoch"] == "100"
    assert len(some) == 2
    assert set(some["id"]) < set(every["id"])
    assert trained("small part", 100, whole)[1] == [0, 50, 100]


def test_a_row_starts_from_the_finished_run_of_the_same_comparison_and_seed(monkeypatch):
    text = TABLE + '\n[[rows]]\nlabel = "SSI"\nmodel = "bilinear"\nstart = "TF-IDF"\n'
    table = parse_table(tomllib.loads(text.replace('"judgement"', '"link"')))
    finished = {("judged", "c", "TF-IDF", 3): "run-3"}
    monkeypatch.setattr(tracking, "finished_run", lambda *of: finished.get(of))
    assert rows.started_from(table, table.row("TF-IDF"), 3, "c") is None
    assert rows.started_from(table, table.row("SSI"), 3, "c") == "run-3"
    for seed, comparison in ((2, "c"), (3, "d")):
        with pytest.raises(BadInput, match=f"not finished with seed {seed} in comp.* {comparison}"):
            rows.started_from(table, table.row("SSI"), seed, comparison)
