"""Who may call the Prefect server of a root."""

import json
import stat
import threading

import pytest

from flows.servers import access, login
from flows.servers.access import Running
from flows.servers.prefect_command import settings_of
from flows.servers.processes import own_name
from ssi_core.types import Refused

pytestmark = pytest.mark.usefixtures("own_root")

START = ("prefect", "server", "start")
SERVER = "PREFECT_SERVER_API_AUTH_STRING"
CLIENT = "PREFECT_API_AUTH_STRING"


def elsewhere(name):
    """The same process in another container of this machine."""
    where, pid, start = name.rsplit("-", 2)
    return f"{where.rpartition('.')[0]}.1-{pid}-{start}"


def remember(url="http://127.0.0.1:4321/api", keeper=None):
    access.remember(Running(url, keeper or own_name(), kept=True))
    return url


def test_the_secret_is_made_once_and_its_user_alone_reads_it():
    secrets = []
    threads = [threading.Thread(target=lambda: secrets.append(access.secret())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(secrets)) == 1
    assert len(secrets) == 8
    user, password = secrets[0].split(":")
    assert (user, len(password)) == ("ssi", 43)
    file = access.secret_file()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_server_answers_its_own_pages_and_who_knows_the_secret(monkeypatch):
    settings = access.of_server(4200)
    assert settings == {
        SERVER: access.secret(),
        "PREFECT_SERVER_API_CSRF_PROTECTION_ENABLED": "true",
        "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS": "http://127.0.0.1:4200,http://localhost:4200",
    }
    # Prefect knows them by these names.
    from prefect.settings import Settings

    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    api = Settings().server.api
    assert api.auth_string.get_secret_value() == access.secret()
    assert api.csrf_protection_enabled
    assert api.cors_allowed_origins == settings["PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS"]


@pytest.mark.parametrize(
    "command",
    [
        (*START, "--port", "4321"),
        (*START, "--port=4321"),
        ("/bin/prefect", "--no-prompt", "server", "start", "--port", "4321"),
        ("python", "-m", *START, "--host", "127.0.0.1", "--port", "4321"),
    ],
)
def test_a_server_that_is_typed_has_the_secret_and_is_found(command, monkeypatch):
    assert settings_of(command) == {**access.of_server(4321), **login.settings()}
    assert access.running().url == "http://127.0.0.1:4321/api"
    monkeypatch.setenv("PREFECT_SERVER_API_PORT", "4322")
    with pytest.raises(Refused, match=r"a Prefect server of this root runs at .*:4321/api"):
        settings_of(START)


def test_a_server_that_the_user_guards_is_his_own(monkeypatch):
    monkeypatch.setenv(SERVER, "me:mine")
    monkeypatch.setenv("PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS", "http://one")
    assert settings_of(START) == {"PREFECT_SERVER_API_CSRF_PROTECTION_ENABLED": "true"}
    assert access.running() is None


@pytest.mark.parametrize("chosen", ["", "http://127.0.0.1:4321/api", "http://localhost:4321/api/"])
def test_a_client_that_is_typed_calls_the_server_of_the_root(chosen, monkeypatch):
    url = remember()
    # Meant for another server.
    monkeypatch.setenv(CLIENT, "me:mine")
    if chosen:
        monkeypatch.setenv("PREFECT_API_URL", chosen)
    settings = settings_of(["prefect", "worker", "start"])
    assert settings == access.of_client(url)
    assert settings[CLIENT] == access.secret()


@pytest.mark.parametrize("chosen", ["http://127.0.0.1:4322/api", "https://127.0.0.1:4321/api"])
def test_a_server_that_the_user_chose_is_never_sent_the_secret(chosen, monkeypatch):
    remember()
    monkeypatch.setenv("PREFECT_API_URL", chosen)
    assert settings_of(["prefect", "worker", "start"]) == {}
    assert access.running(chosen) is None


def test_nor_is_a_server_that_took_the_place_of_one_that_ended(over, monkeypatch):
    monkeypatch.setattr("flows.servers.prefect_command.PATIENCE", 0)
    url = remember(keeper=over)
    assert access.running() is None
    monkeypatch.setenv("PREFECT_API_URL", url)
    assert settings_of(["prefect", "deploy"]) == {}
    assert settings_of(["prefect", "worker", "start"]) == {}


def test_a_worker_waits_for_a_server_that_is_started_again(over, monkeypatch):
    url = remember(keeper=over)
    monkeypatch.setattr("time.sleep", lambda seconds: remember())
    assert settings_of(["prefect", "worker", "start"]) == access.of_client(url)


def test_without_a_server_prefect_starts_none_that_answers_everybody(capsys):
    for command in (["prefect", "worker", "start"], ["python", "-m", "prefect", "deploy", "--all"]):
        assert settings_of(command) == {"PREFECT_SERVER_EPHEMERAL_ENABLED": "false"}
        assert "ssi up" in capsys.readouterr().err


def test_a_server_of_another_container_is_found_by_its_address_alone():
    url = remember(keeper=elsewhere(own_name()))
    assert access.running() is None
    assert access.running(url).url == url
    remember(keeper="else" + own_name())
    assert access.running(url) is None


def test_other_commands_are_given_no_secret():
    remember()
    assert settings_of(["mlflow", "server"]) == {}
    assert settings_of(["python", "-m", "mlflow", "server"]) == {}


def test_a_damaged_record_is_no_server():
    record = access.secret_file().with_name("server.json")
    record.parent.mkdir(parents=True)
    for text in ("", "[]", json.dumps({"url": "http://127.0.0.1:1/api"})):
        record.write_text(text)
        assert access.running() is None
