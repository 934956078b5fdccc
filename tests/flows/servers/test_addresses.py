import pytest

from flows.servers import addresses
from flows.servers.server import free_port
from flows.tracking import database
from ssi_core.types import Refused


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("postgresql://me:a%2Fb@host:5432/mlflow", "postgresql://me:***@host:5432/mlflow"),
        ("https://me:secret@host/path?x=1", "https://me:***@host/path?x=1"),
        ("postgresql://me@host/mlflow", "postgresql://me@host/mlflow"),
        ("sqlite:////root/mlruns/mlflow.db", "sqlite:////root/mlruns/mlflow.db"),
        ("http://127.0.0.1:5000", "http://127.0.0.1:5000"),
    ],
)
def test_an_address_is_shown_without_its_password(address, said):
    assert addresses.shown(address) == said


def test_what_does_not_answer_says_why_in_a_line():
    port = free_port()
    for address in (
        f"http://127.0.0.1:{port}",
        f"postgresql://me:secret@127.0.0.1:{port}/x",
        f"postgresql+asyncpg://me:secret@127.0.0.1:{port}/x",
        f"nothing://me:secret@127.0.0.1:{port}/x",
    ):
        why = addresses.trouble(address)
        assert why
        assert "\n" not in why
        assert "secret" not in why
    assert addresses.trouble("sqlite:///mlruns/mlflow.db") == ""


def test_a_server_that_stays_away_is_refused_with_the_remedy(monkeypatch, caplog, mlflow_root):
    monkeypatch.setattr(database, "_PATIENCE", 0.2)
    address = f"http://me:secret@127.0.0.1:{free_port()}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    with pytest.raises(Refused, match=r"does not answer at http://me:\*\*\*@.* Start it") as seen:
        database.client()
    assert "secret" not in str(seen.value) + caplog.text
    assert "waiting for MLflow" in caplog.text


def test_a_server_that_comes_back_is_waited_for(monkeypatch):
    said = iter(["no route", "no route", ""])
    monkeypatch.setattr(database, "trouble", lambda address: next(said))
    database._wait_for("http://127.0.0.1:1")
    assert list(said) == []
