"""What a request must be before anything reads it: small, whole in time, and of our own page."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Guard:
    """Refuse large and slow bodies, and changes that the page of another site asks for.

    Parameters
    ----------
    most : bytes of a body
    patience : seconds in which it must be here
    """

    def __init__(self, app: ASGIApp, most: int, patience: float = 30.0) -> None:
        self._app, self._most, self._patience = app, most, patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its whole body, or answer it with 4xx."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if scope["method"] not in ("GET", "HEAD") and origin is not None:
            own = f"{scope['scheme']}://{headers.get('host')}"
            if origin != own:
                await problem(403, "origin", f"asked by {origin}, not by {own}")(
                    scope, receive, send
                )
                return
        try:
            async with asyncio.timeout(self._patience):
                body = await self._body(receive)
        except TimeoutError:
            await problem(408, "slow", f"no whole body in {self._patience:g} s")(
                scope, receive, send
            )
            return
        if body is None:
            message = f"the body has more than {self._most} bytes"
            await problem(413, "too_large", message)(scope, receive, send)
            return
        await self._app(scope, _replay(body, receive), send)

    async def _body(self, receive: Receive) -> bytes | None:
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                break
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._most:
                return None
            more = message.get("more_body", False)
        return b"".join(parts)


def problem(status: int, kind: str, message: str, place: str = "body") -> JSONResponse:
    """Return the answer that says what is wrong, in the form of every such answer."""
    # What was sent may hold half a surrogate pair, which no answer can.
    message = message.encode(errors="replace").decode()
    detail = [{"loc": [place], "msg": message, "type": kind}]
    return JSONResponse({"detail": detail}, status)


def _replay(body: bytes, receive: Receive) -> Receive:
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return left.pop() if left else await receive()

    return replayed
