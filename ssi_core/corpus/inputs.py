"""Raw input by its content: sha256, remembered as long as a file looks the same."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from ssi_core import cache, store
from ssi_core.types import BadInput, Progress


def digest_inputs(files: Sequence[Path], *, progress: Progress | None = None) -> dict[str, str]:
    """Return file name -> sha256 of raw input files, the parents of an artefact.

    A digest is remembered in the user's cache for a path with its size, its inode and its times.

    Raises
    ------
    BadInput
        A file is missing, or two files have one name.
    """
    digests: dict[str, str] = {}
    for file in files:
        if not file.is_file():
            raise BadInput(f"{file}: there is no such file. Check the path.")
        if file.name in digests:
            raise BadInput(f"{file}: a file of that name is given twice. Give each file once.")
        digests[file.name] = _digest(file, progress)
    return digests


def digest_tree(directory: Path, names: Sequence[str]) -> str:
    """Return the sha256 of files of a directory, of their names and of their contents."""
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\0{store.digest_file(directory / name)}\n".encode())
    return digest.hexdigest()


def _digest(file: Path, progress: Progress | None) -> str:
    state = file.stat()
    times = f"{state.st_mtime_ns} {state.st_ctime_ns}"
    name = f"{file.resolve()} {state.st_size} {state.st_ino} {times}"
    digest = cache.recall("inputs", name)
    if digest is None:
        if progress is not None:
            progress(0.0, f"reading the checksum of {file.name}")
        digest = store.digest_file(file)
        cache.remember("inputs", name, digest)
    return digest
