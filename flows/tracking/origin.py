"""Tag runs with the user and the commit of the project, which MLflow shows on its pages."""

from __future__ import annotations

import getpass
import hashlib
import subprocess
from functools import cache
from pathlib import Path

from mlflow.entities import Run

from flows.servers.processes import own_name

_CODE = Path(__file__).parents[2]
_PACKAGES = ("flows", "ssi_core")


HIDDEN = "mlflow.ssi."
"""Prefix of tags that are for the code alone: MLflow's pages do not show them."""


def process_tag() -> dict[str, str]:
    """Return the tag of the process that writes a run."""
    return {f"{HIDDEN}process": own_name()}


def process_of(run: Run) -> str | None:
    """Return the name of the process that writes, or wrote, a run."""
    name: str | None = run.data.tags.get(f"{HIDDEN}process")
    return name


def origin() -> dict[str, str]:
    """Return the tags ``mlflow.user`` and, in a working tree of git, ``mlflow.source.git...``.

    ``mlflow.source.git.dirty`` is "true" where the code differs from the commit.
    """
    return {**_user(), **_commit()}


@cache
def code() -> str:
    """Digest of every source file of the project."""
    digest = hashlib.sha256()
    for package in _PACKAGES:
        base = _CODE / package
        for file in sorted(base.rglob("*.py")):
            digest.update(str(file.relative_to(base)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def _user() -> dict[str, str]:
    try:
        return {"mlflow.user": getpass.getuser()}
    except (KeyError, OSError):
        # In a container the user may have a number and no name.
        return {}


@cache
def _commit() -> dict[str, str]:
    # A project that is installed into an environment may lie inside somebody else's repository.
    if _git("ls-files", "--error-unmatch", *(f"{name}/__init__.py" for name in _PACKAGES)) is None:
        return {}
    commit, changes = _git("rev-parse", "HEAD"), _git("status", "--porcelain", *_PACKAGES)
    if commit is None or changes is None:
        return {}
    dirty = "true" if changes else "false"
    return {"mlflow.source.git.commit": commit, "mlflow.source.git.dirty": dirty}


def _git(*arguments: str) -> str | None:
    """Return what git answers about the project; None where there is no git, or no repository."""
    try:
        done = subprocess.run(
            ["git", "-C", str(_CODE), *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
