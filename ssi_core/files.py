"""Errors of the file system in a user's words: damaged files, full disks, missing permissions."""

from __future__ import annotations

import errno
import glob
import json
import lzma
import os
import re
import shutil
import stat
import tempfile
import tokenize
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import polars as pl

from ssi_core import system
from ssi_core.errors import chain_of
from ssi_core.types import BadInput, Refused

MAKE_AGAIN = "Remove its directory and make it again."

_DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    SyntaxError,
    tokenize.TokenError,  # of numpy, when the header of an array is no Python
    zlib.error,
    lzma.LZMAError,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)


@contextmanager
def reading(path: Path, remedy: str = MAKE_AGAIN) -> Iterator[None]:
    """Turn what readers of files raise into `BadInput` with the file and the remedy."""
    try:
        yield
    except (BadInput, Refused):
        raise
    except _DAMAGE as error:
        # What cannot be opened is not damaged.
        if isinstance(error, OSError) and error.errno in _TOO_MANY:
            raise Refused(f"{path}: {_OPEN}") from error
        raise BadInput(f"{path}: {_said(error)}. {remedy}") from error


def read_object(path: Path, remedy: str = MAKE_AGAIN) -> dict[str, Any]:
    """Read a file that holds one JSON object; `BadInput` where it does not."""
    with reading(path, remedy):
        if not stat.S_ISREG(path.stat().st_mode):
            raise ValueError("it is not a regular file")
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"not JSON ({error})") from error
    if not isinstance(value, dict):
        raise BadInput(f"{path}: it holds no JSON object. {remedy}")
    return value


def parts_in(table: Path) -> list[Path]:
    """List the files of a table, in order.

    Polars reads them with ``glob=False``: a directory may have ``[`` in its name.
    """
    return sorted(table.glob("part-*.parquet"))


def read_strings(parts: Sequence[Path], *columns: str, remedy: str = MAKE_AGAIN) -> pl.DataFrame:
    """Read some columns of text from the parquet files of a table; `BadInput` names the file."""
    frames = []
    for part in parts:
        with reading(part, remedy):
            frame = pl.read_parquet(part, columns=list(columns), glob=False)
            wrong = [name for name in columns if frame.schema[name] != pl.String]
            if wrong:
                raise ValueError(f"the column {wrong[0]!r} holds no text")
            frames.append(frame)
    return pl.concat(frames, rechunk=False)


