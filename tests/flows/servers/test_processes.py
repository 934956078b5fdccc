import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows import environment
from flows.servers.processes import (
    is_here,
    is_over,
    machine_of,
    name_of,
    own_name,
    process_table,
    scratch,
)


def test_a_process_is_known_while_it_lives(over):
    assert own_name() == name_of(os.getpid())
    assert not is_over(own_name())
    assert is_over(over)


def test_a_number_that_is_used_again_is_another_process():
    host, pid, start = own_name().rsplit("-", 2)
    assert is_over(f"{host}-{pid}-{float(start) - 1000}")


@pytest.mark.parametrize("where", ["elsewhere.{table}", "{machine}.1", "{machine}", "elsewhere"])
def test_processes_of_other_machines_and_containers_are_left_alone(over, where):
    assert is_over(over)
    own, pid, start = over.rsplit("-", 2)
    machine, table = own.rsplit(".", 1)
    other = f"{where.format(machine=machine, table=table)}-{pid}-{start}"
    assert not is_here(other)
    assert not is_over(other)


def test_a_container_has_a_name_of_its_own(monkeypatch):
    name = own_name()
    assert machine_of(name) == socket.gethostname()
    # What the system answers in another container with the network of its machine.
    table = SimpleNamespace(st_ino=1)
    monkeypatch.setattr(Path, "stat", lambda self, **how: table)
    process_table.cache_clear()
    try:
        assert process_table() == f"{socket.gethostname()}.1"
        assert not is_here(name)
        assert machine_of(f"{process_table()}-1-2.0") == machine_of(name)
    finally:
        process_table.cache_clear()


CONTAINER = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")


def test_no_container_judges_over_the_processes_of_another():
    if (
        shutil.which("unshare") is None
        or subprocess.run([*CONTAINER, "true"], check=False).returncode
    ):
        pytest.skip("no namespaces of processes can be made here")
    code = "import sys; from flows.servers.processes import is_over; print(is_over(sys.argv[1]))"
    done = subprocess.run(
        [*CONTAINER, sys.executable, "-c", code, own_name()],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(environment.__file__).parents[1],
    )
    # This process has no number there.
    assert done.stdout.strip() == "False"


def test_scratch_goes_with_its_block_and_that_of_killed_commands_goes_too(
    tmp_path, monkeypatch, over
):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    monkeypatch.delenv("SSI_HOME", raising=False)
    space, before = environment.home() / "tmp", tempfile.gettempdir()
    for left in (over, "elsewhere-1-2.0"):
        (space / left / "more").mkdir(parents=True)

    with scratch() as own:
        assert Path(tempfile.gettempdir()) == own
        assert Path(tempfile.mkdtemp()).parent == own
        assert sorted(p.name for p in space.iterdir()) == sorted(["elsewhere-1-2.0", own.name])
        assert os.environ["TMPDIR"] == str(own)
    assert tempfile.gettempdir() == before
    assert [p.name for p in space.iterdir()] == ["elsewhere-1-2.0"]


def test_where_no_scratch_can_be_made_the_directory_of_the_system_serves(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    (tmp_path / ".ssi").mkdir()
    (tmp_path / ".ssi" / "tmp").touch()
    before = tempfile.gettempdir()
    with scratch() as own:
        assert str(own) == tempfile.gettempdir() == before


def test_a_command_leaves_no_scratch(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    monkeypatch.delenv("SSI_HOME", raising=False)
    with scratch():
        pass
    assert not (environment.home() / "tmp").exists()
