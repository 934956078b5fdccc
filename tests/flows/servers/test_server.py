import contextlib
import errno
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from flows import environment
from flows.servers import server as module
from flows.servers.server import Server, free_port
from flows.servers.supervisor import start_kept
from ssi_core import locks
from ssi_core.types import Refused

TWENTY_TASKS = """
import sys
import time
from flows.servers.server import Server
with Server() as server:
    from prefect import flow, task
    server.ready()

    @task
    def one(n):
        while n == 0 and sys.argv[1:] == ["work"]:
            print(server.url, flush=True)
            time.sleep(0.5)
        return n

    @flow
    def all_of_them():
        return [future.result() for future in one.map(range(20))]

    all_of_them()
    print(server.url, flush=True)
    while sys.argv[1:] == ["stay"]:
        time.sleep(0.1)
"""


def start(root, *arguments):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SSI_", "PREFECT_"))}
    return subprocess.Popen(
        [sys.executable, "-c", TWENTY_TASKS, *arguments],
        cwd=Path(__file__).parents[3],
        env=clean | {"SSI_ROOT": str(root)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )


def answers(url):
    port = int(url.split(":")[2].split("/")[0])
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def states(root, table):
    """How many runs are in each state."""
    with contextlib.closing(sqlite3.connect(root / ".ssi" / "prefect" / "prefect.db")) as database:
        asked = f"select state_name, count(*) from {table} group by state_name"
        return database.execute(asked).fetchall()


@pytest.mark.slow
def test_records_of_tasks_are_there_afterwards(tmp_path):
    with start(tmp_path) as command:
        url = command.communicate(timeout=300)[0].split()[-1]
    assert command.returncode == 0
    assert not answers(url)
    assert states(tmp_path, "task_run") == [("Completed", 20)]


@pytest.mark.slow
def test_runs_of_a_killed_command_are_ended_by_the_next_one(tmp_path):
    with start(tmp_path, "work") as command:
        command.stdout.readline()
        # Records of tasks are on their way for a while.
        until(lambda: states(tmp_path, "task_run") == [("Completed", 19), ("Running", 1)])
        command.kill()
    with start(tmp_path) as command:
        command.communicate(timeout=300)
    assert command.returncode == 0
    assert states(tmp_path, "flow_run") == [("Completed", 1), ("Crashed", 1)]
    # What the killed one had done, and what the next one did.
    assert states(tmp_path, "task_run") == [("Completed", 39), ("Crashed", 1)]


@pytest.mark.slow
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_no_server_is_left_behind(tmp_path, sign):
    with start(tmp_path, "stay") as command:
        line = command.stdout.readline()
        url = line.split()[-1]
        assert answers(url)
        command.send_signal(sign)
        command.wait(60)
        end = time.monotonic() + 30
        while answers(url) and time.monotonic() < end:
            time.sleep(0.2)
        assert not answers(url)


@pytest.mark.slow
def test_commands_of_one_root_share_a_server_until_the_last_ends(tmp_path):
    with start(tmp_path, "stay") as first:
        url = first.stdout.readline().split()[-1]
        with start(tmp_path, "stay") as second:
            assert second.stdout.readline().split()[-1] == url
            first.send_signal(signal.SIGKILL)
            first.wait(60)
            time.sleep(2)
            assert answers(url)
            second.send_signal(signal.SIGINT)
            second.wait(60)
            assert not answers(url)


@pytest.mark.slow
def test_a_server_that_a_person_started_is_used_and_stays(tmp_path):
    port = str(free_port())
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SSI_", "PREFECT_"))}
    typed = ["-m", "flows.environment", "prefect", "server", "start", "--port", port]
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, *typed],
            cwd=Path(__file__).parents[3],
            env=clean | {"SSI_ROOT": str(tmp_path)},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        url = f"http://127.0.0.1:{port}/api"
        until(lambda: (tmp_path / ".ssi" / "prefect" / "server.json").exists())
        with start(tmp_path) as command:
            assert command.communicate(timeout=300)[0].split()[-1] == url
        assert command.returncode == 0
        # This server goes on, and has no reason to hurry with the records of tasks.
        until(lambda: states(tmp_path, "task_run") == [("Completed", 20)])
        assert answers(url)
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)


SLEEPERS = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)", sys.argv[1]])
print("ready", flush=True)
time.sleep(300)
"""


def with_word(word):
    """Processes that have a word in their command."""
    found = (p.info for p in psutil.process_iter(["pid", "cmdline"]))
    return [one["pid"] for one in found if word in (one["cmdline"] or [])]


@pytest.mark.parametrize("victim", ["keeper", "watcher"])
def test_a_command_ends_with_its_keeper_and_all_that_it_started(tmp_path, victim):
    word, log = f"sleeper-{tmp_path.name}-{victim}", tmp_path / "log"
    with locks.shared(tmp_path / "users"):
        kept = start_kept([sys.executable, "-c", SLEEPERS, word], tmp_path / "users", log, {})
        until(lambda: "ready" in log.read_text())
        # Keeper, watcher, command, and what it started.
        assert len(with_word(word)) == 4
        (watcher,) = psutil.Process(kept.pid).children()
        (kept if victim == "keeper" else watcher).kill()
        kept.wait(60)
        until(lambda: not with_word(word))


def until(found):
    end = time.monotonic() + 60
    while not found():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_taken_port_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    monkeypatch.setattr("flows.servers.server.chosen_url", lambda: "")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Refused, match=f"port {port} is taken, .*--prefect-port"):
            Server(port).__enter__()


def test_the_server_of_the_user_is_used(monkeypatch, tmp_path):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    monkeypatch.setattr("flows.servers.server.chosen_url", lambda: "http://127.0.0.1:4200/api")
    with Server() as server:
        assert server.ready() == "http://127.0.0.1:4200/api"
    assert not server.log.exists()


def test_a_server_that_cannot_start_says_why(monkeypatch, tmp_path):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    monkeypatch.setattr("flows.servers.server.chosen_url", lambda: "")
    fails = [sys.executable, "-c", "import sys; sys.exit('no room for a database')"]
    monkeypatch.setattr("flows.servers.server.server_command", lambda port: fails)
    with pytest.raises(RuntimeError, match="no room for a database"), Server(patience=60) as server:
        server.ready()


def test_a_free_port_is_free():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", free_port()))


class _Answer(Exception):
    response = SimpleNamespace(status_code=500)


def test_a_server_that_fails_on_a_full_disk_is_said_to(own_root, monkeypatch):
    def full(**how):
        raise OSError(errno.ENOSPC, "No space left on device")

    server = Server()
    server._refuse_where_full(ValueError("other"))
    (environment.home() / "prefect").mkdir(parents=True)
    server._refuse_where_full(_Answer())
    monkeypatch.setattr(module.tempfile, "TemporaryFile", full)
    with pytest.raises(Refused, match="no space is left on its disk"):
        server._refuse_where_full(_Answer())
