"""Try a model in a process of its own, so that a model that crashes takes nothing else with it.

A gate, a promotion and a running service call `try_model` before they trust a directory that
another process has written. The files are checked when they are opened (`ssi_core.integrity`); the
trial is for what no check foresees. A model that passed is remembered, by its manifests.
"""

from __future__ import annotations

import json
import math
import platform
import signal
import subprocess
import sys
from pathlib import Path

from ssi_core import cache, store
from ssi_core.code import digest_of
from ssi_core.garbage import economise
from ssi_core.models import load_model
from ssi_core.serving.searcher import index_of, model_in, open_searcher, shown
from ssi_core.types import BadInput

_SECONDS = 900.0
"""Patience with a trial; a model of the largest corpus opens in seconds."""

_BAD = 3

_KIND = "trials"

_passed: dict[str, str] = {}
"""Directory -> manifests of the model and the index that passed in this process."""


def try_model(directory: Path, index: Path | None = None, *, seconds: float = _SECONDS) -> None:
    """Open a model and its index in a child process, and let it answer a question.

    Parameters
    ----------
    directory : Path
        A model directory, or one with a model and an index in it; see `open_searcher`.
    index : Path or None
        Index, if the model has none of its own.
    seconds : float
        Time that the child process may take.

    Raises
    ------
    BadInput
        The model or its index is damaged, the child crashed, or it did not end in time.
    """
    manifests = _manifests(directory, index)
    if _passed.get(str(directory)) == manifests or (manifests and _remembered(manifests)):
        return
    command = [sys.executable, "-m", "ssi_core.guests.monitoring.trial", str(directory)]
    command += [str(index)] if index is not None else []
    try:
        child = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise BadInput(
            f"{directory}: it was not open after {seconds:.0f} seconds. Try again when the machine "
            "is less busy."
        ) from None
    if child.returncode == _BAD:
        raise BadInput(json.loads(child.stdout.splitlines()[-1])["message"])
    if child.returncode:
        raise BadInput(
            f"{directory}: a process that opened it {_ending(child.returncode)}. Train the model "
            "again, or build its index again."
        )
    _passed[str(directory)] = manifests
    cache.remember(_KIND, manifests, _build())


def _manifests(directory: Path, index: Path | None) -> str:
    model = model_in(directory)
    paths = [model / "model.json"]
    if (index_path := index_of(directory, index)) is not None:
        paths.append(index_path / store.MANIFEST)
    return "".join(f"{path}\n{path.read_text()}" for path in paths if path.is_file())


def _remembered(manifests: str) -> bool:
    return cache.recall(_KIND, manifests) == _build()


def _build() -> str:
    """Name what opens a model besides its files: our code, kernels, and who compiles them."""
    from ssi_core.kernels.compiling import keys

    code = digest_of(sys.modules[load_model.__module__], open_searcher)
    return " ".join((code, keys.SOURCES, *keys.versions(), platform.machine()))


def _ending(code: int) -> str:
    if code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


def main(directory: Path, index: Path | None = None) -> int:
    """Open a model as the service does, and return an exit code."""
    try:
        if index_of(directory, index) is None:
            load_model(model_in(directory))
            return 0
        searcher = open_searcher(directory, index)
        answer = shown(searcher.search([searcher.index.titles[0]], 10)[0])
        if not all(math.isfinite(hit.score) for hit in answer.hits):
            raise BadInput(f"{directory}: it gives scores that are not finite. Train it again.")
    except BadInput as error:
        print(json.dumps({"message": str(error)}))
        return _BAD
    return 0


if __name__ == "__main__":
    economise()
    sys.exit(main(*map(Path, sys.argv[1:])))
