"""What a service counts of its requests, whatever becomes of them."""

import asyncio

import pytest

from flows.serve.metrics import Measured, Metrics


class Nothing:
    """A service without a model."""

    swaps = problems = 0
    models = ()


def counted(app, **scope):
    """Counts after one request to an application."""
    metrics = Metrics(Nothing())
    sent = []

    async def send(message):
        sent.append(message)

    measured = Measured(app, metrics)
    try:
        asyncio.run(measured({"type": "http", "method": "GET", **scope}, None, send))
    except ZeroDivisionError:
        sent.append("broken")
    lines = metrics.text().decode().splitlines()
    return sent, [
        line
        for line in lines
        if line.startswith(("ssi_requests_total", "ssi_request_seconds_count"))
    ]


class Route:
    path = "/search"


def answering(status):
    async def app(scope, receive, send):
        scope["route"] = Route
        await send({"type": "http.response.start", "status": status})
        await send({"type": "http.response.body", "body": b"", "status": 0})

    return app


async def breaking(scope, receive, send):
    raise ZeroDivisionError


@pytest.mark.parametrize("status", [200, 404])
def test_an_answer_is_counted_by_its_route_and_its_status(status):
    sent, lines = counted(answering(status))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    labels = f'method="GET",path="/search",status="{status}"'
    assert lines == [
        f"ssi_requests_total{{{labels}}} 1.0",
        'ssi_request_seconds_count{path="/search"} 1.0',
    ]


def test_one_that_breaks_is_counted_as_an_error_of_the_server():
    """What is no route, and what is no method, has one name: names stay few."""
    sent, lines = counted(breaking, method="BREW")
    assert sent == ["broken"]
    assert lines == [
        'ssi_requests_total{method="other",path="other",status="500"} 1.0',
        'ssi_request_seconds_count{path="other"} 1.0',
    ]


def test_what_is_no_request_is_passed_on_and_not_counted():
    sent, lines = counted(breaking, type="lifespan")
    assert (sent, lines) == (["broken"], [])
