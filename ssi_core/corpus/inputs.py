"""Raw input: the files below a folder, and their sha256, remembered while they look the same."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
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


def files_below(
    directory: Path, suffixes: Sequence[str], largest: int, skipped: Counter[str]
) -> list[str]:
    """List the sorted paths of the files below a folder, with / between their parts.

    Names that begin with a dot are passed over. Only regular files that lie in the folder are
    taken: a link that leads out of it, a pipe or a device is left out and counted.

    Parameters
    ----------
    directory : Path
        Folder to look through.
    suffixes : sequence of str
        Suffixes, in small letters, of the files that are wanted.
    largest : int
        Bytes of a file at most.
    skipped : Counter
        Told of the other files, by reason.
    """
    paths = []
    root = directory.resolve()
    for place, inner, names in os.walk(directory):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        for name in names:
            file = Path(place, name)
            suffix = file.suffix.lower()
            if name.startswith("."):
                continue
            if suffix not in suffixes:
                skipped[f"file_{suffix.removeprefix('.') or 'without_suffix'}"] += 1
            elif (reason := _unfit(file, root, largest)) is not None:
                skipped[reason] += 1
            else:
                paths.append(file.relative_to(directory).as_posix())
    return sorted(paths)


def _unfit(file: Path, root: Path, largest: int) -> str | None:
    """Return why a file that was found in a folder is not read; None where it is."""
    try:
        target = file.resolve(strict=True)
        state = target.stat()
    except (OSError, RuntimeError):  # a link to nothing, or to itself
        return "file_link_to_nothing"
    if not target.is_relative_to(root):
        return "file_outside_of_the_folder"
    if not stat.S_ISREG(state.st_mode):
        return "file_not_regular"
    return "file_too_large" if state.st_size > largest else None
