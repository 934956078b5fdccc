"""Write directories and files that get their names when they are whole."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ssi_core import integrity


@contextmanager
def once(path: Path, manifest: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Write a directory that gets its name when it is whole, however often it is written.

    The body fills the directory, and what its manifest tells. Where another process was first, its
    directory stays: it holds the same.

    Parameters
    ----------
    path : Path
        Name of the directory.
    manifest : str
        Name of its manifest, see `integrity.seal_directory`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = _draft_of(path)
    draft.mkdir()
    facts: dict[str, Any] = {}
    try:
        yield draft, facts
        integrity.seal_directory(draft, manifest, facts)
        try:
            draft.rename(path)
        except OSError:
            if not (path / manifest).is_file():
                raise
        else:
            integrity.sync_names(path.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def file_once(path: Path) -> Iterator[Path]:
    """Write a file that gets its name when it is whole, however often it is written."""
    draft = _draft_of(path)
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _draft_of(path: Path) -> Path:
    # No two processes, on whatever machines, write the same.
    return path.with_name(f".{path.name}.{secrets.token_hex(8)}")
