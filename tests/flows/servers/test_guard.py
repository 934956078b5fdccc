"""The Prefect server that we start, and what a page in the user's browser can do to it."""

import base64
import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import psutil
import pytest

from flows import environment
from flows.servers import access, login
from flows.servers.server import HOST, Server, free_port, server_command
from tests.flows import hostile
from tests.flows.browser import CHROMIUM, Browser
from tests.flows.machine import wait_for

pytestmark = pytest.mark.slow
in_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium")

REPOSITORY = Path(__file__).parents[3]
FOREIGN = "http://somebody.example"


@pytest.fixture(scope="module")
def clean():
    """No setting of the user, and none of another test."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("SSI_", "PREFECT_", "MLFLOW_")):
                patch.delenv(name)
        patch.setattr("flows.servers.server.chosen_url", lambda: "")
        yield patch


@pytest.fixture(scope="module")
def guarded(clean, tmp_path_factory):
    """A server as every command of ours starts it."""
    clean.setenv("SSI_ROOT", str(tmp_path_factory.mktemp("guarded")))
    with Server() as server:
        server.wait()
        yield server


@pytest.fixture(scope="module")
def unguarded(tmp_path_factory):
    """A server as Prefect starts it by itself; its address."""
    root, port = tmp_path_factory.mktemp("unguarded"), free_port()
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SSI_", "PREFECT_"))}
    variables = {**clean, "SSI_ROOT": str(root), "PREFECT_HOME": str(root / "prefect")}
    with (root / "log").open("wb") as log:
        process = subprocess.Popen(
            server_command(port), env=variables, stdout=log, stderr=log, start_new_session=True
        )
    url = f"http://{HOST}:{port}/api"
    try:
        wait_for(lambda: httpx.get(f"{url}/health").is_success, 180)
        yield url, variables
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


def authorization():
    """Header of a client that knows the secret."""
    token = base64.b64encode(access.secret().encode()).decode()
    return {"Authorization": f"Basic {token}"}


def csrf_token(url):
    """Headers with a token against forgery."""
    asked = {"params": {"client": "me"}, "headers": authorization()}
    token = httpx.get(f"{url}/csrf-token", **asked).json()["token"]
    return {"Prefect-Csrf-Token": token, "Prefect-Csrf-Client": "me"}


def prefect(*arguments, **variables):
    """Run a command of Prefect as a person does; return what it says."""
    done = subprocess.run(
        [sys.executable, "-m", "flows.environment", sys.executable, "-m", "prefect", *arguments],
        env={**os.environ, **variables},
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_page_of_another_origin_is_refused_before_it_sends_anything(guarded):
    asked = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    for path in ("deployments/", "flow_runs/filter", "csrf-token"):
        answer = httpx.options(f"{guarded.url}/{path}", headers={"Origin": FOREIGN, **asked})
        assert answer.status_code == 400
        assert "access-control-allow-origin" not in answer.headers
    own = guarded.url.removesuffix("/api")
    answer = httpx.options(f"{guarded.url}/deployments/", headers={"Origin": own, **asked})
    assert answer.headers["access-control-allow-origin"] == own


def test_no_name_of_the_host_opens_it_without_the_secret(guarded, unguarded):
    """A name of the attacker's that means 127.0.0.1 makes his page one of the server's origin."""
    host = {"Host": "somebody.example"}
    # So that it is the secret that refuses, not the token.
    token = csrf_token(guarded.url)
    for url, code in ((guarded.url, 401), (unguarded[0], 200)):
        read = httpx.get(f"{url}/admin/settings", headers=host)
        listed = httpx.post(f"{url}/flow_runs/filter", json={}, headers=host | token)
        assert (read.status_code, listed.status_code) == (code, code)
    written = httpx.post(f"{guarded.url}/flows/", json={"name": "x"}, headers=host | token)
    assert written.status_code == 401
    forged = httpx.get(f"{guarded.url}/csrf-token", params={"client": "me"}, headers=host)
    assert forged.status_code == 401


def test_a_request_that_changes_something_needs_a_token_besides(guarded):
    headers = authorization()
    refused = httpx.post(f"{guarded.url}/flows/", json={"name": "forged"}, headers=headers)
    assert refused.status_code == 403
    assert "CSRF" in refused.text
    wrong = {"Prefect-Csrf-Token": "x", "Prefect-Csrf-Client": "y"}
    refused = httpx.post(f"{guarded.url}/flows/", json={"name": "forged"}, headers=headers | wrong)
    assert refused.status_code == 403


def test_commands_of_prefect_know_the_secret_and_those_of_others_do_not(guarded):
    code, text = prefect("flow", "ls")
    assert code == 0, text
    elsewhere = {"SSI_ROOT": os.environ["SSI_ROOT"] + "-other", "PREFECT_API_URL": guarded.url}
    code, text = prefect("flow", "ls", **elsewhere)
    assert code != 0
    assert "401" in text


def test_a_root_has_one_server(guarded):
    code, text = prefect("server", "start", "--port", str(free_port()))
    assert code == 4
    assert f"a Prefect server of this root runs at {guarded.url}" in text


def content(file):
    """Bytes of a file; none of one that the server has removed meanwhile."""
    with contextlib.suppress(FileNotFoundError):
        return file.read_bytes()
    return b""


def test_the_secret_is_on_no_command_line_and_in_no_file_but_its_own(guarded):
    password = access.secret().split(":")[1].encode()
    lines = [" ".join(p.info["cmdline"] or []) for p in psutil.process_iter(["cmdline"])]
    assert any("server start" in line for line in lines)
    assert not any(password.decode() in line for line in lines)
    files = [path for path in environment.root().rglob("*") if path.is_file()]
    assert len(files) > 3
    token = base64.b64encode(access.secret().encode())
    holding = {f for f in files for word in (password, token) if word in content(f)}
    assert holding == {access.secret_file()}


@in_browser
def test_the_page_of_the_server_asks_for_the_secret_and_takes_it(guarded):
    with Browser() as browser:
        browser.open(guarded.address)
        # Each answer that refuses draws the page again, with an empty field.
        asks = "document.querySelector('input[type=password]')?.value === ''"

        def inside():
            if browser.run(asks):
                browser.run("document.querySelector('input[type=password]').focus()")
                browser.type(access.secret())
                browser.run("document.querySelector('form button')?.click()")
            return browser.run("document.body.innerText.includes('Run a task or flow')")

        browser.wait(asks)
        assert not browser.run("document.body.innerText.includes('Run a task or flow')")
        browser.until(inside, "the dashboard")


@in_browser
def test_the_link_logs_in_and_no_message_in_red_comes(guarded):
    with Browser() as browser:
        browser.open(login.link(guarded.address))
        browser.wait("document.body.innerText.includes('Run a task or flow')")
        assert not browser.run("document.body.innerText.includes('Authentication failed')")
        assert not browser.run("document.body.innerText.includes('Oops')")
        assert access.secret() not in browser.address()


def things(url):
    """Names of the deployments and variables that a server has."""
    from prefect.client.orchestration import get_client
    from prefect.settings import (
        PREFECT_API_AUTH_STRING,
        PREFECT_API_URL,
        temporary_settings,
    )

    settings = {PREFECT_API_URL: url, PREFECT_API_AUTH_STRING: access.secret()}
    with temporary_settings(settings), get_client(sync_client=True) as client:
        found = client.read_deployments()
        variables = client.request("POST", "/variables/filter", json={}).json()
        return {one.name for one in found} | {one["name"] for one in variables}


def attacked(url, file):
    """What a page of another origin could do, as the page sees it."""
    with hostile.page() as address, Browser() as browser:
        browser.open(address)
        return browser.run(f"attack({url!r}, {str(file)!r})")


@in_browser
def test_a_hostile_page_makes_prefects_own_server_run_a_command(unguarded, tmp_path):
    """The attack works, or the next test would show nothing."""
    url, variables = unguarded
    command = [sys.executable, "-m", "prefect"]
    there = {**variables, "PREFECT_API_URL": url}
    pool = ("work-pool", "create", "local-process", "--type", "process")
    subprocess.run([*command, *pool], env=there, check=True, capture_output=True)
    outcomes = attacked(url, tmp_path / "owned")
    assert outcomes["command"] == "done"
    assert {"hostile", "typeless"} <= things(url)
    worker = ("worker", "start", "--pool", "local-process", "--run-once")
    subprocess.run([*command, *worker], env=there, capture_output=True, timeout=120, check=False)
    assert (tmp_path / "owned").exists()


@in_browser
def test_a_hostile_page_changes_nothing_at_ours(guarded, tmp_path):
    outcomes = attacked(guarded.url, tmp_path / "owned")
    assert outcomes["command"] == "refused"
    assert things(guarded.url) == set()
