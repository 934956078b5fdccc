"""Bytes of a file that may be packed: gzip, bz2 or xz, told by how it begins; tar archives."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TypeAlias

from ssi_core import files
from ssi_core.types import BadInput

LARGEST_LINE = 16 << 20
"""Bytes of a line; the largest entities of Wikidata have a quarter of it."""
_BLOCK = 1 << 20
_REMEDY = "Download it again and compare its checksum."
_File: TypeAlias = IO[bytes] | gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile
_OPENERS: tuple[tuple[bytes, Callable[[IO[bytes]], _File]], ...] = (
    (b"\x1f\x8b", lambda raw: gzip.GzipFile(fileobj=raw)),
    (b"BZh", bz2.BZ2File),
    (b"\xfd7zXZ", lzma.LZMAFile),
)


def read_blocks(path: Path) -> Iterator[tuple[bytes, float]]:
    """Yield decompressed blocks of at most 1 MiB, and the share of the file that is read.

    Raises
    ------
    BadInput
        The file is missing, empty, cut off or damaged.
    """
    size = _size(path)
    with files.reading(path, _REMEDY), path.open("rb") as raw, _unpacked(raw) as file:
        while block := file.read(_BLOCK):
            yield block, raw.tell() / size


def read_lines(path: Path) -> Iterator[tuple[bytes | None, float]]:
    """Yield lines as `read_blocks` does blocks; the last may have no end.

    A line of more than `LARGEST_LINE` bytes is yielded as None.
    """
    size = _size(path)
    with files.reading(path, _REMEDY), path.open("rb") as raw, _unpacked(raw) as file:
        while line := file.readline(LARGEST_LINE + 1):
            long = len(line) > LARGEST_LINE
            while len(line) > LARGEST_LINE and not line.endswith(b"\n"):
                line = file.readline(LARGEST_LINE + 1)
            yield None if long else line, raw.tell() / size


def read_members(path: Path, pattern: re.Pattern[str], kind: str) -> Iterator[tuple[str, bytes]]:
    """Yield (group 1 of the pattern, content) of each file of a tar.xz archive, in its order.

    Nothing is unpacked to disk. ``kind`` tells in a message what the pattern asks for.

    Raises
    ------
    BadInput
        The archive is missing or damaged, or has a member of another kind.
    """
    remedy = "Restore the published archive."
    try:
        with tarfile.open(path, "r|xz") as archive:
            for member in archive:
                if member.isdir():
                    continue
                name = pattern.fullmatch(member.name)
                file = archive.extractfile(member) if member.isfile() and name else None
                if name is None or file is None:
                    raise BadInput(f"{path}: the member {member.name!r} isn't {kind}. {remedy}")
                yield name[1], file.read()
    except (OSError, EOFError, tarfile.TarError, lzma.LZMAError) as error:
        raise BadInput(f"{path}: {error}. {remedy}") from None


def _size(path: Path) -> int:
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file. Check the path.")
    size = path.stat().st_size
    if not size:
        raise BadInput(f"{path}: the file is empty. Download it again.")
    return size


def _unpacked(raw: IO[bytes]) -> _File:
    start = raw.read(6)
    raw.seek(0)
    for magic, opener in _OPENERS:
        if start.startswith(magic):
            return opener(raw)
    return raw
