"""Find the root of the working tree, and the place of what can be rebuilt inside it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import overload


def root() -> Path:
    """Return the root of the working tree, where ``mlruns/`` and ``.ssi/`` lie.

    ``SSI_ROOT``, else the nearest parent with ``prefect.yaml``, else the working directory.
    """
    if chosen := os.environ.get("SSI_ROOT"):
        return Path(chosen).resolve()
    here = Path.cwd()
    roots = (path for path in (here, *here.parents) if (path / "prefect.yaml").is_file())
    return next(roots, here)


def home() -> Path:
    """Return the directory of everything that can be rebuilt: ``SSI_HOME``, else ``ROOT/.ssi``."""
    return root() / os.environ.get("SSI_HOME", ".ssi")


@overload
def user_path(given: str | Path) -> Path: ...
@overload
def user_path(given: object) -> Path | None: ...
def user_path(given: object) -> Path | None:
    """Return a path that a user gives, which may begin with ``~``; None for what is no path."""
    return Path(given).expanduser() if isinstance(given, str | Path) else None


def store_path(kind: str, key: str) -> Path:
    """Return the place of an artefact that the user gave no place of its own."""
    return home() / "store" / kind / key
