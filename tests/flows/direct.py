"""Without servers and processes: flows and tasks are functions, rows and trials are calls."""

import io
import subprocess
from contextlib import redirect_stdout
from pathlib import Path
from uuid import uuid4

from prefect import Flow, Task

from flows import evaluate, pipeline, retrain, steps, train
from flows.tracking import models
from flows.training.workers import InProcess
from ssi_core.guests.monitoring import trial


class Trials:
    """What `trial` asks of the module subprocess: here a trial is a call."""

    DEVNULL, TimeoutExpired = subprocess.DEVNULL, subprocess.TimeoutExpired

    @staticmethod
    def run(command, **how):
        with redirect_stdout(io.StringIO()) as printed:
            code = trial.main(*map(Path, command[3:]))
        return subprocess.CompletedProcess(command, code, printed.getvalue().encode())


class Here(InProcess):
    """Workers that are this process."""

    def __init__(self, *sizes):
        pass


class Nobody:
    """A server that nobody asks."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def ready(self):
        pass


class Done:
    """The future of a task that was run at once."""

    def __init__(self, task, *arguments, **named):
        try:
            self._outcome = task.fn(*arguments, **_own(named))
        except Exception as error:
            self._outcome = error

    def result(self, *, raise_on_failure=True):
        if raise_on_failure and isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


def _own(named):
    """Return the arguments of the function itself; Prefect takes the others."""
    return {name: value for name, value in named.items() if name not in _OF_PREFECT}


_OF_PREFECT = {"return_state", "wait_for"}


def install(patch, code):
    """Let no flow, task or artifact ask a server, and no row a process of its own.

    Models are logged with the package `code`: to copy all of ours takes longer than to train.
    """
    for kind in (Flow, Task):
        patch.setattr(
            kind, "__call__", lambda one, *values, **named: one.fn(*values, **_own(named))
        )
    patch.setattr(Task, "submit", lambda one, *values, **named: Done(one, *values, **named))
    patch.setattr(pipeline, "as_completed", iter)
    for module in (pipeline, retrain, train):
        patch.setattr(module, "Workers", Here)
    for module in (pipeline, retrain):
        patch.setattr(module, "Server", Nobody)
    patch.setattr(models, "CODE", code)
    for module in (evaluate, pipeline, retrain, steps):
        for name in vars(module).keys() & _ARTIFACTS:
            patch.setattr(module, name, lambda *values, **named: uuid4())


_ARTIFACTS = {
    "create_markdown_artifact",
    "create_progress_artifact",
    "create_table_artifact",
    "update_progress_artifact",
}
