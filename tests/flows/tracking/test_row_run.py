"""What MLflow is told of a row, message by message."""

import gzip
import os
import signal
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import INTERNAL_ERROR, RESOURCE_ALREADY_EXISTS

from flows.tracking import database, rows
from ssi_core.experiment import Published, Row, Table
from tests.flows import comparisons as written


class Told(defaultdict):
    """A client of MLflow that notes what it is told: name of the call -> arguments of each."""

    def __init__(self):
        super().__init__(list)

    def __getattr__(self, name):
        def call(*given, **named):
            self[name].append((*given, *named.values()))
            return RUN

        return call


RUN = SimpleNamespace(info=SimpleNamespace(run_id="r", experiment_id="7", run_name="U'V"))
USED = {"row_seconds": 1.5, "peak_memory_mib": 99.0}


@pytest.fixture
def told(monkeypatch):
    client = Told()
    monkeypatch.setattr(rows, "client", lambda: client)
    for name in ("code", "origin", "process_tag"):
        monkeypatch.setattr(rows, name, dict)
    monkeypatch.setattr(rows, "seal_values", lambda run: client["sealed"].append(run))
    monkeypatch.setattr(rows, "Usage", lambda: SimpleNamespace(so_far=lambda: USED))
    return client


def sent(told):
    """Points of all metrics that were sent, a list for each message."""
    return [
        [(one.key, one.value, one.step) for one in given[1]]
        for given in told["log_batch"]
        if given[1] and hasattr(given[1][0], "step")
    ]


def test_points_of_curves_are_sent_together_about_once_a_second(told, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(rows.time, "monotonic", lambda: clock[-1])
    with rows.open_run("7", "U'V", {}, plotted=False) as run:
        for now, step in ((100.5, 10), (101.0, 20), (101.1, 30), (102.1, 40)):
            clock.append(now)
            run.watch(step, {"val/map": step / 100, "val/lost": float("nan")})
    first, last = sent(told)
    assert first == [("val/map", step / 100, step) for step in (10, 20, 30)]
    assert last == [
        ("val/map", 0.4, 40), ("usage/row_seconds", 1.5, 0), ("usage/peak_memory_mib", 99.0, 0),
    ]  # fmt: skip
    assert told["sealed"] == ["r"]
    assert told["set_terminated"] == [("r", "FINISHED")]
    assert not told["log_figure"]


@pytest.mark.parametrize(("plotted", "watched"), [(True, True), (True, False), (False, True)])
def test_a_training_has_a_picture_unless_none_is_wanted(told, plotted, watched, monkeypatch):
    monkeypatch.setattr("flows.reporting.plots.training_curves", dict)
    with rows.open_run("7", "U'V", {}, plotted=plotted) as run:
        run.used({"row_seconds": 3.0})
        if watched:
            run.watch(5, {"val/map": 0.5})
    drawn = [("r", {"U'V": [(5, {"val/map": 0.5})]}, "plots/training.png")]
    assert told["log_figure"] == drawn * (plotted and watched)
    assert sent(told)[-1][-1] == ("usage/row_seconds", 3.0, 0)


def test_numbers_that_a_training_found_are_metrics_by_their_kind(told):
    facts = {
        "triples": 5, "seconds": 2.5, "triples_per_second": 2.0, "peak_memory_mib": 10,
        "val/map": 0.25, "repeats": True, "rate": 0.1, "words": [1, 2], "name": "x", "auto": {},
    }  # fmt: skip
    trials = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "log_trials", lambda *given: trials.append(given))
        with rows.open_run("7", "U'V", {}, plotted=False) as run:
            run.facts(facts)
    assert sent(told)[0][:-2] == [
        ("train/triples", 5.0, 0), ("usage/seconds", 2.5, 0), ("usage/triples_per_second", 2.0, 0),
        ("usage/peak_memory_mib", 10.0, 0), ("val/map", 0.25, 0),
    ]  # fmt: skip
    (params,) = (given[1] for given in told["log_batch"] if not hasattr(given[1][0], "step"))
    assert [(one.key, one.value) for one in params] == [("chosen_rate", "0.1")]
    assert told["log_dict"] == [("r", facts, "facts.json")]
    assert trials == [("7", "r", {})]


