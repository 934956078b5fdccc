"""Guard of requests: they must be small, complete in time, and from the service's own page."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Heads:
    """Answer HEAD as GET is answered, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, HEAD as GET."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def without_body(message: Message) -> None:
            await send({**message, "body": b""} if "body" in message else message)

        request = {**scope, "method": "GET"}
        try:
            await self._app(request, receive, without_body)
        finally:
            if "route" in request:
                scope["route"] = request["route"]


class _Body:
    """The parts of a body that are here."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0


class Guard:
    """Refuse large and slow bodies, those of two lengths, and what the page of another site asks.

    Parameters
    ----------
    limits : mapping
        Method and path -> bytes of a body; of any other request there is none.
    together : int
        Bytes of the bodies of all requests that are not answered yet.
    patience : float
        Seconds in which a body must be here.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: Mapping[tuple[str, str], int],
        together: int,
        patience: float = 30.0,
    ) -> None:
        self._app, self._limits = app, limits
        self._together, self._patience = together, patience
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its whole body, or answer it with 4xx or 503."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = _refusal_of_head(scope)
        if refused is not None:
            await refused(scope, receive, send)
            return
        body = _Body()
        try:
            most = self._limits.get((scope["method"], scope["path"]), 0)
            length = Headers(scope=scope).get("content-length", "")
            refusal = await self._read(body, receive, most, length)
            if refusal is not None:
                body.parts.clear()
                await refusal(scope, receive, send)
            else:
                await self._app(scope, _replay(body.parts, receive), send)
        finally:
            self._held -= body.size

    async def _read(
        self, body: _Body, receive: Receive, most: int, length: str
    ) -> JSONResponse | None:
        """Read a body of at most so many bytes, or return an error."""
        more = True
        if length.isdecimal() and int(length) > most:
            return _too_large(most)
        try:
            async with asyncio.timeout(self._patience):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        break
                    part = message.get("body", b"")
                    body.parts.append(part)
                    body.size += len(part)
                    self._held += len(part)
                    if body.size > most:
                        return _too_large(most)
                    if self._held > self._together:
                        return _busy()
                    more = message.get("more_body", False)
        except TimeoutError:
            return problem(408, "slow", f"no whole body in {self._patience:g} s")
        return None


def _too_large(most: int) -> JSONResponse:
    said = f"more than the {most} bytes of this request" if most else "one, and this request none"
    return problem(413, "too_large", f"the body has {said}")


_HOSTS = ("127.0.0.1", "localhost")
_SAFE = ("GET", "HEAD")
_OWN_SITES = ("same-origin", "none")
"""Who asks, in the words of browsers: a page of the service, or the person."""


def _refusal_of_head(scope: Scope) -> JSONResponse | None:
    """Return an error if the head of the request is enough to refuse it."""
    headers = Headers(scope=scope)
    if "content-length" in headers and "transfer-encoding" in headers:
        # A proxy may go by the one where we go by the other, and take a body for a request.
        message = "Content-Length and Transfer-Encoding: the body has one length"
        answer = problem(400, "length", message, "request")
        answer.headers["Connection"] = "close"
        return answer
    if scope["method"] in _SAFE:
        return None
    own_origin = f"{scope['scheme']}://{headers.get('host')}"
    origin = headers.get("origin", own_origin)
    if origin != own_origin:
        return problem(403, "origin", f"asked by {origin}, not by {own_origin}")
    site = headers.get("sec-fetch-site", "none")
    if site not in _OWN_SITES:
        return problem(403, "origin", f"asked by a page that is {site}, not by {own_origin}")
    return None


class OwnHosts:
    """Middleware that answers what is asked of this machine by its name, and nothing else."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with 400."""
        if scope["type"] == "http":
            host = Headers(scope=scope).get("host", "").partition(":")[0]
            if host not in _HOSTS:
                message = f"host {host!r}: the service is asked as {' or '.join(_HOSTS)}"
                await problem(400, "host", message, "request")(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _busy() -> JSONResponse:
    answer = problem(503, "busy", "too many large requests at a time")
    answer.headers["Retry-After"] = "1"
    return answer


def problem(status: int, kind: str, message: str, location: str = "body") -> JSONResponse:
    """Return the answer that says what is wrong, in the form of every such answer."""
    # What was sent may hold half a surrogate pair, which no answer can.
    message = message.encode(errors="replace").decode()
    detail = [{"loc": [location], "msg": message, "type": kind}]
    return JSONResponse({"detail": detail}, status)


def _replay(parts: list[bytes], receive: Receive) -> Receive:
    left: list[Message] = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]
    parts.clear()

    async def replayed() -> Message:
        return left.pop() if left else await receive()

    return replayed
