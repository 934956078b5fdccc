"""What the verbs that start servers say."""

import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows.commands.services import _Servers
from flows.servers import access, login

pytestmark = pytest.mark.usefixtures("own_root")


@pytest.fixture
def servers(monkeypatch):
    """Servers that are the user's, so that none is started."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://me:mine@127.0.0.1:1")
    monkeypatch.setattr("flows.tracking.ready", lambda: None)
    monkeypatch.setattr("flows.servers.server.chosen_url", lambda: "http://127.0.0.1:2/api")
    return lambda: _Servers(ExitStack(), 5000, 4200)


def test_servers_of_the_user_are_left_alone(servers, capsys):
    users = servers()
    assert users.pages == []
    assert users.addresses == {
        "mlflow": "http://me:***@127.0.0.1:1",
        "prefect": "http://127.0.0.1:2/api",
    }
    text = capsys.readouterr().err
    assert "Prefect: http://127.0.0.1:2/api (yours; it is left alone)" in text
    assert "MLflow: http://me:***@127.0.0.1:1" in text
    assert not access.secret_file().exists()


def test_a_terminal_alone_shows_the_link_that_logs_in(servers, capsys, monkeypatch):
    ours = servers()
    ours.prefect = SimpleNamespace(name="Prefect", address="http://127.0.0.1:4200/dashboard")
    capsys.readouterr()
    ours._announce(ours.prefect)
    text = capsys.readouterr().err
    assert f"Prefect: log in with what {access.secret_file()} says" in text
    assert access.secret().split(":")[1] not in text
    pages = Path(login.settings()["PREFECT_SERVER_UI_STATIC_DIRECTORY"], "v1")
    pages.mkdir(parents=True)
    ours._announce(ours.prefect)
    assert access.secret().split(":")[1] not in capsys.readouterr().err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    ours._announce(ours.prefect)
    text = capsys.readouterr().err
    assert text == f"Prefect: http://127.0.0.1:4200/enter.html#{access.secret()}\n"
    assert access.secret() not in (pages / "enter.html").read_text()


def test_a_server_with_other_pages_is_logged_in_to_by_hand(servers, capsys, monkeypatch):
    ours = servers()
    ours.prefect = SimpleNamespace(name="Prefect", address="http://127.0.0.1:4200/dashboard")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    capsys.readouterr()
    ours._announce(ours.prefect)
    text = capsys.readouterr().err
    assert f"Prefect: log in with what {access.secret_file()} says" in text
    assert "Prefect: http://127.0.0.1:4200/dashboard" in text
