"""``kill -9`` of the first command of a root at random moments, then another command in that root.

``SSI_KILLS`` kills in all (default 2); ``SSI_KILLS_SEED`` draws the moments and is printed, as is a
line for each kill. Every second kill is of Prefect's server, beside MLflow.
"""

import os
import random
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import psutil
import pytest

REPOSITORY = Path(__file__).parents[2]
KILLS = int(os.environ.get("SSI_KILLS", "2"))
SEED = int(os.environ.get("SSI_KILLS_SEED", "1"))

SERVED = """
from flows import tracking
from flows.server import Server
with Server() as server:
    tracking.ready()
    server.ready()
"""
COMMANDS = {
    "mlflow": ["-m", "flows.cli", "champions", "--json"],
    "prefect": ["-c", SERVED],
}

pytestmark = [pytest.mark.slow, pytest.mark.kill]


def start(kind, root):
    """Start a command in a root."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_"))}
    return subprocess.Popen(
        [sys.executable, *COMMANDS[kind]],
        cwd=REPOSITORY,
        env=clean | {"SSI_ROOT": str(root)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def kill_all_of(root):
    """Kill every process of a root; servers outlive their command for a moment."""
    for process in psutil.process_iter():
        try:
            if process.environ().get("SSI_ROOT") == str(root):
                process.kill()
        except psutil.Error:
            continue


def is_making(kind, root):
    """Say whether the command has begun to make its database."""
    if kind == "mlflow":
        # The first is where it is made; the second where it was, by an earlier version of ssi.
        return any((root / "mlruns" / name).exists() for name in (".mlflow.db.new", "mlflow.db"))
    return (root / ".ssi" / "prefect" / "prefect.db").exists()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Seconds from the first of its database to its end, of a command that is left alone."""
    seconds = {}

    def measure(kind):
        if kind not in seconds:
            root = tmp_path_factory.mktemp(f"undisturbed-{kind}")
            process = start(kind, root)
            until_making(process, kind, root)
            began = time.monotonic()
            _, log = process.communicate(timeout=300)
            assert process.returncode == 0, log
            seconds[kind] = time.monotonic() - began
        return seconds[kind]

    return measure


def until_making(process, kind, root):
    while not is_making(kind, root) and process.poll() is None:
        time.sleep(0.005)


@pytest.mark.parametrize("number", range(KILLS))
def test_a_root_whose_first_command_was_killed_works(number, undisturbed, tmp_path, capsys):
    kind = list(COMMANDS)[number % len(COMMANDS)]
    draw = random.Random(f"{SEED} {number}")
    seconds = undisturbed(kind)
    for attempt in count():
        root = tmp_path / str(attempt)
        process = start(kind, root)
        until_making(process, kind, root)
        moment = draw.uniform(0, 0.9 * seconds)
        time.sleep(moment)
        if process.poll() is None:
            break
        process.communicate()
        seconds *= 0.8
    kill_all_of(root)
    process.communicate()

    following = start(kind, root)
    _, log = following.communicate(timeout=300)

    assert following.returncode == 0, log[-2000:]
    assert not list((root / "mlruns").glob("*.new*"))
    with capsys.disabled():
        print(f"\nseed {SEED}: {kind}, killed after {moment:.2f} s of {seconds:.2f} s: works")
