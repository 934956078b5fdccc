"""Seal a directory when it is written, and check it when it is first read.

The manifest of a directory (``artefact.json``, ``model.json``) records the size and the XXH3 digest
of every file beside it, and a digest of itself. `check_directory` compares them before anything is
read, so that a flipped bit, an array of another run or a missing part is an error and never a wrong
number or a crash of a kernel. A process checks a directory once, as long as sizes and times of its
files stay the same; for large directories the user's cache remembers it for later processes.
"""

from __future__ import annotations

import json
import math
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import xxhash
from numpy.lib.format import open_memmap
from numpy.typing import NDArray

from ssi_core import cache, files, system
from ssi_core.held import lacking
from ssi_core.types import BadInput

Records: TypeAlias = Mapping[str, tuple[int, str]]
"""Relative path of a file -> its size in bytes and its digest."""

_BLOCK = 1 << 20
_LARGE = 64 << 20
"""Bytes from which a check is remembered on disk: below, checking again costs less than a file."""

_checked: dict[str, str] = {}
"""Directory -> stamp of its files, of what this process has checked."""


def seal_directory(
    directory: Path, manifest: str, facts: Mapping[str, Any], *, durable: bool = True
) -> None:
    """Write the manifest of a finished directory, and bring all of it to the disk.

    Parameters
    ----------
    directory : Path
        Directory with every file that belongs to it, and no manifest yet.
    manifest : str
        Name of the manifest.
    facts : mapping
        JSON values that the manifest holds; "files" and "digest" are added.
    durable : bool
        Wait until all of it is on the disk, so that it survives a power cut.
    """
    records = {}
    for name in _names(directory, manifest):
        with (directory / name).open("rb") as file:
            records[name] = _measure(file.fileno())
            if durable:
                os.fsync(file.fileno())
    write_manifest(directory, manifest, {**facts, "files": records}, durable=durable)
    if durable:
        for inner in [directory, *(path for path in directory.rglob("*") if path.is_dir())]:
            sync_names(inner)


def record(path: Path) -> tuple[int, str]:
    """Return the size in bytes and the digest of a file, for a manifest's "files"."""
    with path.open("rb") as file:
        return _measure(file.fileno())


