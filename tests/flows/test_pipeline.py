import shutil
from pathlib import Path

import numpy as np
import pytest

from flows import environment
from flows.reporting.comparisons import latest
from flows.reporting.reached_code import reached_by
from ssi_core import store
from ssi_core.experiment import load_table
from ssi_core.types import BadInput, Refused

pytestmark = [pytest.mark.flow, pytest.mark.trains]


@pytest.fixture
def made(monkeypatch):
    """Kinds of the artefacts that were made."""
    kinds = []
    create = store.create

    def noted(path, *, kind, **facts):
        kinds.append(kind)
        return create(path, kind=kind, **facts)

    monkeypatch.setattr(store, "create", noted)
    return kinds


def test_a_table_from_a_dump_and_again(flow_runs, dump, tiny, made):
    from flows import tracking
    from flows.pipeline import run_pipeline

    first = run_pipeline(table=str(tiny), texts=[str(dump)], seeds=2)

    assert {(row["label"], row["seed"]) for row in first["rows"]} == {
        ("TF-IDF", 0), ("U'V + I", 0), ("U'V + I", 1),
    }  # fmt: skip
    assert all(0 < row["metrics"]["test/map"] <= 1 for row in first["rows"])
    of_popularity = {"popular_at_10", "rank_loss_matched", "map_by_target"}
    wanted = {f"{kind}/{name}" for kind in ("test", "test_se") for name in of_popularity}
    assert all(wanted <= row["metrics"].keys() for row in first["rows"])
    assert [claim["verdict"] for claim in first["claims"]]
    assert first["code"] == reached_by(*load_table(tiny).rows)
    assert made == ["collection", "task"]
    assert list((environment.home() / "checkpoints").glob("*")) == []

    made.clear()
    again = run_pipeline(table=str(tiny), texts=[str(dump)], seeds=2)
    assert made == []
    assert again["comparison"] == first["comparison"]
    assert {row["run_id"] for row in again["rows"]} == {row["run_id"] for row in first["rows"]}

    # A limited run has a comparison of its own; its second run finds its rows.
    limited, once_more = (
        run_pipeline(table=str(tiny), texts=[str(dump)], seeds=1, budget=500) for _ in range(2)
    )
    assert limited["comparison"] != first["comparison"]
    assert limited["rows"] == once_more["rows"]
    trained = limited["rows"][1]
    assert trained["metrics"]["train/triples"] == 500
    assert tracking.client().get_run(trained["run_id"]).data.params["budget"] == "500"

    shutil.rmtree(environment.home() / "store" / "task")
    run_pipeline(table=str(tiny), texts=[str(dump)], rows=["TF-IDF"])
    assert made == ["task"]


def rows_of(arrays):
    lengths = np.diff(arrays["W_indptr"])
    return np.repeat(np.arange(len(lengths)), lengths).tolist()


def test_a_row_starts_from_the_model_of_another(flow_runs, task_dir, tmp_path):
    from flows import tracking
    from flows.pipeline import PipelineSettings, pipeline
    from ssi_core.models import load_model

    table = tmp_path / "chain.toml"
    table.write_text(
        'name = "chain"\ntitle = "One chain"\n'
        "[defaults.word_pairs]\nview = 'raw'\nbudget = 1000\nepoch = 500\nround_budget = 100\n"
        "rates = [0.1]\nmargin = 0.3\n"
        '[[rows]]\nlabel = "few"\nmodel = "word_pairs"\nform = "sparse"\nentries = 5\n'
        'start = "more"\n'
        '[[rows]]\nlabel = "more"\nmodel = "word_pairs"\nform = "sparse"\nentries = 20\n'
        '[[rows]]\nlabel = "TF-IDF"\nmodel = "tfidf"\nview = "raw"\n'
    )
    found = pipeline(PipelineSettings(table=str(table), task=str(task_dir), rows=["few"]))
    runs = {row["label"]: row["run_id"] for row in found["rows"]}
    assert set(runs) == {"few", "more"}
    few, more = (
        load_model(tracking.model_directory(runs[label])).arrays for label in ("few", "more")
    )
    assert 0 < np.diff(few["W_indptr"]).max() <= 5 < np.diff(more["W_indptr"]).max()
    pairs = [set(zip(rows_of(w), w["W_indices"].tolist(), strict=True)) for w in (few, more)]
    assert pairs[0] < pairs[1]
    assert tracking.client().get_run(runs["few"]).data.params["start"] == "more"


