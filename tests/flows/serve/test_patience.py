"""Requests that are sent in halves, or too many large ones at a time; HEAD."""

import asyncio
import contextlib
import select
import socket
import threading
import time

import pytest
import uvicorn

from flows.serve.guard import Guard
from flows.serve.protocol import PatientProtocol
from flows.servers.server import free_port
from tests.robust.tally import attempt

WHOLE = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


async def _answer(scope, receive, send):
    body = b""
    while (message := await receive()).get("more_body"):
        body += message["body"]
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


async def _refuse(scope, receive, send):
    await send({"type": "http.response.start", "status": 413, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@contextlib.contextmanager
def connected(app, patience, reading=30.0):
    """A connection to a server in a thread that waits so many seconds for a head, or a reader."""
    port = free_port()
    limits = {"patience": patience, "reading": reading}
    protocol = type("PatientProtocol", (PatientProtocol,), limits)
    config = uvicorn.Config(
        app, port=port, log_config=None, lifespan="off", http=protocol, timeout_keep_alive=20
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        with socket.create_connection(("127.0.0.1", port), 10) as connection:
            yield connection
    finally:
        server.should_exit = True
        thread.join(30)


def last_words(connection):
    """All that a server sends until it closes."""
    said = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65_536):
            said += part
    return said


@pytest.mark.parametrize("sent", [b"", b"G", WHOLE[:-2], WHOLE + WHOLE[:-1]])
def test_a_head_that_is_not_finished_ends_its_connection(sent):
    with connected(_answer, 0.2) as connection:
        connection.sendall(sent)
        said = last_words(connection)
    if not sent:
        assert said == b""
    else:
        assert b"408 Request Timeout" in said
        assert said.endswith(b'"msg":"no whole head in 0.2 s","type":"slow"}]}')
    assert said.count(b"200 OK") == sent.count(b"\r\n\r\n")


def test_a_head_byte_by_byte_gains_no_time():
    with connected(_answer, 0.3) as connection, contextlib.suppress(OSError):
        for position in range(200):
            connection.sendall(b"GET / HTTP/1.1\r\nX: "[position : position + 1] or b"x")
            time.sleep(0.02)
        pytest.fail("the connection was kept")


def test_the_rest_of_a_refused_body_is_not_waited_for():
    with connected(_refuse, 0.2) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99\r\n\r\nx")
        assert b"413" in last_words(connection)


@pytest.mark.hostile("requests")
def test_an_answer_that_is_not_read_ends_its_connection():
    gone = threading.Event()

    async def large(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(1000):
            await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})
        gone.set()

    with attempt(seconds=60), connected(large, 30, reading=0.3) as connection:
        connection.sendall(WHOLE)
        # Nothing is read: all that the application sends is in the way of its end.
        assert gone.wait(20)
        read = sum(map(len, iter(lambda: _read(connection), b"")))
    assert read < 100 << 20


@pytest.mark.hostile("requests")
def test_who_reads_byte_by_byte_keeps_nobody_waiting_and_gains_no_time():
    gone = threading.Event()

    async def app(scope, receive, send):
        if scope["path"] == "/":
            return await _answer(scope, receive, send)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(1000):
            await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})
        gone.set()

    with attempt(seconds=60), connected(app, 30, reading=1) as connection:
        connection.sendall(WHOLE.replace(b"/", b"/large", 1))
        assert connection.recv(1)
        with socket.create_connection(connection.getpeername(), 10) as other:
            other.sendall(WHOLE)
            assert other.recv(1000).startswith(b"HTTP/1.1 200")
        assert not gone.is_set()
        while not gone.wait(0.05):
            with contextlib.suppress(ConnectionResetError):
                connection.recv(1)


def _read(connection):
    with contextlib.suppress(ConnectionResetError):
        return connection.recv(1 << 18)
    return b""


@pytest.mark.hostile("requests")
def test_an_answer_that_is_read_may_take_longer_than_that():
    async def large(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": bytes(64 << 20), "more_body": True})
        # It is sent when all before it has been.
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        await asyncio.sleep(1)
        await send({"type": "http.response.body", "body": bytes(1 << 20)})

    with connected(large, 30, reading=0.5) as connection:
        connection.sendall(WHOLE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        read = 0
        while part := _read(connection):
            read += len(part)
            # So that all of it takes longer than the limit, but no part of it does.
            select.select([], [], [], 0.005)
        assert read > 65 << 20


def test_a_whole_request_is_not_hurried():
    async def slow(scope, receive, send):
        await asyncio.sleep(0.7)
        await _answer(scope, receive, send)

    # So long that a busy machine sends both parts of the head in time.
    with connected(slow, 0.6) as connection:
        for idle in (0.7, 0.0):
            connection.sendall(WHOLE[:9])
            connection.sendall(WHOLE[9:])
            answer = b""
            while not answer.endswith(b"\r\n\r\nok"):
                part = connection.recv(65_536)
                assert part
                answer += part
            assert b"200 OK" in answer
            # An idle connection is kept for the next request.
            time.sleep(idle)


def test_bodies_held_at_once_are_bounded_together():
    statuses, entered, leave = [], asyncio.Event(), asyncio.Event()

    async def app(scope, receive, send):
        await receive()
        entered.set()
        await leave.wait()
        await _answer(scope, receive, send)

    guard = Guard(app, limits={("POST", "/"): 10}, together=15)

    def request(*parts):
        sent = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
        sent[-1]["more_body"] = False

        async def receive():
            return sent.pop(0) if sent else {"type": "http.disconnect"}

        async def send(message):
            if message["type"] == "http.response.start":
                headers = {name: value for name, value in message["headers"]}
                statuses.append((message["status"], headers.get(b"retry-after")))

        scope = {"type": "http", "method": "POST", "path": "/", "scheme": "http", "headers": []}
        return guard(scope, receive, send)

    async def run():
        first = asyncio.create_task(request(b"x" * 8))
        await entered.wait()
        await request(b"x" * 4, b"x" * 4)
        await request(b"x" * 11)
        leave.set()
        await request(b"x" * 7)
        await first
        await request(b"x" * 10)

    asyncio.run(run())
    assert statuses == [(503, b"1"), (413, None), (200, None), (200, None), (200, None)]
