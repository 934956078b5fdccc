"""Work spread over processes, in order, with a bounded number of items in flight.

Workers end when their parent does, however it ends: nobody writes after it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import chain, islice
from typing import TypeVar

from ssi_core.types import Refused

Item = TypeVar("Item")
Result = TypeVar("Result")
Told = TypeVar("Told")


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Let processes that start now use one thread of polars each: they share the cores."""
    name = "POLARS_MAX_THREADS"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _end_with_parent() -> None:
    # Of a signal to the whole group (Ctrl-C, the end of a service) the parent thinks for all: a
    # process that ended by itself would be taken for one that died for want of memory.
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_outlive, args=(parent,), daemon=True).start()


def _outlive(parent: multiprocessing.process.BaseProcess) -> None:
    parent.join()
    os._exit(1)


def spread(
    function: Callable[[Item, Told], Result], items: Iterable[Item], told: Told, processes: int
) -> Iterator[Result]:
    """Yield ``function(item, told)`` for each item, in order.

    Items are taken as workers need them, at most two for each process ahead. A single item, or one
    process, is worked on here, without a pool. Processes are spawned, so ``function`` must be
    importable.

    Raises
    ------
    Refused
        A process died without an error of its own: mostly for want of memory.
    """
    iterator = iter(items)
    first = list(islice(iterator, 2))
    if processes == 1 or len(first) < 2:
        for item in chain(first, iterator):
            yield function(item, told)
        return
    context = multiprocessing.get_context("spawn")
    waiting: deque[Future[Result]] = deque()
    with ProcessPoolExecutor(processes, context, _end_with_parent) as executor:
        try:
            with _one_thread_each():
                waiting.append(executor.submit(function, first[0], told))
            for item in chain(first[1:], iterator):
                waiting.append(executor.submit(function, item, told))
                if len(waiting) >= 2 * processes:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise Refused(
                f"a worker process died, probably for want of memory; use fewer than {processes} "
                "processes, or smaller parts."
            ) from None
        finally:
            executor.shutdown(cancel_futures=True)
