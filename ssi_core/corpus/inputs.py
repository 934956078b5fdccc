"""The one door for the files of a user, whose bytes are bounded after they are unpacked.

A path that the user names may be a link, and a pipe where it is read once; `corpus.tree` says what
is taken of a folder. A file of a few kilobytes can unpack to more than any disk holds.
"""

from __future__ import annotations

import bz2
import gzip
import io
import os
import stat
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO

from ssi_core import cache, files, store
from ssi_core.corpus.packed import unxz, unzstd
from ssi_core.types import BadInput, Progress

LARGEST_LINE = 16 << 20
"""Bytes of a line; the largest entities of Wikidata have a quarter of it."""
LARGEST_WHOLE = 256 << 20
"""Bytes of what is read at once."""
LARGEST_SETTINGS = 1 << 20
"""Bytes of a file of settings, in TOML."""
LARGEST_SHARE = 1 << 30
"""Bytes that any packed file may unpack to, and that a pipe may give."""
LARGEST_RATIO = 200
"""Times its size that a packed file may unpack to; text takes 3 to 40 times, a bomb 1,000."""

RESTORE = "Restore the file."
DOWNLOAD = "Download it again and compare its checksum."
_BLOCK = 1 << 20
_OPENERS: dict[str, tuple[tuple[bytes, ...], Callable[[IO[bytes]], Any]]] = {
    ".gz": ((b"\x1f\x8b\x08",), lambda raw: gzip.GzipFile(fileobj=raw)),
    ".bz2": (
        tuple(
            b"BZh%d%b" % (n, tail) for n in range(1, 10) for tail in (b"1AY&SY", b"\x17rE8P\x90")
        ),
        bz2.BZ2File,
    ),
    ".xz": ((b"\xfd7zXZ\0",), unxz),
    ".zst": ((b"\x28\xb5\x2f\xfd",), unzstd),
}
PACKINGS = tuple(_OPENERS)
"""Endings of packed files."""


def packing_of(path: Path) -> str:
    """Return the usual ending of the packing that a file begins as; "" if it is not packed."""
    with open_raw(path) as raw:
        return _packing(raw)


def _packing(raw: Any) -> str:
    start = raw.peek(10)[:10]
    begins = (ending for ending, (magic, _) in _OPENERS.items() if start.startswith(magic))
    return next(begins, "")


def unpacked_limit(size: int) -> int:
    """Return the bytes that a packed file of a size may unpack to."""
    return max(LARGEST_SHARE, LARGEST_RATIO * size)


def too_large(
    where: str, most: int, remedy: str = "unpack it first, and name what it unpacks to"
) -> BadInput:
    """Return what to say of a packed file that unpacks to more than it may."""
    return BadInput(
        f"{where}: it unpacks to more than {_size(most)}, which no text of its size does. If it is "
        f"no bomb, {remedy}."
    )


class _Bounded(io.RawIOBase):
    """Bytes of a stream; one that gives more than it may ends in `BadInput`."""

    def __init__(self, stream: IO[bytes], where: str, most: int) -> None:
        self._stream, self._where, self._most, self._left = stream, where, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n: int = self._stream.readinto(buffer)  # type: ignore[attr-defined]
        self._left -= n
        if self._left < 0:
            raise too_large(self._where, self._most)
        return n


def _unpacked(raw: io.BufferedReader, path: Path) -> io.BufferedReader:
    state = os.fstat(raw.fileno())
    packing = _packing(raw)
    if not packing and stat.S_ISREG(state.st_mode):
        return raw
    stream = _OPENERS[packing][1](raw) if packing else raw
    return io.BufferedReader(_Bounded(stream, str(path), unpacked_limit(state.st_size)), _BLOCK)


@contextmanager
def open_input(path: Path, remedy: str = RESTORE) -> Iterator[BinaryIO]:
    """Open a file that the user names: its bytes as they unpack; plain ones can be sought in.

    Raises
    ------
    BadInput
        The file is missing, cut off or damaged, or unpacks to more than it may.
    """
    with files.reading(path, remedy), path.open("rb") as raw:
        yield _unpacked(raw, path)


@contextmanager
def open_text(path: Path, remedy: str = RESTORE, newline: str | None = None) -> Iterator[TextIO]:
    """Open a file as `open_input` does, as text in UTF-8; ``newline`` is that of ``open``."""
    with open_input(path, remedy) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline=newline)
        yield text
        text.detach()


def open_raw(path: Path) -> io.BufferedReader:
    """Open a file for its bytes as they are, for what unpacks and bounds them by itself."""
    return path.open("rb")


def read_input(
    path: Path, remedy: str = RESTORE, *, most: int = LARGEST_WHOLE, packed: bool = True
) -> bytes:
    """Read a file at once.

    Parameters
    ----------
    most : int
        Bytes that it may have.
    packed : bool
        Unpack it if it is packed.

    Raises
    ------
    BadInput
        The file is missing or damaged, or has more bytes.
    """
    with files.reading(path, remedy), open_raw(path) as raw:
        content = _read(_unpacked(raw, path) if packed else raw, most + 1)
    if len(content) > most:
        raise BadInput(f"{path}: it has more than {_size(most)}. Give a smaller file.")
    return content


def read_text(path: Path, remedy: str = RESTORE, *, most: int = LARGEST_WHOLE) -> str:
    """Read a file at once, as `read_input` does, as text in UTF-8 with plain line ends."""
    content = read_input(path, remedy, most=most)
    with files.reading(path, remedy):
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


