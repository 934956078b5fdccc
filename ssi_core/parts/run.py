"""Run the parts of a stage where the user says: on this machine, or on a cluster."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any

from ssi_core.parts.stage import Done, Part, Result, Stage
from ssi_core.pool import Pool, WorkerDied
from ssi_core.registry import HOOKS
from ssi_core.types import BadInput, Refused

LOCAL = "local"
_CLUSTER = re.compile(r"dask:((?:tcp|tls)://(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5}))")
_PORTS = range(1, 1 << 16)


def address_of(where: str) -> str | None:
    """Return the address of a cluster's scheduler; None for this machine.

    Raises
    ------
    BadInput
        It is neither ``local`` nor ``dask:`` with an address.

    >>> address_of("dask:tcp://10.0.0.5:8786")
    'tcp://10.0.0.5:8786'
    """
    if where == LOCAL:
        return None
    match = _CLUSTER.fullmatch(where)
    if match is None or int(match[2]) not in _PORTS:
        raise BadInput(
            f"where = {where!r}; expected {LOCAL}, dask:tcp://HOST:PORT or dask:tls://HOST:PORT, "
            "such as dask:tcp://10.0.0.5:8786."
        )
    return match[1]


@contextmanager
def run_parts(
    stage: Stage[Part, Result], parts: Iterable[Part], where: str = LOCAL, *, processes: int = 1
) -> Iterator[Iterator[Done[Part, Result]]]:
    """Open an iterator over finished parts, in the order in which they end.

    Parts are taken as they are needed; where there is none left, they are asked for again when one
    has ended, for what could not be begun before. A part that fails does not end the others:
    `Done.result` raises its error. The end of the block ends what still works.

    Parameters
    ----------
    stage : Stage
        What the parts share.
    parts : iterable
        Descriptions that can be sent to other processes.
    where : str
        ``local`` or the address of a cluster, see `address_of`.
    processes : int
        Processes of ``local``. One, or a single part, is worked on in this process. On a cluster
        there are as many as it has workers.

    Raises
    ------
    BadInput
        ``where`` is no address.
    Refused
        The cluster has no worker, or one that would compute something else; or it went away.
    """
    address = address_of(where)
    if address is None:
        ended = _run_here(stage, parts, processes)
    else:
        ended = HOOKS["cluster"](stage, parts, address)
    # Not left to the collector: an error keeps the frames that it went through.
    with closing(ended):
        yield ended


def _run_here(
    stage: Stage[Part, Result], parts: Iterable[Part], processes: int
) -> Generator[Done[Part, Result], None, None]:
    iterator = iter(parts)
    first = deque(islice(iterator, 2))
    if processes == 1 or len(first) < 2:
        while taken := list(_taken(first, iterator, 1)):
            yield Done(taken[0], _tried(stage.make, taken.pop()))  # it may be large
        return
    # The processes end first, so that no thread waits for one.
    with ThreadPoolExecutor(processes) as threads, Pool(processes) as pool:
        waiting: dict[Future[Result], Part] = {}
        try:
            while True:
                # One more than there are processes, for the first of them that ends.
                for part in _taken(first, iterator, processes + 1 - len(waiting)):
                    waiting[threads.submit(pool.run, stage.name, stage.make, part)] = part
                if not waiting:
                    return
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    done: Done[Part, Result] = Done(
                        waiting.pop(future), _outcome(future, processes)
                    )
                    yield done
                    del done
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def _taken(first: deque[Part], others: Iterator[Part], n: int) -> Iterator[Part]:
    """Yield at most n parts, taking new ones when asked."""
    for _ in range(n):
        if first:
            yield first.popleft()
        else:
            yield from islice(others, 1)


def _tried(make: Callable[[Part], Result], part: Part) -> Result | Exception:
    try:
        return make(part)
    except Exception as error:
        return error


def _outcome(future: Future[Any], processes: int) -> Any:
    try:
        return future.result()
    except WorkerDied:
        return Refused(
            f"a worker process died, probably for want of memory; use fewer than {processes} "
            "processes, or smaller parts."
        )
    except Exception as error:
        return error
