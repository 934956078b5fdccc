from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import httpx
import numpy as np
import pandas as pd
import pytest

from flows.serve.pyfunc_model import SEALED, RankedSearch, texts_of
from flows.servers.server import free_port
from ssi_core import integrity
from ssi_core.serving.searcher import open_searcher

ROOT = Path(__file__).parents[3]


class Context:
    def __init__(self, project):
        self.artifacts = {"model": str(project / "model")}


@pytest.fixture(scope="module")
def model(project, tmp_path_factory):
    logged = tmp_path_factory.mktemp("logged")
    shutil.copytree(project, logged / "artifacts")
    integrity.seal_directory(logged, SEALED, {}, durable=False)
    loaded = RankedSearch()
    loaded.load_context(Context(logged / "artifacts"))
    return loaded


@pytest.mark.parametrize(
    "given",
    [
        pd.DataFrame({"query": ["moon rocket", "bread"]}),
        {"query": ["moon rocket", "bread"]},
        {"query": np.array(["moon rocket", "bread"], dtype=object)},
        ["moon rocket", "bread"],
        np.array(["moon rocket", "bread"], dtype=object),
        pd.Series(["moon rocket", "bread"]),
    ],
    ids=lambda given: type(given).__name__,
)
def test_any_way_of_giving_queries_finds_what_the_searcher_finds(given, model, project):
    found = model.predict(None, given, {"k": 3})
    expected = open_searcher(project / "model").search(["moon rocket", "bread"], k=3)
    assert found["titles"].tolist() == [[hit.title for hit in a.hits] for a in expected]
    assert found["ids"].tolist() == [[hit.id for hit in a.hits] for a in expected]
    assert found["scores"].tolist() == [[hit.score for hit in a.hits] for a in expected]


def test_an_address_or_a_text_that_is_not_known_is_empty():
    known = SimpleNamespace(id="1", title="Moon", url="https://a/1", snippet="the moon", score=2.0)
    bare = SimpleNamespace(id="2", title="Mars", url=None, snippet=None, score=1.0)
    model = RankedSearch()
    model._searcher = SimpleNamespace(search=lambda texts, k: [SimpleNamespace(hits=[known, bare])])
    [row] = model.predict(None, ["moon"]).to_dict("records")
    assert row["urls"] == ["https://a/1", ""]
    assert row["snippets"] == ["the moon", ""]


def test_k_is_ten_unless_said_and_an_unknown_query_finds_nothing(model):
    assert len(model.predict(None, ["moon"])["titles"][0]) == 10
    assert model.predict(None, "xyzzy")["titles"].tolist() == [[]]
    assert model.predict(None, [])["titles"].tolist() == []


@pytest.mark.parametrize("wrong", [{"text": ["moon"]}, pd.DataFrame({"q": ["moon"]}), [1], [None]])
def test_what_is_no_query_is_an_error_that_says_so(wrong):
    with pytest.raises(ValueError, match="expected"):
        texts_of(wrong)


@pytest.mark.slow
def test_mlflow_serves_what_an_alias_means(project, mlflow_root, tmp_path):
    from flows import tracking
    from flows.tracking.models import log_model

    tracking.ready()
    client, experiment = tracking.client(), tracking.experiment_id("served")
    run = client.create_run(experiment).info.run_id
    # A directory that has its index in it, too.
    logged = log_model(experiment, run, "TF-IDF", project / "model", {"en"})
    client.create_registered_model("raw-text")
    made = client.create_model_version("raw-text", f"models:/{logged}", run, model_id=logged)
    client.set_registered_model_alias("raw-text", "champion", made.version)

    port, queries = free_port(), ["moon rocket", "xyzzy", "bread"]
    command = [sys.executable, "-m", "flows.environment", "mlflow", "models", "serve"]
    arguments = ["-m", "models:/raw-text@champion", "--env-manager", "local", "-p", str(port)]
    said = tmp_path / "said"
    of_a_shell = {
        "MLFLOW_TRACKING_URI": tracking.tracking_uri(),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    with (
        said.open("w") as file,
        subprocess.Popen(
            [*command, *arguments],
            cwd=ROOT,
            stdout=file,
            stderr=file,
            start_new_session=True,
            env=os.environ | of_a_shell,
        ) as server,
    ):
        try:
            address, end = f"http://127.0.0.1:{port}", time.monotonic() + 300
            while not answers(f"{address}/ping"):
                assert server.poll() is None, said.read_text()
                assert time.monotonic() < end, said.read_text()
                time.sleep(0.2)
            asked = {"dataframe_records": [{"query": query} for query in queries]}
            answer = httpx.post(f"{address}/invocations", json=asked | {"params": {"k": 3}})
            wrong = httpx.post(f"{address}/invocations", json={"inputs": {"text": ["moon"]}})
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)
    assert answer.status_code == 200, answer.text
    found = answer.json()["predictions"]
    expected = open_searcher(project / "model").search(queries, k=3)
    assert [row["titles"] for row in found] == [[h.title for h in a.hits] for a in expected]
    assert [row["scores"] for row in found] == [[h.score for h in a.hits] for a in expected]
    assert found[1] == {"ids": [], "titles": [], "urls": [], "snippets": [], "scores": []}
    assert wrong.status_code == 400
    assert "query" in wrong.text


def answers(address):
    try:
        return httpx.get(address).status_code == 200
    except httpx.TransportError:
        return False
