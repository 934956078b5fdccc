"""Restore a backup into a root, once every file of it has been checked.

An archive may come from a stranger: only names that a backup has are unpacked (`backup.is_saved`),
and sizes are bounded before anything is read or written.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
import tarfile
import time
import zlib
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import IO, Literal, Self

from pydantic import TypeAdapter, ValidationError

from flows import environment
from flows.storage import relocation, sqlite
from flows.storage.backup import FORMAT, HOME, MANIFEST, MLRUNS, Contents, Digesting, is_saved
from ssi_core import files, private, strict
from ssi_core.resources import amount, disk_free
from ssi_core.types import BadInput, Progress, Refused

_BLOCK = 1 << 20
_SPARE = 1 << 30
"""Bytes of a disk that stay free; on a small one a twentieth of what is free."""

_NAME, _LEVELS = 255, 100
"""Bytes of a name of a file, and directories below each other."""

_HEADER, _MANIFEST = 1 << 20, 256 << 20
"""Bytes of a header of the archive, and of the manifest, which are held in memory."""

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
        private.directory(partial)
        try:
            contents = _unpacked(archive, partial, progress)
            relocation.settle_unpacked(partial, partial / HOME)
            os.sync()
            _put({partial / HOME: home, partial / MLRUNS: root / MLRUNS})
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return contents


def _require_empty(root: Path, home: Path) -> None:
    for path in (root / MLRUNS, home):
        entries = path.iterdir() if path.is_dir() else iter(())
        if held := sorted(one.name for one in entries if one.name not in _NO_DATA):
            raise Refused(
                f"{path} holds data ({', '.join(held[:3])}); a backup is restored into a root "
                "that has none. Name another root (--root), or move these away."
            )


def _put(places: Mapping[Path, Path]) -> None:
    """Move what was unpacked to its place, all or none."""
    put: list[Path] = []
    try:
        for source, target in places.items():
            if source.is_dir():
                private.directory(target)
                for one in sorted(source.iterdir()):
                    place = target / one.name
                    if not place.exists():
                        put.append(place)
                    shutil.move(one, place)
    except BaseException:
        for path in put:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        raise


_UNREADABLE = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, sqlite3.Error)
_WRONG = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


class _Header(tarfile.TarInfo):
    """A header of a plain file, whose size is checked before the rest of it is read into memory.

    Errors are of a kind that `tarfile` does not take for the end, or for another compression.
    """

    def _proc_member(self, tar: tarfile.TarFile) -> Self:
        # The data of a header that is no file are read at once: names, and facts of the next one.
        if not self.isreg() and self.size > _HEADER:
            raise ValueError(f"it has a header of {amount(self.size)}")
        if self.type == tarfile.GNUTYPE_SPARSE:
            self._refuse_sparse()
        member: Self = super()._proc_member(tar)  # type: ignore[misc]
        if member.size < 0:
            raise ValueError("it has a file of a negative size")
        return member

    def _refuse_sparse(self, *_: object) -> None:
        raise ValueError("it has a sparse file, which says any size that it likes")

    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse_sparse


def _unpacked(archive: Path, target: Path, progress: Progress | None) -> Contents:
    """Unpack an archive, and compare every file with the manifest."""
    try:
        with archive.open("rb") as file:
            is_compressed = file.read(2) == b"\x1f\x8b"
        mode: Literal["r:gz", "r:"] = "r:gz" if is_compressed else "r:"
        with tarfile.open(archive, mode, tarinfo=_Header) as tar:
            digests, manifest = _members(tar, archive, target, progress)
        contents = _contents(manifest, archive)
        _compare(archive, contents, digests)
        for name, facts in contents.files.items():
            os.utime(target / name, ns=(facts.mtime_ns, facts.mtime_ns))
        _end_runs(target / MLRUNS / relocation.database().name)
    except (BadInput, Refused):
        raise
    except (*_UNREADABLE, *_WRONG) as error:
        if files.refusal(error, target) is not None:  # the disk is full
            raise
        raise _damaged(archive, str(error) or type(error).__name__) from error
    return contents


def _damaged(archive: Path, what: str) -> BadInput:
    return BadInput(f"{archive} is damaged: {what}. Nothing was restored; take another backup.")


def _members(
    tar: tarfile.TarFile, archive: Path, target: Path, progress: Progress | None
) -> tuple[dict[str, str], bytes]:
    """Unpack the members that a backup has; return digests by name, and the manifest."""
    digests: dict[str, str] = {}
    size = archive.stat().st_size
    spare = min(_SPARE, disk_free(target) // 20)
    for member in tar:
        path = _path_of(archive, member)
        if member.name == MANIFEST and member.size > _MANIFEST:
            raise _damaged(archive, f"its {MANIFEST} has {amount(member.size)}")
        if member.size > (room := max(disk_free(target) - spare, 0)):
            raise Refused(
                f"{archive}: {strict.cut(member.name)!r} takes {amount(member.size)}, and "
                f"{amount(room)} are free at {target.parent}. Make room, or name another "
                "root (--root)."
            )
        source = tar.extractfile(member)
        assert source is not None  # a plain file
        if member.name == MANIFEST:
            return digests, source.read()
        if not is_saved(path):
            continue
        if progress is not None:
            # Compressed files are read from a place that is not told.
            progress(min(member.offset / max(size, 1), 1.0), member.name)
        try:
            digests[member.name] = _extract(source, target / path)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            what = "is there twice, or it or a part of it is a file and a directory"
            raise _damaged(archive, f"{strict.cut(member.name)!r} {what}") from error
    raise _damaged(archive, f"it has no {MANIFEST}, so it is no backup, or its end is missing")


def _path_of(archive: Path, member: tarfile.TarInfo) -> PurePosixPath:
    """Return the path of a member in a root; `BadInput` where it is no plain file of one."""
    path = PurePosixPath(member.name)
    inside = path.parts[:1] in ((MLRUNS,), (HOME,)) and len(path.parts) > 1
    names = (inside or member.name == MANIFEST) and str(path) == member.name
    longest = max((len(os.fsencode(part)) for part in path.parts), default=0)
    fits = longest <= _NAME and len(path.parts) <= _LEVELS
    if not member.isreg() or ".." in path.parts or not names or not fits:
        raise BadInput(
            f"{archive}: its member {strict.cut(member.name)!r} is no plain file of a root, of "
            f"names of at most {_NAME} bytes and {_LEVELS} levels. Nothing was restored; it is no "
            "backup of ssi."
        )
    return path


def _extract(source: IO[bytes], target: Path) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    reader = Digesting(source)
    with target.open("xb") as file:
        if target.suffix == ".db":
            target.chmod(private.FILE)
        shutil.copyfileobj(reader, file, _BLOCK)
    return reader.digest.hexdigest()


def _contents(text: bytes, archive: Path) -> Contents:
    kind = json.loads(text)["format"]
    if kind != FORMAT:
        raise BadInput(
            f"{archive}: it has format {str(kind)[:20]}, and this version of ssi reads format "
            f"{FORMAT}. Restore it with the ssi that wrote it."
        )
    try:
        contents = TypeAdapter(Contents).validate_json(text, strict=True)
    except ValidationError as error:
        what = f"of its {MANIFEST}, {strict.cut(strict.faults(error))}"
        raise _damaged(archive, what) from None
    for name in [name for name in contents.files if not is_saved(PurePosixPath(name))]:
        # No backup of ours holds such a file: the archive is a stranger's.
        del contents.files[name]
        contents.left_out.append(name)
    return contents


def _compare(archive: Path, contents: Contents, digests: dict[str, str]) -> None:
    wanted = {name: facts.sha256 for name, facts in contents.files.items()}
    for name in sorted(wanted.keys() | digests.keys()):
        if wanted.get(name) != digests.get(name):
            what = "is missing, or has not the digest that the manifest says"
            raise _damaged(archive, f"{strict.cut(name)!r} {what}")


def _end_runs(database: Path) -> None:
    """Mark runs that were at work during the backup as killed: nobody works at them here."""
    if "runs" in sqlite.tables(database):
        now = int(time.time() * 1000)
        with closing(sqlite3.connect(database)) as connection, connection:
            connection.execute(
                "UPDATE runs SET status = 'KILLED', end_time = ? WHERE status = 'RUNNING'", (now,)
            )
