"""Files and directories that their user alone can read."""

from __future__ import annotations

import os
from pathlib import Path

FILE, DIRECTORY = 0o600, 0o700
"""Modes."""


def directory(path: Path) -> None:
    """Make a directory, and those above it, where there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(DIRECTORY, exist_ok=True)


def opened(path: Path) -> int:
    """Open a file to write it anew; return its descriptor."""
    descriptor = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, FILE)
    os.fchmod(descriptor, FILE)
    return descriptor
