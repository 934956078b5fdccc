"""The wheel by itself: no workflow in it, and none needed."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from flows.cli import cli
from ssi_core.command.library import FURTHER, library

REPOSITORY = Path(__file__).parents[2]
PROGRAM = """
import sys
for name in (
    "prefect", "mlflow", "fastapi", "sqlalchemy", "pandas", "pyarrow", "matplotlib", "sklearn",
):
    sys.modules[name] = None
import ssi_core as ssi
texts = [f"{word} {n} {n % 7}" for n in range(40) for word in ("car", "moon")]
docs = ssi.read(texts, links=[(n, (n + k) % 80) for n in range(80) for k in (2, 4)])
task = ssi.Task.of(docs)
model = ssi.BM25().fit(task)
print(ssi.compare([ssi.TfIdf().fit(task), model], task))
index = model.index(docs, out="index")
print(index.search("moon 7", k=1))
model.save("model")
print(ssi.load("model"))
print(ssi.__file__)
from ssi_core.command.library import library
from ssi_core.command.verb import run
search = ["search", "--json", "-k", "1"]
fit = ["fit", "--json", "--defaults", "--budget", "2000", "--out", "fitted"]
for words in (
    [*fit, str(task.path)],
    [*search, "fitted", "moon 7"],
    ["lab", "evaluate", "--json", "model", "--task", str(task.path)],
    [*search, "--index", "index", "models:/ssi@champion", "moon 7"],
):
    print(run(library, words))
"""


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The contents of the wheel, in a directory that no `flows` is near."""
    path = tmp_path_factory.mktemp("wheel")
    kept_out = shutil.ignore_patterns("__pycache__")
    for name in ("flows", "ssi_core"):
        shutil.copytree(REPOSITORY / name, path / "source" / name, ignore=kept_out)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, path / "source")
    build = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "-w", str(path), str(path / "source")], check=True)
    (wheel,) = path.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(path / "installed")
    return path / "installed"


def run(alone, place, *words):
    ours = ("SSI_", "PREFECT_", "MLFLOW_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return subprocess.run(
        [sys.executable, *words], cwd=place, env=clean | {"PYTHONPATH": str(alone)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_a_wheel_has_the_library_and_its_types_alone(alone):
    names = {path.name for path in alone.iterdir()}
    (facts,) = (name for name in names if name.endswith(".dist-info"))
    assert names == {"ssi_core", facts}
    assert (alone / "ssi_core" / "py.typed").is_file()
    assert "ssi = ssi_core.__main__:main" in (alone / facts / "entry_points.txt").read_text()
    required = [
        line
        for line in (alone / facts / "METADATA").read_text(encoding="utf-8").splitlines()
        if line.startswith("Requires-Dist:") and "extra ==" not in line
    ]
    assert required
    assert not any(
        name in line for line in required for name in ("prefect", "mlflow", "sudachi", "scikit")
    )


@pytest.mark.slow
def test_a_program_needs_no_package_of_the_workflow(alone, tmp_path):
    done = run(alone, tmp_path, "-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    *_, place, fitted, code, found, first, measured, second, _, third = done.stdout.splitlines()
    assert place == str(alone / "ssi_core" / "__init__.py")
    assert (code, first, second, third) == ("0", "0", "0", "3"), done.stderr
    assert [row["ranker"] for row in json.loads(fitted)["measures"]][::2] == ["BM25F", "SSI"]
    (hit,) = json.loads(found)["results"]
    assert hit["title"].startswith("moon") or "moon" in hit["snippet"]
    assert 0 < json.loads(measured)["metrics"]["test/map"] <= 1
    assert "pip install 'ssi[workflow]'" in done.stderr


@pytest.mark.slow
def test_the_command_has_the_verbs_of_the_library_and_names_the_others(alone, tmp_path):
    (tmp_path / "articles.csv").write_text("id,text\na,a car\nb,the moon\n")
    done = run(
        alone, tmp_path, "-m", "ssi_core", "data", "ingest", "table", "articles.csv", "--json"
    )
    assert (done.returncode, '"documents": 2' in done.stdout) == (0, True)
    done = run(alone, tmp_path, "-m", "ssi_core", "lab", "pipeline", "demo")
    assert done.returncode == 2
    assert "pip install 'ssi[workflow]'" in done.stderr


def test_every_verb_is_of_the_library_or_of_the_workflow():
    of_library, every = ({*names(command)} for command in (library, cli))
    assert {*of_library, *FURTHER} == every
    assert not of_library & {*FURTHER}
    assert library.lacking == [name for name in FURTHER if "." not in name]


def names(command):
    """Names of the verbs of a command, as the registry has them."""
    groups = {name: group.verbs for name, group in command.commands.items()}
    return [*command.verbs, *(f"{group}.{name}" for group in groups for name in groups[group])]
