"""A pool of processes: all work of this library that is spread over processes of a machine.

A worker is a process with a pipe. One that dies (killed, out of memory) fails the job that it had
and is replaced, while the others go on. Workers end when their parent does, however it ends.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, ParamSpec, Self, TypeVar

from ssi_core.garbage import economise
from ssi_core.threads import thread_variables

P = ParamSpec("P")
T = TypeVar("T")

_SPAWN = multiprocessing.get_context("spawn")
_INTERRUPT = signal.SIGUSR1
"""Signal by which a parent interrupts a worker."""


class WorkerDied(RuntimeError):
    """A worker process ended in the middle of a job."""


class _Worker:
    """A process, the pipe to it, and the forms whose kernels it has compiled."""

    def __init__(self, *arguments: Any) -> None:
        self._arguments = arguments
        self.start()

    def start(self) -> None:
        self.forms: set[str] = set()
        self.pipe, theirs = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_work, args=(theirs, *self._arguments), daemon=True)
        self.process.start()
        # The child has the only other end, so that its death is the end of this one.
        theirs.close()

    def interrupt(self) -> None:
        if self.process.pid is not None and self.process.is_alive():
            os.kill(self.process.pid, _INTERRUPT)

    def join(self, grace: float) -> None:
        self.process.join(grace)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class Pool:
    """A fixed number of processes; a job prefers one that has had a job of its form.

    Parameters
    ----------
    processes : int
        Number of processes.
    threads : int
        Threads that BLAS, numba and polars use in each.
    grace : float
        Seconds that an interrupted job has to end before its process is killed.
    prepare : callable
        Function of a module that each process calls first.
    """

    def __init__(
        self,
        processes: int,
        threads: int = 1,
        *,
        grace: float = 0.0,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        if processes < 1 or threads < 1:
            raise ValueError(f"processes={processes}, threads={threads}: expected at least 1")
        self._processes, self._grace = processes, grace
        self._arguments = (threads, grace, prepare)
        self._changed = threading.Condition()
        self._all: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._closed = False

    def __enter__(self) -> Self:
        self._all = [_Worker(*self._arguments) for _ in range(self._processes)]
        self._idle = list(self._all)
        return self

    def __exit__(self, *raised: object) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            busy = [worker for worker in self._all if worker not in self._idle]
        for worker in busy:
            worker.interrupt()
        for worker in self._idle:
            worker.pipe.close()
        for worker in self._all:
            worker.join(self._grace)

    def run(self, form: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a function of a module in an idle worker, wait, and return what it returns.

        Raises
        ------
        WorkerDied
            The process ended before the function did; a new one takes its place.
        """
        worker = self._take(form)
        try:
            worker.pipe.send((function, args, kwargs))
            value, error = worker.pipe.recv()
        except (EOFError, OSError):
            raise self._died(worker, form) from None
        finally:
            self._give(worker, form)
        if error is not None:
            raise error
        result: T = value
        return result

    def _take(self, form: str) -> _Worker:
        with self._changed:
            self._changed.wait_for(lambda: self._idle or self._closed)
            if self._closed:
                raise WorkerDied(f"the workers were ended before this job began ({form})")
            warm = (worker for worker in self._idle if form in worker.forms)
            worker = next(warm, self._idle[0])
            self._idle.remove(worker)
            return worker

    def _give(self, worker: _Worker, form: str) -> None:
        with self._changed:
            worker.forms.add(form)
            self._idle.append(worker)
            self._changed.notify()

    def _died(self, worker: _Worker, form: str) -> WorkerDied:
        worker.join(self._grace)
        code = worker.process.exitcode
        with self._changed:
            if not self._closed:
                worker.start()
        why = "killed, or out of memory?" if code and code < 0 else "see the log"
        return WorkerDied(f"the worker process ended with code {code} ({form}): {why}")


def _work(pipe: Any, threads: int, grace: float, prepare: Callable[[], None] | None) -> None:
    """Do jobs until the pipe is closed."""
    # Of a signal to the whole group (Ctrl-C, the end of a service) the parent thinks for all. No
    # SIG_IGN, which commands that a job starts would inherit.
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, lambda *_: None)
    signal.signal(_INTERRUPT, signal.default_int_handler)
    # Before numpy is imported: a library reads its variable once.
    os.environ.update({**thread_variables(threads), "NUMBA_NUM_THREADS": str(threads)})
    economise()
    threading.Thread(target=_end_with_parent, args=(grace,), daemon=True).start()
    if prepare is not None:
        prepare()
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        while True:
            function, args, kwargs = pipe.recv()
            pipe.send(outcome(function, args, kwargs))


def outcome(function: Any, args: Any, kwargs: Any) -> tuple[Any, Exception | None]:
    """Call a function; return (value, None), or (None, error) with its traceback as a note."""
    try:
        return function(*args, **kwargs), None
    except Exception as error:
        error.add_note("in a worker process:\n" + traceback.format_exc())
        error.__cause__ = error.__context__ = None
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return None, RuntimeError(f"{type(error).__name__}: {error}")
        return None, error


def _end_with_parent(grace: float) -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), _INTERRUPT)
        time.sleep(grace)
        os._exit(1)
