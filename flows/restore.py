"""Restore a backup into a root, once every file of it has been checked."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import tarfile
import time
import zlib
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import IO

from flows import environment, moved, sqlite
from flows.backup import FORMAT, HOME, MANIFEST, MLRUNS, Contents
from ssi_core import files
from ssi_core.types import BadInput, Progress, Refused

_BLOCK = 1 << 20
_NO_DATA = ("tmp", ".lock", ".gitignore")
"""Names that a root without data can have: of the command itself, and of a fresh clone."""


def restore(archive: Path, progress: Progress | None = None) -> Contents:
    """Unpack an archive into the root, which must have no data yet.

    Nothing of it is there before all of it has been checked.

    Raises
    ------
    BadInput
        The archive is damaged, incomplete, or holds names outside of a root.
    Refused
        The root holds data, or the disk is full.
    """
    root, home = environment.root(), environment.home()
    _require_empty(root, home)
    if not archive.is_file():
        raise BadInput(f"{archive}: there is no such file. Check the path.")
    partial = root / ".ssi-restore.partial"
    with files.writing(root):
        shutil.rmtree(partial, ignore_errors=True)
        try:
            contents = _unpacked(archive, partial, progress)
            _end_runs(partial / MLRUNS / moved.database().name)
            os.sync()
            _put(partial / HOME, home)
            _put(partial / MLRUNS, root / MLRUNS)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    moved.settle()
    return contents


def _require_empty(root: Path, home: Path) -> None:
    for place in (root / MLRUNS, home):
        entries = place.iterdir() if place.is_dir() else iter(())
        if held := sorted(one.name for one in entries if one.name not in _NO_DATA):
            raise Refused(
                f"{place} holds data ({', '.join(held[:3])}); a backup is restored into a root "
                "that has none. Name another root (--root), or move these away."
            )


def _put(source: Path, target: Path) -> None:
    """Move what was unpacked to its place."""
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        for one in sorted(source.iterdir()):
            shutil.move(one, target / one.name)


_DAMAGE = (
    tarfile.TarError,
    EOFError,
    zlib.error,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    OverflowError,
)


def _unpacked(archive: Path, target: Path, progress: Progress | None) -> Contents:
    """Unpack an archive, and compare every file with the manifest."""
    try:
        with tarfile.open(archive, "r:*") as tar:
            digests, manifest = _members(tar, archive, target, progress)
        contents = _contents(manifest, archive)
        _compare(archive, contents, digests)
        for name, facts in contents.files.items():
            os.utime(target / name, ns=(facts["mtime_ns"], facts["mtime_ns"]))
    except (BadInput, Refused):
        raise
    except _DAMAGE as error:
        raise _damaged(archive, str(error) or type(error).__name__) from error
    except OSError as error:
        # gzip says so of what it cannot read; the number is of the system's own errors.
        if error.errno is not None:
            raise
        raise _damaged(archive, str(error)) from error
    return contents


def _damaged(archive: Path, what: str) -> BadInput:
    return BadInput(f"{archive} is damaged: {what}. Nothing was restored; take another backup.")


def _members(
    tar: tarfile.TarFile, archive: Path, target: Path, progress: Progress | None
) -> tuple[dict[str, str], bytes]:
    """Unpack the members; return digests by name, and the manifest."""
    digests: dict[str, str] = {}
    size = archive.stat().st_size
    for member in tar:
        _check_name(archive, member)
        source = tar.extractfile(member)
        assert source is not None  # a plain file
        if member.name == MANIFEST:
            return digests, source.read()
        if progress is not None:
            # Compressed files are read from a place that is not told.
            progress(min(member.offset / max(size, 1), 1.0), member.name)
        if member.name in digests:
            raise _damaged(archive, f"it has two files {member.name!r}")
        digests[member.name] = _extract(source, target / member.name)
    raise _damaged(archive, f"it has no {MANIFEST}, so it is no backup, or its end is missing")


def _check_name(archive: Path, member: tarfile.TarInfo) -> None:
    path = PurePosixPath(member.name)
    inside = path.parts[:1] in ((MLRUNS,), (HOME,)) and len(path.parts) > 1
    if not member.isreg() or ".." in path.parts or not (inside or member.name == MANIFEST):
        raise BadInput(
            f"{archive}: its member {member.name!r} is no plain file of a root. Nothing was "
            "restored; it is no backup of ssi."
        )


def _extract(source: IO[bytes], target: Path) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    with target.open("xb") as file:
        while block := source.read(_BLOCK):
            digest.update(block)
            file.write(block)
    return digest.hexdigest()


def _contents(text: bytes, archive: Path) -> Contents:
    manifest = json.loads(text)
    if manifest["format"] != FORMAT:
        raise BadInput(
            f"{archive}: it has format {manifest['format']}, and this version of ssi reads format "
            f"{FORMAT}. Restore it with ssi {manifest.get('ssi', 'of its version')}."
        )
    names = ("root", "made", "essential", "files", "left_out")
    return Contents(**{name: manifest[name] for name in names})


def _compare(archive: Path, contents: Contents, digests: dict[str, str]) -> None:
    wanted = {name: facts["sha256"] for name, facts in contents.files.items()}
    for name in sorted(wanted.keys() | digests.keys()):
        if name not in digests:
            raise _damaged(archive, f"{name} is missing")
        if wanted.get(name) != digests[name]:
            raise _damaged(archive, f"{name} has not the digest that the manifest says")


def _end_runs(database: Path) -> None:
    """Mark runs that were at work during the backup as killed: nobody works at them here."""
    if "runs" in sqlite.tables(database):
        now = int(time.time() * 1000)
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute(
                "UPDATE runs SET status = 'KILLED', end_time = ? WHERE status = 'RUNNING'", (now,)
            )