def read_toml(path: Path, remedy: str) -> dict[str, Any]:
    """Read a file of settings in TOML; `BadInput` where it is none."""
    text = read_text(path, remedy, most=LARGEST_SETTINGS)
    with files.reading(path, remedy):
        return tomllib.loads(text)


def unpack(content: bytes, where: str, remedy: str = RESTORE, most: int = LARGEST_WHOLE) -> bytes:
    """Return the bytes of a member of an archive, unpacked where it is packed.

    Raises
    ------
    BadInput
        They are damaged, or more than ``most``.
    """
    raw = io.BufferedReader(io.BytesIO(content))
    packing = _packing(raw)
    if not packing:
        return content
    with files.reading(Path(where), remedy):
        return _read(io.BufferedReader(_Bounded(_OPENERS[packing][1](raw), where, most)), most + 1)


def _read(file: BinaryIO, most: int) -> bytes:
    """Read at most so many bytes; at once they would be set aside for a file of any size."""
    blocks = []
    while most > 0 and (block := file.read(min(most, _BLOCK))):
        blocks.append(block)
        most -= len(block)
    return b"".join(blocks)


def bounded(lines: Iterable[str], where: str, most: int = LARGEST_WHOLE) -> Iterator[str]:
    """Yield lines of what is read at once; `BadInput` where they have more letters than it may."""
    left = most
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            raise BadInput(f"{where}: it has more than {_size(most)}. Give a smaller file.")
        yield line


def read_blocks(path: Path) -> Iterator[tuple[bytes, float]]:
    """Yield unpacked blocks of at most 1 MiB, and the share of the file that is read.

    Raises
    ------
    BadInput
        The file is missing, empty, cut off or damaged, or unpacks to more than it may.
    """
    with _whole(path) as (file, share):
        while block := file.read(_BLOCK):
            yield block, share()


def read_lines(path: Path) -> Iterator[tuple[bytes | None, float]]:
    """Yield lines as `read_blocks` does blocks; the last may have no end.

    A line of more than `LARGEST_LINE` bytes is yielded as None.
    """
    with _whole(path) as (file, share):
        while line := file.readline(LARGEST_LINE + 1):
            long = len(line) > LARGEST_LINE
            while len(line) > LARGEST_LINE and not line.endswith(b"\n"):
                line = file.readline(LARGEST_LINE + 1)
            yield None if long else line, share()


def text_lines(path: Path, remedy: str = RESTORE) -> Iterator[str]:
    """Yield the lines of a text in UTF-8, with plain line ends.

    Raises
    ------
    BadInput
        The file is missing or damaged, or a line has more than `LARGEST_LINE` letters.
    """
    with open_text(path, remedy) as file:
        while line := file.readline(LARGEST_LINE + 1):
            if len(line) > LARGEST_LINE:
                raise BadInput(f"{path}: a line has more than {_size(LARGEST_LINE)}. {remedy}")
            yield line


@contextmanager
def _whole(path: Path) -> Iterator[tuple[BinaryIO, Callable[[], float]]]:
    """Open a file to be read to its end, with the share that is read."""
    require_file(path)
    size = path.stat().st_size
    if not size:
        raise BadInput(f"{path}: the file is empty. Download it again.")
    with files.reading(path, DOWNLOAD), open_raw(path) as raw:
        yield _unpacked(raw, path), lambda: raw.tell() / size


def _size(most: int) -> str:
    return f"{most >> 20:,} MiB" if most >> 20 else f"{most >> 10:,} KiB"


def require_file(path: Path) -> None:
    """Refuse a path that is no regular file, such as one that can be read once only."""
    if path.is_file():
        return
    if path.exists() and not path.is_dir():
        raise BadInput(
            f"{path}: it is no regular file, and is read more than once. Save what it gives as a "
            "file, and name that."
        )
    wrong = (
        "it is a folder. Name the file"
        if path.is_dir()
        else "there is no such file. Check the path"
    )
    raise BadInput(f"{path}: {wrong}.")


def require_folder(path: Path) -> None:
    """Refuse a path that is no directory."""
    if not path.is_dir():
        missing = "there is no such folder. Check the path"
        raise BadInput(f"{path}: {'it is a file. Name its folder' if path.exists() else missing}.")


def digest_inputs(
    paths: Sequence[Path], *, out: Path | None = None, progress: Progress | None = None
) -> dict[str, str]:
    """Return file name -> sha256 of raw input files, the parents of an artefact.

    A digest is remembered in the user's cache for a path with its size, its inode and its times.

    Parameters
    ----------
    out : Path, optional
        Place of the artefact, which must be apart from the files.

    Raises
    ------
    BadInput
        A file is missing, two files have one name, or the artefact would take the place of one.
    """
    files.refuse_output(out, paths)
    digests: dict[str, str] = {}
    for file in paths:
        require_file(file)
        if file.name in digests:
            raise BadInput(f"{file}: a file of that name is given twice. Give each file once.")
        digests[file.name] = _digest(file, progress)
    return digests


def _digest(file: Path, progress: Progress | None) -> str:
    state = file.stat()
    times = f"{state.st_mtime_ns} {state.st_ctime_ns}"
    name = f"{file.resolve()} {state.st_size} {state.st_ino} {times}"
    digest = cache.recall("inputs", name)
    if digest is None:
        if progress is not None:
            progress(0.0, f"reading the checksum of {file.name}")
        with files.reading(file, RESTORE):
            digest = store.digest_file(file)
        cache.remember("inputs", name, digest)
    return digest
