import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from ssi_core import locks
from ssi_core.types import Refused

HOLD = """
import sys, time
from pathlib import Path
from ssi_core import locks
with locks.shared(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_the_system_lets_go_of_a_file_for_a_process_that_is_killed(tmp_path):
    path = tmp_path / "below" / "file"
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdout=subprocess.PIPE,
        cwd=Path(locks.__file__).parents[1],
    )
    with process:
        assert process.stdout.readline() == b"held\n"
        with locks.shared(path) as file:
            assert not locks.take(file)
            process.send_signal(signal.SIGKILL)
            process.wait()
            assert locks.take(file)


def test_a_turn_waits_for_the_one_before(tmp_path):
    order, path = [], tmp_path / "turn"

    def second():
        with locks.turn(path):
            order.append("second")

    with locks.turn(path):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.2)
        order.append("first")
    thread.join(10)
    assert order == ["first", "second"]


def test_a_file_is_held_by_one_and_goes_with_it(tmp_path):
    path = tmp_path / "lock"
    other = locks.alone(path, "the table")
    with (
        locks.alone(path, "the table"),
        pytest.raises(Refused, match=r"the table is being written by process \d+\. Wait"),
    ):
        other.__enter__()
    assert not path.exists()
    with locks.alone(path, "the table"):
        pass
