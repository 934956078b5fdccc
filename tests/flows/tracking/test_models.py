"""Models as MLflow keeps them: their index, their packages, and where they load."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import httpx
import numpy as np
import pytest

from flows import tracking
from flows.serve.pyfunc_model import SEALED, RankedSearch
from flows.servers.server import free_port
from flows.tracking import models, registry
from flows.tracking.requirements import requirements
from ssi_core import store
from ssi_core.experiment import parse_table
from ssi_core.models import MODELS
from ssi_core.serving.index import open_index
from ssi_core.serving.searcher import open_searcher
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput
from tests.corpora import write_corpus
from tests.flows import comparisons
from tests.seals import reseal

TABLE = dataclasses.replace(parse_table(comparisons.TABLE), name="models")


@pytest.mark.parametrize(
    "outputs", [None, SimpleNamespace(model_outputs=[])], ids=["none", "empty"]
)
def test_a_run_without_a_model_is_named(outputs):
    run = SimpleNamespace(outputs=outputs, info=SimpleNamespace(run_id="abc"))
    with pytest.raises(BadInput, match="run abc has logged no model"):
        models.model_of(run)


def logged(model, task_dir, folder):
    """Id of a run with the model of a task, which nobody has searched yet."""
    fitted = model.fit(open_task(task_dir), np.random.default_rng(0))
    fitted.save(folder)
    with tracking.row_run(TABLE, TABLE.row("TF-IDF"), 0, "c", task_dir) as run:
        run.finish_model(fitted.facts, fitted.languages, folder)
    return run.run_id


def test_a_model_that_another_process_brought_is_taken(mlflow_root, tmp_path, monkeypatch):
    def download(address, dst_path):
        Path(dst_path).mkdir()
        (Path(dst_path) / "file").touch()

    monkeypatch.setattr(models.mlflow.artifacts, "download_artifacts", download)
    path = tmp_path / "kept" / "model"
    models._download("m-1", path)
    before = path.stat().st_ino
    models._download("m-1", path)
    assert path.stat().st_ino == before
    (tmp_path / "kept" / "file").touch()
    with pytest.raises(NotADirectoryError):
        models._download("m-1", tmp_path / "kept" / "file")


@pytest.fixture
def run(mlflow_root, task_dir, tmp_path):
    return logged(MODELS["tfidf"](), task_dir, tmp_path / "fitted")


def index_of(run):
    return tracking.model_directory(run).parent / "index"


def code_of(run):
    return tracking.model_directory(run).parents[1] / "code" / "ssi_core"


def lines(run):
    file = tracking.model_directory(run).parents[1] / "requirements.txt"
    return file.read_text().split()


def test_a_run_has_no_index_until_it_is_searched_and_then_keeps_it(run, ssi, task_dir):
    assert not index_of(run).exists()
    word = open_task(task_dir).documents.views["raw"].words[-1]
    code, found, log = ssi("search", run, word)
    assert code == 0, log
    assert found["results"]
    made = store.read(index_of(run), "index")
    assert (made.parents["run"], made.parents["task"]) == (run, open_task(task_dir).key)
    before = {file: file.stat().st_mtime_ns for file in index_of(run).rglob("*")}
    assert ssi("search", run, word)[1] == found
    assert before == {file: file.stat().st_mtime_ns for file in index_of(run).rglob("*")}


def test_the_index_of_a_run_of_earlier_code_is_made_by_that_code(run, task_dir):
    made_by = (
        tracking.model_directory(run).parents[1] / "code" / "ssi_core" / "serving" / "index.py"
    )
    text = made_by.read_text()
    assert 'KIND = "index"' in text
    earlier = """
def build_index(fitted, documents, out, *, parents):
    out.mkdir()
    (out / "artefact.json").write_text(str(len(documents)))