def refuse_output(out: Path | None, sources: Sequence[Path], *, is_artefact: bool = True) -> None:
    """Refuse an output that is an input, and an artefact that would hold one.

    Raises
    ------
    BadInput
        It does. Another place is the only remedy.
    """
    if out is None:
        return
    path = out.resolve()
    for source in sources:
        if not os.path.lexists(source):  # of a word, such as a query
            continue
        given = source.resolve()
        if path == given:
            relation = "is"
        elif is_artefact and given.is_relative_to(path):
            relation = "holds"
        else:
            continue
        raise BadInput(
            f"{out}: the output {relation} the input {source}. Name a place apart from it."
        )


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Turn a full disk and a missing permission into `Refused` with the directory and a remedy."""
    try:
        yield
    except Exception as error:
        refused = refusal(error, directory)
        if refused is None or isinstance(error, BadInput | Refused):
            raise
        raise refused from error


def write_result(path: Path, result: Mapping[str, Any], *, sort: bool = False) -> None:
    """Write a result as JSON in which a record is one line, so that a change shows as its row.

    Parameters
    ----------
    path : path
        The file.
    result : mapping
        Name -> value: a value, a mapping, or a list of records.
    sort : bool
        Sort the keys, so that equal results have equal bytes.

    Raises
    ------
    Refused
        The file cannot be written.
    """

    def line(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, sort_keys=sort)

    def lines(value: Any) -> str:
        if isinstance(value, list) and any(isinstance(record, dict | list) for record in value):
            return "[\n" + ",\n".join(f"  {line(record)}" for record in value) + "\n ]"
        if isinstance(value, dict) and any(isinstance(record, dict) for record in value.values()):
            records = (f"  {line(name)}: {line(record)}" for name, record in ordered(value))
            return "{\n" + ",\n".join(records) + "\n }"
        return line(value)

    def ordered(named: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
        return sorted(named.items()) if sort else named.items()

    text = ",\n".join(f" {line(name)}: {lines(value)}" for name, value in ordered(result))
    with writing(path.parent):
        path.write_text(f"{{\n{text}\n}}\n", encoding="utf-8")


def require_replaceable(directory: Path, manifest: str, what: str) -> None:
    """Refuse a directory that `replacing` would leave alone, as it holds something else."""
    occupied = directory.exists() and (not directory.is_dir() or any(directory.iterdir()))
    if occupied and not (directory / manifest).is_file():
        raise Refused(
            f"{directory} is there and holds no {what}; it is left alone. Name another directory."
        )


@contextmanager
def replacing(directory: Path, manifest: str, what: str) -> Iterator[Path]:
    """Give the path of a directory to write, which takes the place of another when it is whole.

    Parameters
    ----------
    directory : Path
        Place to take; what is there is removed last, and put back where the new one cannot come.
    manifest : str
        Name of a file that tells that such a thing is there, so that it may be replaced.
    what : str
        Such a thing in words.

    Raises
    ------
    Refused
        The directory holds something else, or cannot be written.
    """
    require_replaceable(directory, manifest, what)
    with writing(directory):
        directory.parent.mkdir(parents=True, exist_ok=True)
        with _beside(directory) as beside:
            old, new = beside / "old", beside / "new"
            try:
                yield new
                if directory.exists():
                    directory.rename(old)
                new.rename(directory)
            finally:
                if old.exists() and not directory.exists():
                    old.rename(directory)


@contextmanager
def _beside(directory: Path) -> Iterator[Path]:
    """Make a hidden directory beside another, and clear those of processes that were killed.

    Each is locked by the process that works in it, and the directory above while one is made.
    """
    prefix, above = f".{directory.name}.", directory.parent
    with ExitStack() as stack:
        with _locked(above, wait=True):
            for left in above.glob(f"{glob.escape(prefix)}????????"):
                with _locked(left) as is_ours:
                    if is_ours:
                        _clear(left, directory)
            beside = Path(tempfile.mkdtemp(prefix=prefix, dir=above))
            stack.enter_context(_locked(beside))
        try:
            yield beside
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def _clear(left: Path, directory: Path) -> None:
    """Remove what a killed process left, but not the only whole directory."""
    if (left / "old").exists() and not directory.exists():
        (left / "old").rename(directory)
    shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _locked(directory: Path, *, wait: bool = False) -> Iterator[bool]:
    """Lock a directory, and say whether that succeeded; the lock goes with the process."""
    if not system.POSIX:
        yield False
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        is_ours = False
        with suppress(OSError):  # another process has it, or the file system has no locks
            system.lock(descriptor, wait=wait)
            is_ours = True
        yield is_ours
    finally:
        os.close(descriptor)


def refusal(error: BaseException, directory: Path) -> Refused | None:
    """Return what to say if an error, or one that led to it, means that nothing can be written.

    Parameters
    ----------
    directory : Path
        Named where the error names no file.
    """
    for seen in chain_of(error):
        reason = _reason(seen)
        if reason in _TOO_MANY:
            return Refused(f"{getattr(seen, 'filename', None) or directory}: {_OPEN}")
        if reason in _WITHOUT_ROOM:
            lacking, remedy = _WITHOUT_ROOM[reason]
            return Refused(
                f"{directory}: {lacking}. What was whole is left as it was. {remedy}, and run it "
                "again."
            )
        if reason in _CLOSED:
            path = Path(getattr(seen, "filename", None) or directory)
            # What could not be made is not what is closed.
            path = path if os.path.lexists(path) else path.parent
            if reason == errno.ENOENT and _takes_files(path):
                continue
            return Refused(
                f"{path}: {_CLOSED[reason]}. Give this user the right to it, or name another place."
            )
    return None


def _takes_files(directory: Path) -> bool:
    """Tell whether something can be made in a directory; also of one that is not there."""
    with suppress(OSError), tempfile.TemporaryDirectory(dir=directory):
        return True
    return not directory.is_dir()


_TOO_MANY = {errno.EMFILE, errno.ENFILE}
_OPEN = "too many files are open. Raise that limit (ulimit -n), and run it again."
_MAKE_ROOM, _RAISE = "Make room there, or name another directory", "Raise that limit"
_TOO_LARGE = "a file would grow beyond the largest size that is allowed (ulimit -f)"
_UNKNOWN, _DATABASE = -1, -2
_WITHOUT_ROOM = {
    errno.ENOSPC: ("no space is left on its disk", _MAKE_ROOM),
    errno.EDQUOT: ("the quota of this user is used up", _MAKE_ROOM),
    errno.EFBIG: (_TOO_LARGE, _RAISE),
    _UNKNOWN: (
        f"no space is left on its disk, or {_TOO_LARGE}",
        f"{_MAKE_ROOM}, or raise the limit",
    ),
    _DATABASE: (
        "a database cannot be written: no space is left on its disk, or the disk fails",
        _MAKE_ROOM,
    ),
}
_UNWRITTEN = re.compile(r"SQLITE_(CANTOPEN|IOERR_(WRITE|(DIR_)?FSYNC|SHM(OPEN|SIZE|MAP)))")
"""Errors of SQLite where what it needs beside a database cannot be made or written."""
_CLOSED = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "its disk can only be read",
    errno.ENOTDIR: "a part of this path is no directory",
    errno.ENOENT: "nothing can be made in it",
}
# Libraries that write by themselves lose the number: numpy says how much it could write, SQLite
# says it in words, what copies a directory lists the errors of its files, and polars calls the end
# of a parquet file that it cannot write a transport error (what it cannot read is `BadInput`).
_IN_WORDS = re.compile(
    r"(?:\(os error |\[Errno )(\d+)|\d+ requested and \d+ written|or disk is full"
    r"|Not enough free space to write|Invalid thrift: transport error"
)
_LIMITED = "disk I/O error"
"""Words of SQLite for a limit on the size of files, and for other errors."""


def _reason(error: BaseException) -> int | None:
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    limited = system.limit("RLIMIT_FSIZE") is not None
    match = _IN_WORDS.search(str(error))
    if match is None:
        if limited and _LIMITED in str(error):
            return _UNKNOWN
        return _DATABASE if _UNWRITTEN.fullmatch(getattr(error, "sqlite_errorname", "")) else None
    if match[1]:
        return int(match[1])
    return _UNKNOWN if limited else errno.ENOSPC


def _said(error: BaseException) -> str:
    # One line, without the name of the file, which stands before it.
    if isinstance(error, KeyError):
        return f"{error} is missing"
    text = getattr(error, "strerror", None) or str(error).strip() or type(error).__name__
    line = re.sub(r" \(os error \d+\).*", "", text.splitlines()[0])
    return line.rstrip(".")[:200]
