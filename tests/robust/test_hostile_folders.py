"""Commands in a folder of a stranger run nothing of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flows import environment
from flows.servers import prefect_command, supervisor
from ssi_core import locks
from ssi_core.command import library
from ssi_core.pool import Pool
from tests.robust.tally import attempt

pytestmark = pytest.mark.hostile("settings in folders")

LOGGING = """
version: 1
formatters: {{x: {{"()": subprocess.Popen, args: "echo > {ran}", shell: true}}}}
"""
URL = "http://evil.example/api"
PATH = f'PREFECT_LOGGING_CONFIG_PATH = "evil.yml"\nPREFECT_API_URL = "{URL}"\n'
PROFILE = f'active = "evil"\n[profiles.evil]\n{PATH}'
FILES = {
    "prefect.toml": f'logging.config_path = "evil.yml"\napi.url = "{URL}"\n',
    "pyproject.toml": (f'[tool.prefect]\nlogging.config_path = "evil.yml"\napi.url = "{URL}"\n'),
    ".env": PATH,
    ".ssi/prefect/profiles.toml": PROFILE,
    ".ssi/prefect/logging.yml": LOGGING,
}
PROFILES = {
    "prefect.toml": 'profiles_path = "evil.toml"\n',
    "pyproject.toml": '[tool.prefect]\nprofiles_path = "evil.toml"\n',
    ".env": "PREFECT_PROFILES_PATH=evil.toml\n",
}
MODULES = ("flows", "json", "mlflow", "multiprocessing", "polars", "prefect", "psutil", "uvicorn")
SSI = str(Path(sys.executable).with_name("ssi"))


def write(folder, files):
    """A folder with these files, and those that they name."""
    for name, text in {**files, "evil.yml": LOGGING, "evil.toml": PROFILE}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text.format(ran=folder / "ran"))


@pytest.fixture
def _environment():
    """Restore the environment for later processes."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def folder(tmp_path, monkeypatch, _environment):
    """The working directory, which is the root, and no setting of the user."""
    for name in list(os.environ):
        if name.startswith(("SSI_", "PREFECT_", "MLFLOW_")):
            monkeypatch.delenv(name)
    for name in ("PYTHONPATH", "PYTHONSAFEPATH", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path / "folder")
    return tmp_path / "folder"


@pytest.fixture
def prepared(folder):
    """The same, prepared for Prefect, in this process."""
    environment.prepare()
    return folder


@pytest.mark.parametrize("name", FILES)
def test_prefect_reads_no_settings_of_a_folder(name, prepared):
    from prefect.settings.models.root import Settings

    write(prepared, {name: FILES[name]})
    with attempt(ran=prepared / "ran"):
        found = Settings()
        assert found.logging.config_path.is_relative_to(sys.prefix)
        assert found.profiles_path.is_relative_to(sys.prefix)
        assert found.api.url is None


@pytest.mark.parametrize("name", PROFILES)
def test_prefect_reads_no_profiles_that_a_folder_names(name, folder):
    """Nor in a process that is not prepared: a Dask worker."""
    from prefect.settings.models.root import Settings
    from prefect.settings.sources import DEFAULT_PROFILES_PATH, ProfileSettingsTomlLoader

    write(folder, {name: PROFILES[name]})
    with attempt(ran=folder / "ran"):
        assert ProfileSettingsTomlLoader(Settings).profiles_path == DEFAULT_PROFILES_PATH


def test_a_command_runs_nothing_of_a_folder(folder):
    """The verb imports Prefect and MLflow before it looks for the table."""
    write(folder, FILES)
    command = [SSI, "lab", "pipeline", "none", "--sample", "20"]
    with attempt(ran=folder / "ran") as seen:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert seen.code(done.returncode) == 3, done.stderr


def shadow(folder):
    """Write modules that note that they were imported."""
    for name in MODULES:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'ran')!r}, 'a').write('{name} ')")


def test_processes_of_a_command_import_nothing_of_a_folder(prepared):
    shadow(prepared)
    with attempt(ran=prepared / "ran"), Pool(1) as pool:
        assert pool.run("here", os.getcwd) == str(prepared)


def test_processes_of_the_library_take_no_modules_of_a_folder(folder):
    with pytest.raises(SystemExit):
        library.main(["--help"])
    assert os.environ["PYTHONSAFEPATH"] == "1"


