"""List what was made: what it is, what it was made from, and whether today's code would find it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ssi_core import integrity
from ssi_core.code import digest_of_modules
from ssi_core.types import BadInput

MANIFEST = "artefact.json"
_UNFINISHED = (".partial", ".work", ".old", ".lock")


@dataclass(frozen=True)
class Stored:
    """An artefact of the store.

    Attributes
    ----------
    path : Path
        Directory of the artefact.
    kind : str
        Kind of artefact, such as "collection".
    key : str
        Empty where the manifest cannot be read.
    size : int
        Bytes of its files.
    made : datetime
        When it became whole, in UTC.
    configuration : Mapping
        Settings that it was made with.
    parents : mapping
        Names and keys of what it was made from.
    current : bool or None
        The code of today gives it the same key; None: its key holds no code, it is data.
    problem : str
        Why the manifest cannot be read; empty where it can.
    """

    path: Path
    kind: str
    key: str
    size: int
    made: datetime
    configuration: Mapping[str, Any]
    parents: Mapping[str, str]
    current: bool | None
    problem: str = ""


def list_store(home: Path) -> list[Stored]:
    """List the artefacts below ``home/store`` and ``home/frozen``, by kind and then by age."""
    paths = [*home.glob("store/*/*"), *home.glob("frozen/*/*")]
    directories = (path for path in paths if path.is_dir() and not _unfinished(path))
    return sorted(map(_stored, directories), key=lambda one: (one.kind, one.made))


def _unfinished(path: Path) -> bool:
    return path.name.startswith(".") and path.name.endswith(_UNFINISHED)


def _stored(path: Path) -> Stored:
    finished = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    try:
        facts = integrity.read_manifest(path, MANIFEST, "Remove it and make it again.")
        size = sum(size for size, _ in facts["files"].values())
        names = ("kind", "key", "configuration", "parents")
        kind, key, configuration, parents = (facts[name] for name in names)
        current = _is_current(facts["code"])
    except (BadInput, KeyError, OSError, TypeError) as error:
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        return Stored(path, path.parent.name, "", size, finished, {}, {}, False, str(error))
    return Stored(path, kind, key, size, finished, configuration, parents, current)


def _is_current(code: Mapping[str, str]) -> bool | None:
    if not code:
        return None
    try:
        return digest_of_modules([code["module"]]) == code["digest"]
    except ValueError:
        # The module is gone.
        return False


def ancestors(wanted: Iterable[Stored], everything: Iterable[Stored]) -> set[Path]:
    """Return the places of artefacts and of all that they were made from."""
    by_key = {one.key: one for one in everything if one.key}
    waiting, paths = list(wanted), set()
    while waiting:
        one = waiting.pop()
        if one.path in paths:
            continue
        paths.add(one.path)
        waiting += [by_key[key] for key in one.parents.values() if key in by_key]
    return paths
