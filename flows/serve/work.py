"""Threads for what takes the processor, and questions that share one pass over the documents.

A search reads the vectors of all documents, be it of one question or of many. Questions that
come while every thread is busy are answered together by the next one that is free; a question that
finds one free is answered at once, alone.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from fastapi import HTTPException, Request

from ssi_core.serving.searcher import Answer, Searcher, shown

_WAITING = 256
_TOGETHER = 64
_LARGE = 64 << 10
"""Bytes of a body that takes as long to parse as a search takes."""
_KEYS = 8
"""Keys of an object: each unknown one would be an error of its own."""

_T = TypeVar("_T")


class _Alike(NamedTuple):
    """Properties that questions share when they are answered together."""

    searcher: Searcher
    k: int
    language: str | None
    popularity: bool
    related: bool


class _Question(NamedTuple):
    text: str
    answer: asyncio.Future[Answer]


class Work:
    """Work for threads, so that the event loop is free; at most 256 pieces of it at a time.

    Parameters
    ----------
    threads : int
        How many.
    """

    def __init__(self, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, "serve")
        # One alone: the event loop has its turn after each object.
        self._parser = ThreadPoolExecutor(1, "parse")
        # Writes follow one another, and wait for a disk: no search is to wait behind them.
        self._writer = ThreadPoolExecutor(1, "write")
        self._pieces = 0
        self._turn = threading.Lock()
        self._questions: dict[_Alike, list[_Question]] = {}

    async def __call__(self, function: Callable[[], _T]) -> _T:
        """Return what a function returns.

        Raises
        ------
        HTTPException
            429: too many pieces of work wait.
        """
        with self._counted():
            return await asyncio.get_running_loop().run_in_executor(self._threads, function)

    async def write(self, function: Callable[[], _T]) -> _T:
        """Return what a function returns that changes the documents, after those before it.

        Raises
        ------
        HTTPException
            429: there are too many.
        """
        with self._counted():
            return await asyncio.get_running_loop().run_in_executor(self._writer, function)

    async def parse(self, body: bytes) -> Any:
        """Return what JSON says; a large body is parsed in a thread, one at a time.

        Raises
        ------
        HTTPException
            422: an object has more keys than any request.
        """
        if len(body) < _LARGE:
            return _parsed(body)
        return await asyncio.get_running_loop().run_in_executor(self._parser, _parsed, body)

    async def search(
        self,
        searcher: Searcher,
        text: str,
        k: int,
        language: str | None = None,
        popularity: bool = True,
        related: bool = False,
    ) -> Answer:
        """Return `Searcher.search` of one text, together with others that are asked alike.

        The scores are those of the text alone, to the bit. Only among documents as good as the
        k-th, to within 1e-6 of its score, can others be found.
        """
        loop = asyncio.get_running_loop()
        alike = _Alike(searcher, k, language, popularity, related)
        question = _Question(text, loop.create_future())
        with self._counted():
            with self._turn:
                self._questions.setdefault(alike, []).append(question)
            # One call for each question: those that find nothing left to answer end at once.
            self._threads.submit(self._answer, alike, loop)
            return await question.answer

    def end(self) -> None:
        """Wait for all requests that have begun."""
        self._writer.shutdown()
        self._threads.shutdown()
        self._parser.shutdown()

    @contextmanager
    def _counted(self) -> Iterator[None]:
        if self._pieces >= _WAITING:
            raise HTTPException(429, "too many requests at a time", {"Retry-After": "1"})
        self._pieces += 1
        try:
            yield
        finally:
            self._pieces -= 1

    def _answer(self, alike: _Alike, loop: asyncio.AbstractEventLoop) -> None:
        with self._turn:
            waiting = self._questions.pop(alike, [])
            if waiting[_TOGETHER:]:
                self._questions[alike] = waiting[_TOGETHER:]
        if some := waiting[:_TOGETHER]:
            answers = _answers(alike, [question.text for question in some])
            loop.call_soon_threadsafe(_tell, some, answers)


def parsed_by(work: Work) -> type[Request]:
    """Return requests whose JSON a `Work` parses."""

    class Parsed(Request):
        async def json(self) -> Any:
            return await work.parse(await self.body())

    return Parsed


def _parsed(body: bytes) -> Any:
    return json.loads(body, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > _KEYS:
        raise HTTPException(422, f"an object has {len(pairs)} keys, and at most {_KEYS} are read")
    return dict(pairs)


def _answers(alike: _Alike, texts: Sequence[str]) -> list[Answer | Exception]:
    """Answer some texts together, or each by itself if that fails."""
    try:
        how = {"popularity": alike.popularity, "related": alike.related}
        return list(map(shown, alike.searcher.search(texts, alike.k, alike.language, **how)))
    except Exception as error:
        if len(texts) == 1:
            return [error]
        return [answer for text in texts for answer in _answers(alike, [text])]


def _tell(questions: Sequence[_Question], found: Sequence[Answer | Exception]) -> None:
    for question, answer in zip(questions, found, strict=True):
        if question.answer.done():
            continue  # whoever asked has gone
        if isinstance(answer, Exception):
            question.answer.set_exception(answer)
        else:
            question.answer.set_result(answer)
