"""Keep compiled kernels on disk: a file for each, whole or not there.

They lie in ``kernels`` of the cache directory (`cache.directory`), one directory for each *build*:
the sources, versions, processor and options that they were compiled with. A file is written beside
its place and renamed, and begins with a digest of its name and of all that follows. What it holds
is run, so the directory must belong to the user and be closed to all others.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from ssi_core import cache, system

_LOG = logging.getLogger(__name__)

BUILDS = 8
"""Builds that are kept: of the others the one that was written to last goes last."""


def directory() -> Path | None:
    """Return the directory of compiled kernels, made with mode 0700; None where it is not safe."""
    base = cache.directory()
    if base is None:
        _warn("the cache directory cannot be written, or others can write to it")
        return None
    path = base / "kernels"
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.lstat()
    except OSError as error:
        _warn(f"{path}: {error.strerror}")
        return None
    if not stat.S_ISDIR(status.st_mode) or not system.is_mine(status) or status.st_mode & 0o077:
        _warn(f"{path} is not a directory of yours that is closed to all others (mode 0700)")
        return None
    return path


def read(build: str, key: str) -> bytes | None:
    """Return what was written under a key; None if there is nothing, or if it is damaged."""
    path = directory()
    if path is None:
        return None
    try:
        content = (path / build / key).read_bytes()
    except OSError:
        return None
    digest, payload = content[:_DIGEST], content[_DIGEST:]
    return payload if digest == _digest(key, payload) else None


def write(build: str, key: str, payload: bytes) -> None:
    """Write a payload under a key; a failure to do so is no error."""
    path = directory()
    if path is None:
        return
    temporary = None
    try:
        _open_build(path / build)
        descriptor, temporary = tempfile.mkstemp(dir=path / build, prefix=_UNFINISHED)
        with os.fdopen(descriptor, "wb") as out:
            out.write(_digest(key, payload))
            out.write(payload)
        Path(temporary).replace(path / build / key)
    except OSError as error:
        # Another process may have removed the build meanwhile.
        if not isinstance(error, FileNotFoundError):
            _warn(f"{path}: {error.strerror}")
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)


def remove(build: str, key: str) -> None:
    """Remove what was written under a key, if anything was."""
    path = directory()
    if path is not None:
        (path / build / key).unlink(missing_ok=True)


def size() -> tuple[int, int]:
    """Return how many compiled kernels are kept, and the bytes of all files."""
    path = directory()
    kernels = total = 0
    for file in () if path is None else path.glob("*/*"):
        with suppress(FileNotFoundError):  # renamed or removed meanwhile
            total += file.stat().st_size
            kernels += not file.name.startswith(_UNFINISHED)
    return kernels, total


def empty() -> tuple[int, int]:
    """Remove all compiled kernels; return what `size` was before."""
    before, path = size(), directory()
    if path is not None:
        shutil.rmtree(path, ignore_errors=True)
    return before


_DIGEST = hashlib.sha256().digest_size
_UNFINISHED = "."


def _digest(key: str, payload: bytes) -> bytes:
    digest = hashlib.sha256(key.encode())
    digest.update(payload)
    return digest.digest()


def _open_build(path: Path) -> None:
    """Make the directory of a build; of the others the latest stay."""
    if path.is_dir():
        return
    others = sorted(path.parent.iterdir(), key=_last_written)
    for other in others[: max(0, len(others) - BUILDS + 1)]:
        shutil.rmtree(other, ignore_errors=True)
    path.mkdir(mode=0o700, exist_ok=True)


def _last_written(build: Path) -> float:
    with suppress(FileNotFoundError):  # removed meanwhile
        return build.stat().st_mtime
    return 0


@lru_cache
def _warn(why: str) -> None:
    """Say once why nothing is kept."""
    _LOG.warning("kernels are compiled anew in every process: %s; set SSI_CACHE", why)