def write_manifest(
    directory: Path, manifest: str, facts: Mapping[str, Any], *, durable: bool = True
) -> None:
    """Write a manifest with its digest; what is there is replaced when the new one is whole.

    Parameters
    ----------
    directory, manifest, durable : Path, str, bool
        See `seal_directory`.
    facts : mapping
        JSON values, the records of the files ("files") among them
    """
    # As they are read back: JSON has strings for keys, and lists for tuples.
    whole = json.loads(json.dumps(dict(facts), ensure_ascii=False))
    text = json.dumps({**whole, "digest": _digest_of(whole)}, indent=1, ensure_ascii=False)
    draft = directory / f".{manifest}.tmp"
    with draft.open("w", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        if durable:
            os.fsync(file.fileno())
    draft.rename(directory / manifest)


def sync_names(directory: Path) -> None:
    """Bring the names in a directory to the disk, so that a rename survives a power cut."""
    if not system.POSIX:
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_manifest(directory: Path, manifest: str, remedy: str) -> dict[str, Any]:
    """Read the manifest of a directory; `BadInput` where it was changed after it was written."""
    path = directory / manifest
    facts = files.read_object(path, remedy)
    digest = facts.pop("digest", None)
    if digest is None or not isinstance(facts.get("files"), dict):
        raise BadInput(f"{path}: another version of ssi has written it. {remedy}")
    if digest != _digest_of(facts):
        raise BadInput(f"{path}: it was changed after it was written. {remedy}")
    return facts


def open_sealed(directory: Path, manifest: str, what: str, remedy: str) -> dict[str, Any]:
    """Return the manifest of a directory of which every file is as it was written.

    Parameters
    ----------
    directory : Path
        Directory with the files and their manifest.
    manifest : str
        Name of its manifest.
    what : str
        What it should hold, in words.
    remedy : str
        Last sentence of the errors.

    Raises
    ------
    BadInput
        It has no manifest, or something of it was changed; see `check_directory`.
    """
    if not (directory / manifest).exists():
        raise BadInput(lacking(directory, what))
    facts = read_manifest(directory, manifest, remedy)
    check_directory(directory, manifest, facts["files"], remedy)
    return facts


def check_directory(
    directory: Path, manifest: str, records: Records, remedy: str, *, anew: bool = False
) -> None:
    """Check every file of a directory against its manifest, and the arrays for sane values.

    Parameters
    ----------
    directory : Path
        Directory with the files and their manifest.
    manifest : str
        Name of its manifest, which has no record of itself.
    records : mapping
        What the manifest says of the files.
    remedy : str
        Last sentence of every error.
    anew : bool
        Check also what was checked before.

    Raises
    ------
    BadInput
        A file is missing, is not a regular file, or holds other bytes; a table was added; an array
        of floats holds a number that is not finite; a CSR matrix points outside of itself.
    """
    directory = directory.resolve()
    stamp = _stamp(directory, manifest, records, remedy)
    if not anew and _checked.get(str(directory)) == stamp:
        return
    large = sum(size for size, _ in records.values()) >= _LARGE
    if anew or not (large and cache.recall("checked", str(directory)) == stamp):
        for name, (size, digest) in records.items():
            _check_file(directory / name, (size, digest), remedy)
        for name in records:
            if name.endswith(".npy"):
                _check_array(directory / name, remedy)
        if large:
            cache.remember("checked", str(directory), stamp)
    _checked[str(directory)] = stamp


def _names(directory: Path, manifest: str) -> list[str]:
    """Return the relative paths of all files but the manifest; hidden ones are not part of it."""
    names: list[str] = []
    for folder, inner, here in os.walk(directory):
        inner[:] = (name for name in inner if not name.startswith("."))
        below = "" if folder == str(directory) else f"{os.path.relpath(folder, directory)}/"
        names += (f"{below}{name}" for name in here if not name.startswith("."))
    return sorted(name for name in names if name != manifest)


def _stamp(directory: Path, manifest: str, records: Records, remedy: str) -> str:
    """Return what changes with the content: names, sizes, times and digests of the files."""
    present = set(_names(directory, manifest))
    if missing := sorted(records.keys() - present):
        raise BadInput(f"{directory / missing[0]}: it is missing. {remedy}")
    # A part that was added would be read with the others; no reader looks at any other file.
    folders = {name.rpartition("/")[0] for name in records}
    parts = (name for name in present - records.keys() if name.endswith(".parquet"))
    if added := sorted(part for part in parts if part.rpartition("/")[0] in folders):
        raise BadInput(f"{directory / added[0]}: it was not written with the rest. {remedy}")
    facts = []
    for name, (size, expected) in sorted(records.items()):
        status = (directory / name).stat()
        if not stat.S_ISREG(status.st_mode):
            raise BadInput(f"{directory / name}: it is not a regular file. {remedy}")
        times = status.st_mtime_ns, status.st_ctime_ns, status.st_ino
        facts.append([name, size, expected, status.st_size, *times])
    return xxhash.xxh3_128(json.dumps(facts).encode()).hexdigest()


def _check_file(path: Path, expected: tuple[int, str], remedy: str) -> None:
    with files.reading(path, remedy), path.open("rb") as file:
        if os.fstat(file.fileno()).st_size != expected[0]:
            raise ValueError(f"it does not have the {expected[0]} bytes that were written")
        if tuple(_measure(file.fileno())) != tuple(expected):
            raise ValueError("its bytes are not those that were written")


def _check_array(path: Path, remedy: str) -> None:
    with files.reading(path, remedy), path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        read_header = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read_header(file)
        if dtype.hasobject:
            raise ValueError("it holds pickled objects, which are never loaded")
        if math.prod(shape) == 0:
            return
        if dtype.kind == "f" and not _is_finite(open_memmap(path, mode="r")):
            raise ValueError("it holds numbers that are not finite")
        if path.name == "indices.npy" and (path.parent / "shape.json").exists():
            _check_columns(path)


def _is_finite(array: NDArray[np.floating[Any]]) -> bool:
    # A sum is finite only if each number is, and needs no second array.
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.isfinite(array.sum(dtype=np.float64)))


def _check_columns(path: Path) -> None:
    columns = json.loads((path.parent / "shape.json").read_text())[1]
    indices = open_memmap(path, mode="r")
    if indices.min() < 0 or indices.max() >= columns:
        raise ValueError(f"a column is not one of 0..{columns - 1}")


def _measure(descriptor: int) -> tuple[int, str]:
    digest, size = xxhash.xxh3_128(), 0
    while block := os.pread(descriptor, _BLOCK, size):
        digest.update(block)
        size += len(block)
    return size, digest.hexdigest()


def _digest_of(facts: Mapping[str, Any]) -> str:
    text = json.dumps(facts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return xxhash.xxh3_128(text.encode()).hexdigest()