def test_means_of_a_report_are_those_of_its_model_and_short_queries_have_their_own(
    told, monkeypatch
):
    short = {"titles": {"mrr": 0.5, "mrr_se": 0.125}, "anchors": {"mrr": 1.0}}
    monkeypatch.setattr(rows, "of_short", lambda report: short)
    report = replace(written.report(0.1), candidates="all")
    with rows.open_run("7", "U'V", {}, plotted=False) as run:
        run._model_id, run.dataset = "m", SimpleNamespace(name="links", digest="0123")
        run.report(report)
        run.measured({"other": 2.0})
    ((_, points),) = told["log_batch"]
    found = {one.key: (one.value, one.model_id, one.dataset_name, one.dataset_digest)
             for one in points}  # fmt: skip
    expected = {f"test/{name}": (mean, "m", "links", "0123") for name, mean in report.means.items()}
    others = {f"test_se/{name}": error for name, error in report.errors.items()}
    others |= {"test_bound/p_at_10": 0.62, "test/titles/mrr": 0.5, "test_se/titles/mrr": 0.125}
    others |= {"test/anchors/mrr": 1.0, "other": 2.0}
    others |= {f"usage/{name}": value for name, value in USED.items()}
    assert found == expected | {name: (value, None, None, None) for name, value in others.items()}
    assert told["log_param"] == [("r", "candidates", "all")]
    assert not told["log_table"]
    assert [given[2] for given in told["log_artifacts"]] == ["report"]


def test_a_kept_file_is_packed(told, tmp_path, monkeypatch):
    file = tmp_path / "run.trec"
    file.write_text("q Q0 d 1 0.5 name\n" * 100)
    packed = []
    told.log_artifact = lambda run, path: packed.append((Path(path).name, Path(path).read_bytes()))
    with rows.open_run("7", "U'V", {}, plotted=False) as run:
        run.keep(file)
    ((name, content),) = packed
    assert (name, gzip.decompress(content)) == ("run.trec.gz", file.read_bytes())


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (KeyboardInterrupt(), "KILLED", "KeyboardInterrupt"),
        (SystemExit(3), "KILLED", "SystemExit: 3"),
        (ValueError("x" * 5000), "FAILED", f"ValueError: {'x' * 3988}"),
    ],
)
def test_a_run_that_ends_early_says_why(told, error, status, reason):
    def row():
        with rows.open_run("7", "U'V", {"kind": "row"}) as run:
            run.watch(5, {"val/map": 0.5})
            raise error

    with pytest.raises(type(error)):
        row()
    assert told["create_run"] == [
        ("7", "U'V", {"code": {}, "mlflow.source.name": "ssi", "kind": "row"})
    ]
    assert sent(told) == [[("val/map", 0.5, 5)]]
    assert told["set_tag"] == [("r", "reason", reason)]
    assert told["set_terminated"] == [("r", status)]
    assert not told["sealed"]


def test_a_signal_ends_a_run_and_its_handler_is_put_back(told):
    def handler(number, frame):
        raise AssertionError(number)

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with pytest.raises(SystemExit) as ended, rows.open_run("7", "U'V", {}):
            os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 128 + signal.SIGTERM
    assert told["set_terminated"] == [("r", "KILLED")]


@pytest.mark.parametrize(
    ("paper", "note", "said"),
    [
        (Published(), None, "**U'V** of *Rows*"),
        (Published(map=0.25, note="of all words."), "ours",
         "**U'V** of *Rows*\n\nours\n\nall made up\n\nPrinted: map 0.25. of all words."),
        (Published(rank_loss=0.01, p_at_10=0.5), None,
         "**U'V** of *Rows*\n\nall made up\n\nPrinted: rank_loss 0.01, p_at_10 0.5. "),
    ],
)  # fmt: skip
def test_the_description_of_a_row_has_its_notes_and_the_printed_values(paper, note, said):
    row = Row("U'V", "bilinear", "links", paper=paper, note=note)
    table = Table("rows", "Rows", {}, (row,), note=None if paper == Published() else "all made up")
    assert rows._note(table, row) == said


@pytest.mark.parametrize(
    ("code", "there", "found"),
    [
        (RESOURCE_ALREADY_EXISTS, SimpleNamespace(experiment_id=7), "7"),
        (RESOURCE_ALREADY_EXISTS, None, None),
        (INTERNAL_ERROR, SimpleNamespace(experiment_id=7), None),
    ],
)
def test_an_experiment_that_another_process_has_just_made_is_taken(code, there, found, monkeypatch):
    class Client:
        def create_experiment(self, name, path):
            raise MlflowException("not made", error_code=code)

        def get_experiment_by_name(self, name):
            return there

    monkeypatch.setattr(database, "client", Client)
    monkeypatch.setattr(database, "tracking_uri", lambda: "http://127.0.0.1:5000")
    if found:
        assert database._create_experiment("links") == found
    else:
        with pytest.raises(MlflowException, match="not made"):
            database._create_experiment("links")