"""
    made_by.write_text(text + earlier)
    reseal(made_by.parents[3], SEALED)
    tracking.searchable_directory(run)
    documents = len(open_task(task_dir).documents)
    assert (index_of(run) / store.MANIFEST).read_text() == str(documents)


def test_earlier_code_that_fails_is_said(run):
    made_by = (
        tracking.model_directory(run).parents[1] / "code" / "ssi_core" / "serving" / "index.py"
    )
    made_by.write_text("raise ValueError('it is too old')")
    with pytest.raises(BadInput, match=r"index\.py: it does not have .* train the row again"):
        tracking.searchable_directory(run)
    reseal(made_by.parents[3], SEALED)
    with pytest.raises(BadInput, match=rf"{run} cannot make its index: .*too old.*--index"):
        tracking.searchable_directory(run)
    assert not index_of(run).exists()


def test_an_index_is_brought_to_where_a_server_keeps_the_model(run, monkeypatch):
    kept = index_of(run)
    # As behind a server: MLflow's address of the artifacts is no directory here.
    monkeypatch.setattr(models, "local", lambda address: Path("/nowhere"))
    path = tracking.searchable_directory(run)
    assert not kept.is_relative_to(path.parent)
    names = {str(file.relative_to(kept)) for file in kept.rglob("*") if file.is_file()}
    here = path.parent / "index"
    assert names == {str(file.relative_to(here)) for file in here.rglob("*") if file.is_file()}
    assert len(open_index(kept)) == len(open_index(here))


def test_a_champion_carries_its_index(run):
    registry.promote(run, "the best", "models-champion")
    index = open_searcher(tracking.model_directory("models:/models-champion@champion")).index
    assert index.passages is not None
    assert index.passages[len(index) - 1].text


def test_an_index_that_is_named_is_taken_and_none_is_made(run, ssi, task_dir, tmp_path):
    model = tracking.model_directory(run)
    how = ("--task", task_dir, "--out", tmp_path / "i", "--storage", "float16")
    assert ssi("data", "index", model, *how)[0] == 0
    assert open_index(tmp_path / "i").artefact.configuration["storage"] == "float16"
    word = open_task(task_dir).documents.views["raw"].words[-1]
    assert ssi("search", run, word, "--index", tmp_path / "i")[0] == 0
    assert not index_of(run).exists()


@pytest.mark.parametrize("gone", [True, False], ids=["gone", "another"])
def test_without_its_task_a_run_gets_no_index_and_is_not_promoted(run, task_dir, tmp_path, gone):
    place = tmp_path / "task"
    if not gone:
        place.mkdir()
        manifest = json.loads((Path(task_dir) / store.MANIFEST).read_text())
        (place / store.MANIFEST).write_text(json.dumps({**manifest, "key": "of another"}))
    tracking.client().set_tag(run, "task_path", str(place))
    with pytest.raises(BadInput, match=rf"{run} has no index.*--index"):
        tracking.searchable_directory(run)
    with pytest.raises(BadInput, match="has no index"):
        registry.promote(run, "the best", "models-none")
    assert registry.champion("models-none") is None


def test_loading_a_model_without_an_index_says_how_it_gets_one(run):
    class Context:
        artifacts = {"model": str(tracking.model_directory(run))}  # noqa: RUF012

    with pytest.raises(BadInput, match="ssi search RUN"):
        RankedSearch().load_context(Context())


def test_the_packages_are_those_that_the_code_imports_at_the_installed_versions():
    found = dict(line.split("==") for line in requirements({"en"}))
    assert {"numpy", "scipy", "numba", "llvmlite", "polars", "pandas", "psutil"} <= set(found)
    assert {"mlflow", "threadpoolctl"} <= set(found)
    assert found == {name: version(name) for name in found}
    # Of the flows, of a training, of an approximate search, of other languages.
    assert not {"prefect", "scikit-learn", "faiss-cpu", "sudachipy", "lxml"} & set(found)


@pytest.fixture
def japanese(mlflow_root, tmp_path):
    """Id of a run whose model reads Japanese."""
    texts = ["古い自動車の機関", "新しい自動車の車輪", "月の石と月の軌道", "月への軌道"]
    write_corpus(tmp_path / "corpus-ja", texts, [(0, 1), (1, 0), (2, 3), (3, 2)] * 3, language="ja")
    build_task(tmp_path / "corpus-ja", tmp_path / "task-ja", views=("raw",))
    return logged(MODELS["tfidf"](), tmp_path / "task-ja", tmp_path / "ja")


def test_a_model_of_japanese_texts_names_the_analyser_and_its_dictionary(japanese):
    added = set(lines(japanese)) - set(requirements({"en"}))
    assert {line.split("==")[0] for line in added} == {"sudachipy", "sudachidict_core"}


LOAD = """
import json, sys
from importlib.metadata import packages_distributions, requires
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

def with_all_that_they_need(names):
    reached, waiting = set(), [canonicalize_name(name) for name in names]
    while waiting:
        if (name := waiting.pop()) not in reached:
            reached.add(name)
            needs = [Requirement(line) for line in requires(name) or ()]
            waiting += [canonicalize_name(need.name) for need in needs
                        if need.marker is None or need.marker.evaluate({"extra": ""})]
    return reached

allowed = with_all_that_they_need(line.split("==")[0] for line in open(sys.argv[2]))
known = packages_distributions()
del known["ssi_core"]  # the model brings its own

class Absent:
    def find_spec(self, name, path=None, target=None):
        owners = {canonicalize_name(owner) for owner in known.get(name, ())}
        if owners and not owners & allowed:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
