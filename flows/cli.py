"""The ``ssi`` command: thin, every verb calls a flow or `ssi_core`.

Exit codes: 0 done, 1 failed, 2 usage, 3 bad input, 4 refused for resources, 130 interrupted
(Ctrl-C), 143 terminated (SIGTERM).
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from flows import environment
from ssi_core.command import models
from ssi_core.command.library import HOMES, command_of
from ssi_core.command.signals import end_at_once
from ssi_core.command.verb import AROUND, run
from ssi_core.registry import Registry

_HERE = "flows.commands"
_WORKFLOW = {
    "serve": f"{_HERE}.services:serve",
    "compare": f"{_HERE}.tables:compare",
    "retrain": f"{_HERE}.retrain:retrain",
    "up": f"{_HERE}.services:up",
    "demo": f"{_HERE}.demo:demo",
    "data.store": f"{_HERE}.store:store",
    "lab.pipeline": f"{_HERE}.tables:pipeline",
    "lab.train": f"{_HERE}.runs:train",
    "lab.estimate": f"{_HERE}.clicks:estimate",
    "lab.export-trec": f"{_HERE}.runs:export_trec",
    "rank.match": f"{_HERE}.clicks:match",
    "ops.doctor": f"{_HERE}.services:doctor",
    "ops.ui": f"{_HERE}.services:ui",
    "ops.deploy": f"{_HERE}.services:deploy",
    "ops.run": f"{_HERE}.services:run",
    "ops.freeze": f"{_HERE}.retrain:freeze",
    "ops.champions": f"{_HERE}.registry:champions",
    "ops.promote": f"{_HERE}.registry:promote",
    "ops.rollback": f"{_HERE}.registry:rollback",
    "ops.backup": f"{_HERE}.backup:backup",
    "ops.restore": f"{_HERE}.backup:restore",
}
cli = command_of(Registry("verbs", {**HOMES, **_WORKFLOW}))


@contextmanager
def _around() -> Iterator[None]:
    """Hold what Prefect and MLflow need around a verb."""
    from flows.servers.processes import scratch
    from flows.storage import relocation

    environment.prepare()
    try:
        relocation.settle()
        with scratch():
            yield
    finally:
        # A verb that made nothing leaves nothing in a folder that is no root.
        with suppress(OSError):
            environment.home().rmdir()


AROUND.append(_around)


def _registry() -> Any:
    from flows.storage import model_directories

    return model_directories


models.REGISTRY.append(_registry)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and leave with its exit code."""
    end_at_once(signal.SIGTERM)
    code = run(cli, arguments)
    sys.stdout.flush()
    # All is done and said, and what libraries do at the end of a process may take a while.
    end_at_once(signal.SIGTERM, signal.SIGINT)
    sys.exit(code)


if __name__ == "__main__":
    main()
