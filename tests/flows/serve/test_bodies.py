"""Bodies of requests: how large they may be, and where they are parsed."""

import asyncio
import json
import select
import socket
import threading
from typing import Literal

import pytest
from pydantic import BaseModel

from flows.serve import schemas, work
from flows.serve.guard import Guard
from tests.flows.services import TFIDF, Registry, answering, service, write_model
from tests.robust.tally import attempt

pytestmark = pytest.mark.hostile("request bodies")

HEAD = "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{}\r\n\r\n"
SURROGATES = json.dumps({"page": "\U0001f600" * schemas.MOST_TEXT, "k": 1, "model": "served"})
"""The largest page that is taken, with every character in the longest form that JSON has."""


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    path = tmp_path_factory.mktemp("bodies")
    registry = Registry(tfidf=write_model(TFIDF, path / "tfidf"))
    with answering(service(path / "documents.db", registry, "tfidf")) as client:
        yield client


def connection(client):
    return socket.create_connection((client.base_url.host, client.base_url.port), 30)


@pytest.mark.parametrize("path", ["/match", "/search", "/nowhere"])
def test_a_body_that_is_said_to_be_too_large_is_not_waited_for(client, path):
    with attempt() as seen, connection(client) as own:
        own.sendall(HEAD.format(path, f"Content-Length: {15 << 20}").encode())
        assert seen.status(int(own.recv(65_536).split()[1])) == 413


def test_a_body_that_does_not_say_its_size_is_read_up_to_the_limit(client):
    with attempt() as seen, connection(client) as own:
        own.sendall(HEAD.format("/match", "Transfer-Encoding: chunked").encode())
        sent = 0
        while not select.select([own], [], [], 0)[0]:
            own.sendall(b"10000\r\n" + bytes(1 << 16) + b"\r\n")
            sent += 1 << 16
            assert sent < 64 << 20
        assert seen.status(int(own.recv(65_536).split()[1])) == 413


def test_no_part_is_asked_for_behind_the_limit():
    parts, said = [b"x" * 4] * 9, []

    async def receive():
        return {"type": "http.request", "body": parts.pop(), "more_body": bool(parts)}

    async def send(message):
        said.append(message)

    asked = {"type": "http", "method": "POST", "path": "/", "scheme": "http", "headers": []}
    with attempt() as seen:
        asyncio.run(Guard(None, limits={("POST", "/"): 10}, together=99)(asked, receive, send))
        assert seen.status(said[0]["status"]) == 413
    assert len(parts) == 6
    assert b"the body has more than the 10 bytes of this request" in said[1]["body"]
    asyncio.run(Guard(None, limits={}, together=99)(asked, receive, send))
    assert said[2]["status"] == 413
    assert b"the body has one, and this request none" in said[3]["body"]


def test_one_of_several_words_is_as_large_as_the_longest():
    class Several(BaseModel):
        way: Literal["a", "all"]

    class Longer(BaseModel):
        way: Literal["a", "fields"]

    bytes_of_a_letter = len(r"\ud83d\ude00")
    assert schemas.largest(Longer) - schemas.largest(Several) == 3 * bytes_of_a_letter


def test_the_largest_request_of_a_route_is_taken(client):
    assert len(SURROGATES) <= schemas.largest(schemas.Page) < len(SURROGATES) + 1000
    headers = {"content-type": "application/json"}
    for more, status in (("", 200), (" " * 1000, 413)):
        with attempt() as seen:
            answer = client.post("/match", content=SURROGATES + more, headers=headers)
            assert seen.status(answer.status_code) == status
    documents = [{"id": f"d{n}", "title": "", "text": "car " * 5000} for n in range(200)]
    assert client.post("/documents", json={"documents": documents}).status_code == 200


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_request_without_a_body_has_none(client, method):
    path = {"GET": "/search?q=car", "DELETE": "/documents?id=none"}[method]
    assert client.request(method, path).status_code == 200
    with attempt() as seen:
        assert seen.status(client.request(method, path, json={}).status_code) == 413


def test_large_bodies_are_parsed_beside_the_event_loop(client, monkeypatch):
    threads = []

    def noted(pairs):
        threads.append(threading.current_thread().name)
        return dict(pairs)

    monkeypatch.setattr(work, "_object", noted)
    for size in (10, 100_000):
        assert client.post("/match", json={"page": "x" * size}).status_code == 200
    assert threads[1] == "parse_0" != threads[0]


def test_wrong_requests_of_many_parts_have_short_answers(client):
    many = {f"key{n}": n for n in range(100_000)}
    with attempt() as seen:
        answer = client.post("/match", json={"page": "car", **many})
        assert seen.status(answer.status_code) == 422
    assert answer.json()["detail"] == [
        {
            "loc": ["request"],
            "msg": "an object has 100001 keys, and at most 8 are read",
            "type": "http",
        }
    ]
    wrong = [{"a": 1, "b": 2}] * schemas.MOST_AT_ONCE
    with attempt() as seen:
        answer = client.post("/documents", json={"documents": wrong})
        assert seen.status(answer.status_code) == 422
    assert len(answer.json()["detail"]) == 100
