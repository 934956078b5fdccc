"""Bytes of a file that may be packed: gzip, bz2 or xz, told by how it begins."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TypeAlias

from ssi_core import files
from ssi_core.types import BadInput

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


def read_lines(path: Path) -> Iterator[tuple[bytes, float]]:
    """Yield lines as `read_blocks` does blocks; the last may have no end."""
    size = _size(path)
    with files.reading(path, _REMEDY), path.open("rb") as raw, _unpacked(raw) as file:
        for line in file:
            yield line, raw.tell() / size


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