import mlflow, pandas
model = mlflow.pyfunc.load_model(sys.argv[1])
found = model.predict(pandas.DataFrame({"query": [sys.argv[3]]}), params={"k": 3})
import ssi_core
print(json.dumps([found["titles"][0], next(iter(ssi_core.__path__)), "flows" in sys.modules]))
"""


def clean():
    """Return the environment without the project on the path."""
    names = ("PYTHON", "COV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    return kept | {"MLFLOW_DISABLE_TELEMETRY": "true", "NUMBA_DISABLE_JIT": "1"}


OF_QUERY_LOGS = {
    "topic_model": {"projected": True, "topics": 8, "passes": 2},
    "translation_model": {"passes": 2},
    "topics_and_translations": {
        "parts": (
            {"model": "topic_model", "topics": 8, "passes": 2},
            {"model": "translation_model", "passes": 2},
        ),
    },
    "opca": {"dimensions": 8, "gammas": (1.0,)},
    "s2net": {"dimensions": 8, "budget": 2},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tfidf", *OF_QUERY_LOGS])
@pytest.mark.usefixtures("mlflow_root")
def test_a_model_loads_and_ranks_with_its_own_code_and_packages_alone(name, task_dir, tmp_path):
    run = logged(MODELS[name](**OF_QUERY_LOGS.get(name, {})), task_dir, tmp_path / "fitted")
    word = open_task(task_dir).documents.views["raw"].words[-1]
    expected = open_searcher(tracking.searchable_directory(run)).search([word], 3)[0].hits
    path = tracking.model_directory(run).parents[1]
    command = [sys.executable, "-c", LOAD, str(path), str(path / "requirements.txt"), word]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=clean()
    )
    assert done.returncode == 0, done.stderr
    titles, code, flows_loaded = json.loads(done.stdout.splitlines()[-1])
    assert titles == [hit.title for hit in expected]
    assert Path(code).is_relative_to(path)
    assert not flows_loaded
    assert not [f for f in path.rglob("*") if f.suffix in {".pkl", ".pickle", ".joblib"}]


RANK = """
import json, sys
import mlflow, pandas
found = []
for place, text in zip(sys.argv[1::2], sys.argv[2::2]):
    model = mlflow.pyfunc.load_model(place)
    answer = model.predict(pandas.DataFrame({"query": [text]}), params={"k": 3})
    found.append(answer["titles"][0])
print(json.dumps(found))
"""


def install(path, requirements):
    """Install the requirements of a model into an environment, which is made; give its programs."""
    if not (path / "bin").exists():
        subprocess.run([sys.executable, "-m", "venv", path], check=True)
    pip = [path / "bin" / "pip", "install", "-q", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, "-r", requirements], capture_output=True, text=True, check=False, env=clean()
    )
    assert done.returncode == 0, done.stderr
    return path / "bin"


def ranked(programs, *arguments, cwd):
    """Titles that models find, each loaded from its place and asked a text."""
    command = [programs / "python", "-c", RANK, *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=cwd, env=clean()
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_an_environment_of_a_models_requirements_loads_ranks_and_serves_it(
    run, japanese, task_dir, tmp_path
):
    word = open_task(task_dir).documents.views["raw"].words[-1]
    texts, expected = {run: word, japanese: "自動車"}, {}
    for one, text in texts.items():
        hits = open_searcher(tracking.searchable_directory(one)).search([text], 3)[0].hits
        expected[one] = [hit.title for hit in hits]
        assert expected[one]
    places = {one: tracking.model_directory(one).parents[1] for one in texts}
    programs = install(tmp_path / "environment", places[run] / "requirements.txt")
    assert not list(programs.parent.glob("lib/*/site-packages/prefect"))
    assert ranked(programs, places[run], word, cwd=tmp_path) == [expected[run]]
    with served(programs, places[run], tmp_path) as address:
        asked = {"dataframe_records": [{"query": word}], "params": {"k": 3}}
        answer = httpx.post(f"{address}/invocations", json=asked, timeout=60)
        assert answer.status_code == 200, answer.text
        assert answer.json()["predictions"][0]["titles"] == expected[run]
    # What a Japanese model needs beside it.
    install(tmp_path / "environment", places[japanese] / "requirements.txt")
    both = ranked(programs, places[run], word, places[japanese], "自動車", cwd=tmp_path)
    assert both == [expected[run], expected[japanese]]


@contextlib.contextmanager
def served(programs, place, folder):
    """Let MLflow serve a model from an environment, on this machine alone."""
    port = free_port()
    command = [programs / "mlflow", "models", "serve", "-m", place, "--env-manager", "local"]
    path = {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    log = folder / "served"
    with (
        log.open("w") as file,
        subprocess.Popen(
            [*command, "-h", "127.0.0.1", "-p", str(port)],
            cwd=folder,
            stdout=file,
            stderr=file,
            start_new_session=True,
            env=clean() | path,
        ) as server,
    ):
        try:
            address, end = f"http://127.0.0.1:{port}", time.monotonic() + 300
            while not answers(f"{address}/ping"):
                assert server.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(0.2)
            yield address
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGTERM)


def answers(address):
    try:
        return httpx.get(address).status_code == 200
    except httpx.TransportError:
        return False
