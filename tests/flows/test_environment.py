import contextlib
import errno
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from threadpoolctl import threadpool_info

from flows import environment


@pytest.fixture
def clean(monkeypatch):
    for name in ("SSI_ROOT", "SSI_HOME", *environment.variables()):
        monkeypatch.delenv(name, raising=False)


def test_root_is_the_nearest_parent_with_prefect_yaml(clean, tmp_path, monkeypatch):
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert environment.root() == deep
    (tmp_path / "prefect.yaml").touch()
    assert environment.root() == tmp_path
    assert environment.home() == tmp_path / ".ssi"


def test_the_user_decides(clean, tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("SSI_HOME", "derived")
    assert environment.home() == tmp_path / "elsewhere" / "derived"
    monkeypatch.setenv("SSI_HOME", "/var/ssi")
    assert environment.store_path("task", "k") == Path("/var/ssi/store/task/k")


@pytest.mark.parametrize(
    ("number", "raised"), [(errno.EROFS, False), (errno.ENOENT, False), (errno.ENOTDIR, True)]
)
def test_a_root_that_can_only_be_read_is_no_reason_to_refuse(clean, monkeypatch, number, raised):
    def refused(path):
        raise OSError(number, "refused", str(path))

    monkeypatch.setattr(environment.private, "directory", refused)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    with pytest.raises(OSError, match="refused") if raised else contextlib.nullcontext():
        environment.prepare()


def test_prepare_leaves_what_is_set(clean, tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    monkeypatch.setenv("PREFECT_HOME", "mine")
    monkeypatch.chdir(tmp_path)
    with pytest.MonkeyPatch.context() as inner:
        inner.setattr(os, "environ", dict(os.environ))
        environment.prepare()
        assert os.environ["PREFECT_HOME"] == str(tmp_path / "mine")
        assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"


def test_prefect_reads_the_level_of_the_terminal(clean, monkeypatch):
    """The terminal is the command's: what Prefect logs goes to the page of the run."""
    from prefect.logging.configuration import DEFAULT_LOGGING_SETTINGS_PATH, load_logging_config

    monkeypatch.setenv(environment.CONSOLE, "CRITICAL")
    known = load_logging_config(DEFAULT_LOGGING_SETTINGS_PATH)
    assert known["handlers"]["console"]["level"] == "CRITICAL"


def test_a_command_runs_under_the_settings(clean, tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    say = [sys.executable, "-c", "import os; print(os.environ['PREFECT_HOME'])"]
    done = subprocess.run(
        [sys.executable, "-m", "flows.environment", *say],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(environment.__file__).parents[1],
    )

    assert done.stdout.strip() == str(tmp_path / ".ssi" / "prefect")


@pytest.mark.parametrize(("name", "code", "text"), [("ruff", 0, "ruff "), ("rough", 1, "PATH")])
def test_commands_beside_the_interpreter_need_not_be_on_path(clean, tmp_path, name, code, text):
    done = subprocess.run(
        [sys.executable, "-m", "flows.environment", name, "--version"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SSI_ROOT": str(tmp_path), "PATH": "/usr/bin:/bin"},
        cwd=Path(environment.__file__).parents[1],
    )
    assert done.returncode == code
    assert text in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_threads_are_limited_for_a_while(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("POLARS_MAX_THREADS", raising=False)
    with environment.threads(3):
        pass  # what it loads is loaded now
    loaded = [pool["num_threads"] for pool in threadpool_info()]

    with environment.threads(1):
        assert os.environ["OMP_NUM_THREADS"] == os.environ["POLARS_MAX_THREADS"] == "1"
        assert numba.get_num_threads() == 1
        assert {pool["num_threads"] for pool in threadpool_info()} <= {1}
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "POLARS_MAX_THREADS" not in os.environ
    assert [pool["num_threads"] for pool in threadpool_info()] == loaded
    with environment.threads(None):
        assert os.environ["OMP_NUM_THREADS"] == "7"


def test_a_command_limits_what_it_loads(tmp_path):
    code = (
        "from flows.cli import cli\nfrom ssi_core.command.verb import run\n"
        "assert run(cli, ['lab', 'evaluate', 'none', '--task', 'none', '--threads', '1']) == 3\n"
        "import polars\nprint(polars.thread_pool_size())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(environment.__file__).parents[1],
        env={k: v for k, v in os.environ.items() if k != "POLARS_MAX_THREADS"}
        | {"SSI_ROOT": str(tmp_path)},
    )

    assert done.stdout.strip() == "1"


def test_there_is_at_least_one_core():
    assert 1 <= environment.cores() <= (os.cpu_count() or 1)