def test_a_row_that_fails_fails_alone(flow_runs, task_dir, tmp_path, monkeypatch):
    from flows import steps, tracking
    from flows.pipeline import PipelineSettings, pipeline

    table = tmp_path / "wrong.toml"
    table.write_text(
        'name = "wrong"\ntitle = "One row asks for a view that the task lacks"\n'
        '[[rows]]\nlabel = "wrong"\nmodel = "tfidf"\nview = "raw:7"\n'
        '[[rows]]\nlabel = "right"\nmodel = "tfidf"\nview = "raw"\n'
    )
    posts = []
    monkeypatch.setattr(steps, "post", lambda *line: posts.append(line))
    with pytest.raises(Exception, match=r"1 of 2 rows failed: wrong seed 0: .*raw:7") as caught:
        pipeline(PipelineSettings(table=str(table), task=str(task_dir)))

    assert not isinstance(caught.value, BadInput)
    assert posts[0] == ("2 rows", 0.0, "0 done, 0 failed")
    assert posts[-1] == ("2 rows", 1.0, "2 done, 1 failed")
    done = tracking.finished_rows("wrong", latest("wrong"))
    assert [row.label for row in done] == ["right"]


def test_single_steps(flow_runs, dump, tiny, tmp_path):
    from flows.evaluate import EvaluateSettings, evaluate
    from flows.features import FeaturesSettings, features
    from flows.ingest import IngestSettings, ingest
    from flows.train import TrainSettings, train

    corpus = ingest(IngestSettings(source="wikipedia", paths=[str(dump)], out=str(tmp_path / "c")))
    task = features(FeaturesSettings(corpus=corpus, words=20, out=str(tmp_path / "t")))
    assert corpus == str(tmp_path / "c")
    how = {"source": "wikipedia", "paths": [str(dump)], "since": corpus}
    again = ingest(IngestSettings(**how, out=str(tmp_path / "c2")))
    made = store.read(Path(again))
    assert made.key == store.read(Path(corpus)).key
    assert made.counts["since"]["kept"] == made.counts["pages"]
    assert store.read(tmp_path / "t", "task").configuration["words"] == 20
    # The same place with other settings is refused, and no attempt more is made.
    with pytest.raises(Refused, match="Remove it, or name another directory"):
        features(FeaturesSettings(corpus=corpus, words=10, out=str(tmp_path / "t")))

    run = train(TrainSettings(table=str(tiny), row="TF-IDF", task=task))
    found = evaluate(EvaluateSettings(model=run, task=task, queries=20))
    assert 0 < found["map"] <= 1
    assert found["map_se"] > 0


def test_an_error_of_a_task_keeps_its_type(flow_runs, tmp_path):
    from flows.pipeline import PipelineSettings, pipeline

    with pytest.raises(BadInput, match=r"absent\.xml: there is no such file"):
        pipeline(PipelineSettings(texts=[str(tmp_path / "absent.xml")]))


@pytest.mark.parametrize(
    ("threads", "row_threads", "jobs", "expected"),
    [(None, 1, 9, 4), (2, 1, 9, 2), (4, 2, 9, 2), (1, 3, 9, 1), (9, 1, 9, 4), (None, 1, 3, 3)],
)
def test_rows_and_their_threads_keep_to_the_cores(
    monkeypatch, threads, row_threads, jobs, expected
):
    from flows.pipeline import PipelineSettings, side_by_side

    monkeypatch.setattr(environment, "cores", lambda: 4)

    settings = PipelineSettings(threads=threads, row_threads=row_threads)
    assert side_by_side(settings, jobs) == expected
