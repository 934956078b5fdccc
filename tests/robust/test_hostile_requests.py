"""Requests that a page of another site, or a proxy that was led astray, sends to a service."""

import asyncio
import socket
import threading
import time

import pytest
import uvicorn

from flows.serve.guard import Guard
from flows.serve.protocol import PatientProtocol
from flows.servers.server import free_port
from tests.robust.tally import attempt

pytestmark = pytest.mark.hostile("requests")


def answer_to(method, **headers):
    """Status of the answer of a guard to a request."""
    said = []

    async def passed(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive():
        return {"type": "http.request", "body": b""}

    async def send(message):
        said.append(message)

    fields = {"host": "127.0.0.1:8000", **{n.replace("_", "-"): v for n, v in headers.items()}}
    encoded = [(name.encode(), value.encode()) for name, value in fields.items()]
    asked = {"type": "http", "method": method, "path": "/", "scheme": "http", "headers": encoded}
    with attempt() as seen:
        asyncio.run(Guard(passed, {}, together=10)(asked, receive, send))
        return seen.status(said[0]["status"])


@pytest.mark.parametrize("method", ["DELETE", "POST", "PUT", "PATCH", "OPTIONS", "TRACE"])
@pytest.mark.parametrize("site", ["cross-site", "same-site", "unheard-of"])
def test_what_changes_something_is_refused_to_pages_of_others(method, site):
    """A browser says who asks, where it says no origin."""
    assert answer_to(method, sec_fetch_site=site) == 403


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_what_changes_nothing_may_be_linked_to(method):
    assert answer_to(method, sec_fetch_site="cross-site") == 200


@pytest.mark.parametrize("headers", [{}, {"sec_fetch_site": "none"}])
def test_a_program_and_a_person_may_change_something(headers):
    assert answer_to("DELETE", **headers) == 200


def test_the_own_page_may_change_something_and_a_foreign_origin_may_not():
    own = {"sec_fetch_site": "same-origin", "origin": "http://127.0.0.1:8000"}
    assert answer_to("DELETE", **own) == 200
    assert answer_to("DELETE", **own | {"origin": "http://somebody.example"}) == 403
    assert answer_to("DELETE", **own | {"sec_fetch_site": "cross-site"}) == 403


@pytest.fixture
def said_to():
    """Send bytes to a server, and return all that it says until it closes."""
    passed = []

    async def app(scope, receive, send):
        passed.append((scope["method"], scope["path"]))
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    port = free_port()
    config = uvicorn.Config(
        Guard(app, {("POST", "/match"): 1000}, together=1000), port=port, log_config=None,
        lifespan="off", http=PatientProtocol, timeout_keep_alive=1,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)

    def send(content):
        with attempt() as seen:
            with socket.create_connection(("127.0.0.1", port), 10) as connection:
                connection.sendall(content)
                said = b"".join(iter(lambda: connection.recv(65_536), b""))
            seen.status(int(said.split()[1]))
        return said, passed

    yield send
    server.should_exit = True
    thread.join(30)


HIDDEN = b"DELETE /documents?id=d0 HTTP/1.1\r\nHost: a\r\n\r\n"
HEAD = b"POST /match HTTP/1.1\r\nHost: a\r\n"
CHUNKED, LENGTH = b"Transfer-Encoding: chunked\r\n", b"Content-Length: %d\r\n"


@pytest.mark.parametrize(
    "fields", [CHUNKED + LENGTH, LENGTH + CHUNKED, LENGTH + CHUNKED.lower()], ids=len
)
def test_a_body_of_two_lengths_is_refused_with_what_is_hidden_in_it(fields, said_to):
    body = b"0\r\n\r\n" + HIDDEN
    said, passed = said_to(HEAD + fields % len(body) + b"\r\n" + body)
    assert said.startswith(b"HTTP/1.1 400 ")
    assert b"the body has one length" in said
    assert said.count(b"HTTP/1.1") == 1
    assert passed == []


@pytest.mark.parametrize("fields", [b"Content-Length: 2\r\n", CHUNKED], ids=len)
def test_a_body_of_one_length_is_passed_on(fields, said_to):
    body = b"{}" if fields != CHUNKED else b"2\r\n{}\r\n0\r\n\r\n"
    said, passed = said_to(HEAD + b"Connection: close\r\n" + fields + b"\r\n" + body)
    assert said.startswith(b"HTTP/1.1 200 ")
    assert passed == [("POST", "/match")]
