"""The ``ssi`` command: thin, every verb calls a flow or `ssi_core`.

Exit codes: 0 done, 1 failed, 2 usage, 3 bad input, 4 refused for resources, 130 interrupted
(Ctrl-C), 143 terminated (SIGTERM).
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from flows import environment
from flows.servers.processes import scratch
from flows.storage import relocation
from ssi_core.command import models
from ssi_core.command.library import VERBS
from ssi_core.command.signals import end_at_once
from ssi_core.command.verb import AROUND, Verbs, run
from ssi_core.registry import Registry

_HERE = "flows.commands"
_WORKFLOW = {
    "pipeline": f"{_HERE}.tables:pipeline",
    "reproduce": f"{_HERE}.tables:reproduce",
    "train": f"{_HERE}.runs:train",
    "compare": f"{_HERE}.tables:compare",
    "export-trec": f"{_HERE}.runs:export_trec",
    "match": f"{_HERE}.clicks:match",
    "estimate": f"{_HERE}.clicks:estimate",
    "freeze": f"{_HERE}.retrain:freeze",
    "retrain": f"{_HERE}.retrain:retrain",
    "promote": f"{_HERE}.registry:promote",
    "rollback": f"{_HERE}.registry:rollback",
    "champions": f"{_HERE}.registry:champions",
    "store": f"{_HERE}.store:store",
    "serve": f"{_HERE}.services:serve",
    "ui": f"{_HERE}.services:ui",
    "up": f"{_HERE}.services:up",
    "deploy": f"{_HERE}.services:deploy",
    "doctor": f"{_HERE}.services:doctor",
    "backup": f"{_HERE}.backup:backup",
    "restore": f"{_HERE}.backup:restore",
}
_VERBS: Registry[click.Command] = Registry(
    "verbs", {"demo": f"{_HERE}.demo:demo", **VERBS.homes, **_WORKFLOW}
)

_HELP = """Learn to rank text from its links, and look at what was learned.

\b
The work in order:
  ssi sample own --out .             articles and links to play with
  ssi ingest table articles.jsonl --links links.csv --out corpus
  ssi features corpus --out task     documents -> word matrices, splits
  ssi pipeline demo --corpus corpus  every row of a table -> comparison
  ssi compare demo                   the table again, from MLflow
  ssi search RUN "old automobile"    text in, titles out
  ssi related RUN "Car"              a document in, related documents out

\b
MODEL is a directory, a run id of MLflow, or models:/NAME@ALIAS.
TABLE is the name of a shipped table or a TOML file; EXPERIMENT is the name that it gives.
The root (mlruns/, .ssi/) is $SSI_ROOT, else the nearest parent with prefect.yaml, else the
working directory.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 bad input, 4 refused (memory, disk, a lock),
130 interrupted (Ctrl-C), 143 terminated (SIGTERM).
"""


@click.group(
    cls=Verbs,
    help=_HELP,
    verbs=_VERBS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="ssi", prog_name="ssi")
def cli() -> None:
    """Hold the verbs."""


@contextmanager
def _around() -> Iterator[None]:
    """Hold what Prefect and MLflow need around a verb."""
    environment.prepare()
    relocation.settle()
    with scratch():
        yield


AROUND.append(_around)


def _registry() -> models.Registry:
    from flows import tracking

    return tracking


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
