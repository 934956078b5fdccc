"""What the verbs that start servers say."""

import sys
from contextlib import ExitStack
from types import SimpleNamespace

import pytest

from flows.commands.services import _Servers
from flows.servers import access

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


def test_the_secret_is_shown_on_a_terminal_and_nowhere_else(servers, capsys, monkeypatch):
    ours = servers()
    ours.prefect = SimpleNamespace(name="Prefect", address="http://127.0.0.1:4200/dashboard")
    capsys.readouterr()
    ours.announce(ours.prefect)
    text = capsys.readouterr().err
    assert f"Prefect: log in with what {access.secret_file()} says" in text
    assert access.secret().split(":")[1] not in text
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    ours.announce(ours.prefect)
    assert f"Prefect: log in with {access.secret()}\n" in capsys.readouterr().err