def test_a_server_starts_where_no_settings_lie(prepared, tmp_path):
    log = tmp_path / "logs" / "log"
    older = tmp_path / "older"
    older.touch(0o644)
    with locks.shared(tmp_path / "users"):
        code = "import os, sys; print(os.getcwd(), '' in sys.path)"
        for place in (log, older):
            supervisor.start_kept([sys.executable, "-c", code], tmp_path / "users", place, {}).wait(
                60
            )
    assert log.read_text() == older.read_text() == "/ False\n"
    assert older.stat().st_mode & 0o777 == 0o600
    assert (log.stat().st_mode & 0o777, log.parent.stat().st_mode & 0o777) == (0o600, 0o700)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["prefect", "worker", "start", "--pool", "one"], True),
        ([sys.executable, "-m", "prefect", "server", "start"], True),
        (["prefect", "deploy", "--all"], False),
        (["mlflow", "server"], False),
    ],
)
def test_servers_that_a_person_starts_are_known(command, expected):
    assert prefect_command.is_service(command) == expected


def test_a_worker_that_a_person_starts_reads_nothing_of_a_folder(folder):
    write(folder, FILES)
    shown = "echo $PWD $SSI_ROOT $PREFECT_HOME $PYTHONSAFEPATH $PYTHONPATH"
    (folder / "bin").mkdir()
    (folder / "bin" / "prefect").write_text(f"#!/bin/sh\ncd . && {shown}\n")
    (folder / "bin" / "prefect").chmod(0o755)
    checkout = str(Path(environment.__file__).parents[1])
    command = [sys.executable, "-P", "-m", "flows.environment", "prefect", "worker", "start"]
    given = {"PYTHONPATH": f"{checkout}:own", "PREFECT_HOME": "home"}
    given["PATH"] = f"bin:{os.environ['PATH']}"
    with attempt(ran=folder / "ran"):
        done = subprocess.run(
            command, env={**os.environ, **given}, capture_output=True, text=True, check=True
        )
    own = f"{checkout}:{folder / 'own'}"
    assert done.stdout.split() == ["/", str(folder), str(folder / "home"), "1", own]


@pytest.mark.parametrize("jit", [None, "1"])
def test_numba_reads_no_settings_of_a_folder(jit, folder, monkeypatch):
    """One of them is the path of a library to load."""
    (folder / ".numba_config.yaml").write_text("cuda_driver: /evil.so\ndisable_jit: 1\nopt: 0\n")
    code = (
        "import ssi_core.kernels; from numba.core import config;"
        "print(config.CUDA_DRIVER, config.DISABLE_JIT, int(config.OPT))"
    )
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    if jit:
        monkeypatch.setenv("NUMBA_DISABLE_JIT", jit)
    with attempt():
        done = subprocess.run(
            [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == [jit or "0", "3"]


def test_pictures_are_drawn_by_no_settings_of_a_folder(folder):
    """LaTeX is a program, and its text would be the stranger's."""
    (folder / "matplotlibrc").write_text("text.usetex: True\n")
    code = "import flows.reporting.plots, matplotlib; print(matplotlib.rcParams['text.usetex'])"
    checkout = str(Path(environment.__file__).parents[1])
    with attempt():
        done = subprocess.run(
            [sys.executable, "-P", "-c", code], env={**os.environ, "PYTHONPATH": checkout},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout == "False\n"


@pytest.mark.slow
def test_a_whole_table_runs_nothing_of_a_folder(folder):
    """Both servers, the workers of the rows and their pictures."""
    write(folder, FILES)
    shadow(folder)
    (folder / "matplotlibrc").write_text("text.usetex: True\n")
    command = [SSI, "lab", "pipeline", "demo", "--sample", "60", "--rows", "TF-IDF"]
    with attempt(ran=folder / "ran", seconds=600) as seen:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert seen.code(done.returncode) == 0, done.stderr
    databases = {path for path in folder.rglob("*.db*") if path.suffix != ".users"}
    assert {path.stat().st_mode & 0o777 for path in databases} == {0o600}
    assert {path.name for path in databases} >= {"mlflow.db", "prefect.db"}
    assert (folder / "mlruns").stat().st_mode & 0o777 == 0o700
