"""Files of a folder that the user names: regular ones that lie in it, and their sha256."""

from __future__ import annotations

import hashlib
import logging
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ssi_core import files, store
from ssi_core.corpus import inputs

_log = logging.getLogger(__name__)
_KINDS_OF_FILES = 100
"""Suffixes that are counted by themselves."""


def files_below(
    directory: Path, suffixes: Sequence[str], largest: int, skipped: Counter[str]
) -> list[str]:
    """List the sorted paths of the files below a folder, with / between their parts.

    Parameters
    ----------
    directory : Path
        Folder to look through.
    suffixes : sequence of str
        Suffixes of the files to list, in lower case.
    largest : int
        Maximum size of a file, in bytes.
    skipped : Counter
        Counts the files that are left out, by reason.
    """
    paths = []
    for file in walk(directory, skipped):
        suffix = file.suffix.lower()
        if suffix not in suffixes:
            kind = f"file_{suffix.removeprefix('.') or 'without_suffix'}"
            skipped[kind if len(skipped) < _KINDS_OF_FILES else "file_of_other_kinds"] += 1
        elif file.stat().st_size > largest:
            skipped["file_too_large"] += 1
        else:
            paths.append(file.relative_to(directory).as_posix())
    return sorted(paths)


def walk(directory: Path, skipped: Counter[str], *, deep: bool = True) -> Iterator[Path]:
    """Yield the files below a folder, in the order of their paths, without hidden ones.

    Only regular files that lie in the folder are taken: a link that leads out of it, a pipe or a
    device is left out and counted.

    Parameters
    ----------
    skipped : Counter
        Told of what is left out, by reason.
    deep : bool
        Look into the folders in it.
    """
    with files.reading(directory, "Check the path."):
        root = directory.resolve(strict=True)
        left = _shown(directory, skipped)
    while left:
        path = left.pop()
        try:
            state = path.lstat()
            if stat.S_ISDIR(state.st_mode):
                left += _shown(path, skipped) if deep else []
                continue
        except OSError:  # no right to it, or a path that is too long
            skipped["folder_unreadable"] += 1
            continue
        if (reason := unfit(path, root)) is None:
            yield path
        else:
            skipped[reason] += 1


def tell_left_out(directory: Path, skipped: Counter[str]) -> None:
    """Say in the log what `walk` left out, where nothing else counts it."""
    if skipped:
        reasons = ", ".join(f"{reason} {n}" for reason, n in sorted(skipped.items()))
        _log.warning("%s: left out of what it holds: %s", directory, reasons)


def _shown(path: Path, skipped: Counter[str]) -> list[Path]:
    """Return what a folder has, the last by name first, without what is hidden."""
    names = sorted(os.listdir(path), reverse=True)  # noqa: PTH208
    shown = [path / name for name in names if not name.startswith(".")]
    if hidden := len(names) - len(shown):
        skipped["hidden"] += hidden
    return shown


def unfit(file: Path, root: Path) -> str | None:
    """Return why a file that was found in a folder is not read; None where it is."""
    try:
        file.name.encode()
        target = file.resolve(strict=True)
        state = target.stat()
    except UnicodeEncodeError:
        return "file_name_not_utf8"
    except (OSError, RuntimeError):  # a link to nothing, or to itself
        return "file_link_to_nothing"
    if stat.S_ISDIR(state.st_mode):
        return "folder_that_is_a_link"
    if not target.is_relative_to(root):
        return "file_outside_of_the_folder"
    return None if stat.S_ISREG(state.st_mode) else "file_not_regular"


def digest_tree(directory: Path, names: Sequence[str], out: Path | None = None) -> str:
    """Return the sha256 of files of a directory, of their names and of their contents."""
    files.refuse_output(out, [directory])
    digest = hashlib.sha256()
    for name in names:
        with files.reading(directory / name, inputs.RESTORE):
            digest.update(f"{name}\0{store.digest_file(directory / name)}\n".encode())
    return digest.hexdigest()
