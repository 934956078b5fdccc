"""HTTP of uvicorn, with a time limit on what it waits for without one: heads, and readers."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from flows.serve.guard import problem

HEAD_SECONDS = 10.0
"""Seconds in which the head of a request must be whole, be it sent byte by byte."""


READ_SECONDS, READ_BYTES = 30.0, 64 << 10
"""Seconds in which a client must read so many bytes of an answer that waits to be sent."""


class PatientProtocol(H11Protocol):
    """Close a connection that does not finish the head of a request, or a body that was refused.

    uvicorn closes a connection that is idle after an answer, and no other: one that sends a byte
    of a head from time to time would be kept for ever, and so would one that does not read its
    answer. A body that is wanted is the concern of `guard.Guard`.
    """

    patience = HEAD_SECONDS
    reading = READ_SECONDS

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._limit: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout for the head of a request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take in what came, and go on waiting if more must come."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Start the timeout for the rest of a request; uvicorn waits for the next one."""
        super().on_response_complete()
        if self.conn.our_state is h11.DONE or self.conn.trailing_data[0]:
            self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop()
        self.resume_writing()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the timeout for the client to read."""
        super().pause_writing()
        self._expect(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Stop the timeout, because the client has read."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _expect(self, unread: int) -> None:
        self._unread = self.loop.call_later(self.reading, self._look, unread)

    def _look(self, unread: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left > unread - READ_BYTES:
            self.transport.abort()
        else:
            self._expect(left)

    def timeout_keep_alive_handler(self) -> None:
        """Close an idle connection, also one that has not read its last answer."""
        super().timeout_keep_alive_handler()
        self.loop.call_later(self.reading, self.transport.abort)

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE and self.conn.our_state is not h11.DONE:
            self._stop()
        elif self._limit is None:
            self._limit = self.loop.call_later(self.patience, self._end)

    def _stop(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _end(self) -> None:
        if self.transport.is_closing():
            return
        if self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
            answer = problem(408, "slow", f"no whole head in {self.patience:g} s", "request")
            head = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n"
            fields = "".join(f"{name}: {value}\r\n" for name, value in answer.headers.items())
            self.transport.write(f"{head}{fields}\r\n".encode() + bytes(answer.body))
        self.transport.close()
        self.loop.call_later(self.reading, self.transport.abort)
