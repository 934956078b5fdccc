"""Long-lived worker processes for rows: kernels are compiled once per process, not once per row.

A worker is a process with a pipe. One that dies (killed, out of memory) fails the job that it had
and is replaced, while the others go on. Workers end when their parent does, however it ends.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import pickle
import signal
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from flows import environment
from ssi_core.command.text import TerminalHandler

P = ParamSpec("P")
T = TypeVar("T")

_SPAWN = multiprocessing.get_context("spawn")
_GRACE = 20.0
"""Seconds that an interrupted row has to write down that it was interrupted."""


class WorkerDied(RuntimeError):
    """A worker process ended in the middle of a job."""


class _Worker:
    """A process, the pipe to it, and the forms whose kernels it has compiled."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.start()

    def start(self) -> None:
        self.forms: set[str] = set()
        self.pipe, theirs = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_work, args=(theirs, self.threads), daemon=True)
        self.process.start()
        # The child has the only other end, so that its death is the end of this one.
        theirs.close()

    def interrupt(self) -> None:
        if self.process.pid is not None and self.process.is_alive():
            os.kill(self.process.pid, signal.SIGINT)

    def join(self) -> None:
        self.process.join(_GRACE)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


class Workers:
    """A fixed number of processes; a job prefers one that has had a job of its form.

    Parameters
    ----------
    processes : int
        How many.
    threads : int
        BLAS and numba threads of each.
    """

    def __init__(self, processes: int, threads: int = 1) -> None:
        if processes < 1 or threads < 1:
            raise ValueError(f"processes={processes}, threads={threads}: expected at least 1")
        self._processes, self._threads = processes, threads
        self._changed = threading.Condition()
        self._all: list[_Worker] = []
        self._idle: list[_Worker] = []
        self._closed = False

    def __enter__(self) -> Workers:
        self._all = [_Worker(self._threads) for _ in range(self._processes)]
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
            worker.join()

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
        worker.join()
        code = worker.process.exitcode
        with self._changed:
            if not self._closed:
                worker.start()
        why = "killed, or out of memory?" if code and code < 0 else "see the log"
        return WorkerDied(f"the worker process ended with code {code} ({form}): {why}")


def _work(pipe: Any, threads: int) -> None:
    """Do jobs until the pipe is closed."""
    # Before numpy is imported: a library reads its variable once.
    os.environ.update({**environment.thread_variables(threads), "NUMBA_NUM_THREADS": str(threads)})
    environment.prepare()
    # Nobody else handles what is logged here.
    logging.lastResort = TerminalHandler(logging.WARNING)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        while True:
            function, args, kwargs = pipe.recv()
            pipe.send(_outcome(function, args, kwargs))


def _outcome(function: Any, args: Any, kwargs: Any) -> tuple[Any, Exception | None]:
    """Return (value, None) or (None, error); the error carries its traceback as a note."""
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


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(_GRACE)
        os._exit(1)
