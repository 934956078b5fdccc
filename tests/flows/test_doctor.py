"""What `ssi ops doctor` says of the Prefect server."""

import http.server
import io
import threading

import polars
import pytest
from rich.console import Console

from flows import environment
from flows.doctor import _servers, examine, show
from flows.servers import access
from flows.servers.access import Running
from flows.servers.processes import own_name

pytestmark = pytest.mark.usefixtures("own_root")


class _Guarded(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        known = (
            self.path.endswith("/health") or self.headers["Authorization"] == "Basic bWU6bWluZQ=="
        )
        self.send_response(200 if known else 401)
        self.end_headers()

    def log_message(self, *said):
        pass


@pytest.fixture
def guarded(monkeypatch):
    """A server that asks for a secret, chosen by the user."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Guarded)
    threading.Thread(target=server.serve_forever).start()
    monkeypatch.setenv("PREFECT_API_URL", f"http://127.0.0.1:{server.server_port}/api")
    yield
    server.shutdown()
    server.server_close()


def examined():
    missing = []
    return _servers(missing)["prefect"], missing


def test_a_server_that_refuses_is_named_with_the_remedy(guarded, monkeypatch):
    found, (line,) = examined()
    assert "reachable" in found
    assert "refuses yours; set PREFECT_API_AUTH_STRING" in line
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "me:mine")
    assert examined()[1] == []


def test_all_that_was_found_is_shown():
    console = Console(file=io.StringIO(), width=200)
    found = examine(environment.root(), environment.home())
    show(found, console)
    lines = [line.split(maxsplit=1) for line in console.file.getvalue().splitlines()]
    shown = {name: rest[0].strip() for name, *rest in lines if rest}
    assert shown.keys() >= {"root", "python", "memory", "disk", *found["versions"]}
    assert shown["ssi"] == found["versions"]["ssi"]
    assert shown["polars"] == polars.__version__


def test_each_address_is_asked_whether_the_others_are_set_or_not(monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:1")
    missing = []
    found = _servers(missing)
    assert found["prefect's database"] == "none configured; the embedded one is used"
    assert found["mlflow"] == "http://127.0.0.1:1: not reachable"
    assert "mlflow at http://127.0.0.1:1 does not answer" in missing[0]


def test_the_server_of_the_root_is_named_and_its_secret_is_not():
    assert "none runs" in examined()[0]
    access.remember(Running("http://127.0.0.1:1/api", own_name(), kept=True))
    found, missing = examined()
    assert "http://127.0.0.1:1/api: this root's" in found
    assert missing == []
    access.secret_file().write_text("ssi:password")
    access.secret_file().chmod(0o644)
    found, (line,) = examined()
    assert f"chmod 600 {access.secret_file()}" in line
    assert "password" not in found + line
