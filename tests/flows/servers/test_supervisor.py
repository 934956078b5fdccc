"""Commands that are started and waited for."""

import errno
import socket
import sys

import httpx
import pytest

from flows.servers import supervisor


class Ends(supervisor.Kept):
    """A command that ends at once."""

    name = "a command"

    def __init__(self, log):
        self.log = log

    def begin(self):
        self.start([sys.executable, "-c", "print('no')"], {})
        self.wait()

    def answers(self):
        return False


def test_a_command_that_ends_is_told_of_with_its_log(tmp_path):
    with pytest.raises(RuntimeError, match=r"a command did not start; .*log ends with:\nno"):
        Ends(tmp_path / "log").__enter__()


def test_a_command_that_is_slow_is_told_of_as_slow(tmp_path):
    class Slow(Ends):
        patience = 0.1

        def begin(self):
            self.start([sys.executable, "-c", "import time; time.sleep(60)"], {})
            try:
                self.wait()
            finally:
                self.process.kill()
                self.process.wait()

    with pytest.raises(RuntimeError, match=r"a command did not answer within 0.1 seconds"):
        Slow(tmp_path / "log").__enter__()


def test_a_full_disk_is_said_where_the_log_cannot_say_it(tmp_path, monkeypatch):
    # A stand-in: tests/robust fills the disk below whole commands.
    def full(dir):
        raise OSError(errno.ENOSPC, "No space left on device", str(dir))

    monkeypatch.setattr(supervisor.tempfile, "TemporaryFile", full)
    with pytest.raises(OSError, match="No space left"):
        Ends(tmp_path / "log").__enter__()


def test_a_server_that_does_not_listen_yet_is_sent_no_request(monkeypatch):
    asked = []
    monkeypatch.setattr(httpx, "get", lambda url, **_: asked.append(url) or httpx.Response(200))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/api/health"
        assert not supervisor.answers_at(url)
        assert not asked
        listening.listen()
        assert supervisor.answers_at(url)
        assert asked == [url]
