"""The verbs that write runs, and those that read them; no Prefect server takes part."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import nullcontext
from types import SimpleNamespace

import httpx
import pytest

from flows.cli import cli
from flows.commands import services
from flows.reporting import result_file
from flows.servers import deployment_runs
from flows.servers.server import free_port
from ssi_core.command.verb import run
from ssi_core.tasks.task import build_task
from tests.corpora import topical, write_corpus


@pytest.fixture
def _root(project, monkeypatch):
    for name in list(os.environ):
        if name.startswith(("SSI_", "PREFECT_", "MLFLOW_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SSI_ROOT", str(project))


@pytest.mark.usefixtures("_root")
def test_train_compare_export_and_search_a_run(project, tiny, tmp_path, capsys):
    def ssi(*arguments: object) -> dict:
        assert run(cli, [*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    how = ("--task", project / "task", "--row", "TF-IDF", "--comparison", "once")
    trained = ssi("lab", "train", tiny, *how)
    assert (trained["experiment"], trained["label"], trained["seed"]) == ("tiny", "TF-IDF", 0)

    compared = ssi("compare", "tiny")
    assert set(compared) >= {"experiment", "rows", "tests", "claims"}
    (row,) = compared["rows"]
    assert set(row) >= {"label", "seed", "run_id", "metrics"}
    assert row["run_id"] == trained["run_id"]
    assert row["metrics"]["test/map"] == pytest.approx(trained["metrics"]["test/map"])
    assert compared["summary"][0]["slices"]["warm"]["queries"] > 0
    assert run(cli, ["compare", "tiny", "--slices"]) == 0
    assert "by what training saw of the document" in capsys.readouterr().out
    assert ssi("compare", "tiny", "--comparison", "once")["rows"] == compared["rows"]
    assert ssi("compare", "tiny", "--save", tmp_path / "tiny.json") == compared
    kept = result_file.load(tmp_path / "tiny.json")
    assert kept["data"] == compared["data"]
    assert [set(keys) for keys in kept["data"].values()] == [{"task", "corpus"}]
    assert run(cli, ["compare", "--list", "--save", str(tmp_path / "tiny.json")]) == 2
    capsys.readouterr()

    found = ssi("search", trained["run_id"], "moon", "-k", 3)
    assert found == ssi("search", project / "tfidf", "moon", "-k", 3)
    # A run has no model of related documents: it answers itself.
    first = found["results"][0]["id"]
    related = ssi("related", trained["run_id"], first, "-k", 3)
    assert related == ssi("related", project / "tfidf", first, "-k", 3)
    assert first not in {hit["id"] for hit in related["results"]}
    assert len(related["results"]) == 3
    measured = ssi("lab", "evaluate", trained["run_id"], "--task", project / "task")
    assert measured["metrics"]["test/map"] == pytest.approx(trained["metrics"]["test/map"])

    files = ssi("lab", "export-trec", trained["run_id"], "--out", tmp_path / "trec", "--with-texts")
    lines = (tmp_path / "trec" / "run.trec").read_text().splitlines()
    assert files["run"] == str(tmp_path / "trec" / "run.trec")
    assert {len(line.split()) for line in lines} == {6}
    assert (tmp_path / "trec" / "qrels.trec").read_text()
    queries = (tmp_path / "trec" / "queries.jsonl").read_text().splitlines()
    assert {line.split()[0] for line in lines} <= {json.loads(line)["_id"] for line in queries}
    assert files["corpus"] == str(tmp_path / "trec" / "corpus.jsonl")

    for arguments in (["compare", "nix"], ["search", "0123", "moon"], ["compare", "tiny", "-h"]):
        code = run(cli, arguments)
        assert code == (0 if "-h" in arguments else 3)
    assert "'nix'" in capsys.readouterr().err


@pytest.mark.usefixtures("_root")
def test_a_model_is_measured_on_any_texts_in_its_own_words(project, tmp_path, ssi):
    """Texts of other documents have other words: read with those, numbers mean nothing."""
    other = write_corpus(tmp_path / "other", *topical(60))
    build_task(other, tmp_path / "task")
    model = project / "tfidf"
    code, value, _ = ssi("lab", "evaluate", model, "--task", tmp_path / "task")
    assert code == 3
    assert "--on DIRECTORY" in value["error"]["message"]

    own = ssi("lab", "evaluate", model, "--task", project / "task")[1]["metrics"]["test/map"]
    code, value, _ = ssi(
        "lab", "evaluate", model, "--on", project / "corpus", "--out", tmp_path / "trec"
    )
    assert code == 0
    # The same test pairs; training and validation pairs are neither answers nor candidates.
    assert value["metrics"]["test/map"] == pytest.approx(own)
    assert set(value) >= {"model", "task", "metrics", "run", "qrels"}
    assert (tmp_path / "trec" / "run.trec").read_text()

    assert ssi("ops", "freeze", other, "--out", tmp_path / "frozen", "--max-queries", 20)[0] == 0
    # It knows (nearly) no word of these texts.
    for place in (tmp_path / "frozen", other):
        code, value, _ = ssi("lab", "evaluate", model, "--on", place)
        assert code == 3
        assert "of the words of the queries are unknown to this model" in value["error"]["message"]
    on, task = ("--on", other), ("--task", "t")
    wrong = ((), (*task, *on), (*on, "--side", "valid"), (*on, "--fold", 1), (*task, "--by", "x"))
    for arguments in wrong:
        assert ssi("lab", "evaluate", model, *arguments)[0] == 2


@pytest.mark.slow
def test_ui_starts_both_pages_and_ends_them_on_interrupt(tmp_path):
    ports = {"mlflow": free_port(), "prefect": free_port()}
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SSI_", "PREFECT_", "MLFLOW_"))
    }
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "flows.cli", "--root", str(tmp_path), "ops", "ui", "--json"),
            *(f"--{name}-port={port}" for name, port in ports.items()),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    killer = threading.Timer(240, process.kill)
    killer.start()
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            if line.startswith("Prefect:"):
                break
        assert any("/#/experiments?workflowType=" in line for line in said), "".join(said)
        for port in ports.values():
            assert httpx.get(f"http://127.0.0.1:{port}/", follow_redirects=True).status_code == 200
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    finally:
        killer.cancel()
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert set(json.loads(out)) == {"mlflow", "prefect"}
    for port in ports.values():
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"http://127.0.0.1:{port}/")


def test_a_run_that_is_waited_for_tells_its_states_and_is_never_done_before(monkeypatch, capsys):
    state = SimpleNamespace(is_final=lambda: True, is_completed=lambda: True, message="")
    begun = SimpleNamespace(id="r1", name="one", state_name="Scheduled", state=None)
    ended = SimpleNamespace(id="r1", name="one", state_name="Completed", state=state)
    said = []

    def wait(run, told):
        told("Running")
        return ended

    server = lambda: nullcontext("http://here/api")  # noqa: E731
    ways = {"server": server, "start": lambda *of: begun, "is_taken": lambda run: False}
    for name, way in {**ways, "wait": wait}.items():
        monkeypatch.setattr(deployment_runs, name, way)
    bar = lambda name: nullcontext(lambda *step: said.append((name, *step)))  # noqa: E731
    monkeypatch.setattr(services, "progress", bar)
    assert run(cli, ["ops", "run", "ingest", "--wait", "--json"]) == 0
    out, told = capsys.readouterr()
    assert said == [("run", 0.0, "Running")]
    assert json.loads(out)["state"] == "Completed"
    assert "no worker takes the run yet; one starts with: ssi up" in told
