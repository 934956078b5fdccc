"""Artefact directories: keyed, written under a temporary name, renamed when whole.

``key = sha256(kind, configuration, keys of the parents, digest of the code)``. Whatever is made
goes through `open_or_make`: the command, a flow and the library name the same work by the same key
and find it at the same place, ``.ssi/store/KIND/KEY``. In a place that the user named, a directory
that bears the wanted key is up to date; one that bears another is refused unless forced. While it
is written, a lock keeps a second process out; the operating system drops the lock of a process
that dies, so a stale lock cannot be.

While NAME is made, these lie beside it: ``.NAME.lock``, ``.NAME.partial`` (what is being written),
``.NAME.work`` (whole parts that the next run of the same key goes on from), ``.NAME.old`` (for a
moment: what is replaced). Nothing of it is left when NAME is whole, however often it was tried.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ssi_core import files, integrity, locks, root
from ssi_core.code import digest_of
from ssi_core.held import article, lacking
from ssi_core.remedies import offers
from ssi_core.types import BadInput, Refused

MANIFEST = "artefact.json"
_KEY = "key"
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Artefact:
    """A whole artefact directory and what its manifest says."""

    path: Path
    kind: str
    key: str
    configuration: Mapping[str, Any]
    parents: Mapping[str, str]
    counts: Mapping[str, Any]
    skipped: Mapping[str, Any]
    code: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Building:
    """An artefact being written: put files under ``path``, facts into ``counts``, ``skipped``."""

    path: Path
    key: str
    _work: Path
    counts: dict[str, Any] = field(default_factory=dict)
    skipped: dict[str, Any] = field(default_factory=dict)

    def work(self, name: str) -> Path:
        """Directory for parts of the work, outside of the artefact.

        It outlives a kill and a failure, and the next run of the same key finds it again: write a
        part under another name and rename it when it is whole. It goes when the artefact is whole.
        """
        if not self._work.exists():
            self._work.mkdir()
            write_json(self._work / _KEY, self.key)
        directory = self._work / name
        directory.mkdir(exist_ok=True)
        return directory


def digest_file(path: Path) -> str:
    """Sha256 of a file as hexadecimal digits, read in blocks of 1 MiB."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def key_of(
    kind: str, configuration: Mapping[str, Any], parents: Mapping[str, str], code: str = ""
) -> str:
    """Key of an artefact: 64 hexadecimal digits; equal inputs, equal key.

    >>> key_of("task", {"words": 30}, {}) == key_of("task", {"words": 30}, {})
    True
    """
    parts = [kind, configuration, dict(parents), code]
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def read(path: str | Path, kind: str | None = None) -> Artefact:
    """Open a whole artefact, and check its files where this process has not yet done so.

    Raises
    ------
    BadInput
        There is none, it is of another kind, or a file is not as it was written.
    """
    path = root.user_path(path)
    remedy = f"Remove {path} and make it again."
    if not (path / MANIFEST).exists():
        raise BadInput(lacking(path, kind or "artefact"))
    manifest = integrity.read_manifest(path, MANIFEST, remedy)
    wrong = [name for name, of in _FACTS.items() if not isinstance(manifest.get(name), of)]
    if wrong:
        raise BadInput(
            f"{path / MANIFEST}: {', '.join(wrong)} missing or of the wrong kind; another version "
            f"of ssi may have written it. {remedy}"
        )
    if kind is not None and manifest["kind"] != kind:
        raise BadInput(lacking(path, kind))
    integrity.check_directory(path, MANIFEST, manifest["files"], remedy)
    return Artefact(path, *(manifest[name] for name in _FACTS))


_FACTS: Mapping[str, type] = {
    "kind": str,
    "key": str,
    "configuration": dict,
    "parents": dict,
    "counts": dict,
    "skipped": dict,
    "code": dict,
}


def open_or_make(
    kind: str,
    configuration: Mapping[str, Any],
    parents: Mapping[str, str],
    make: Callable[[Building], None],
    *,
    facts: Mapping[str, Any] | None = None,
    data: bool = False,
    out: Path | None = None,
    force: bool = False,
) -> Artefact:
    """Open an artefact, or make it where it is not there yet.

    Parameters
    ----------
    kind : str
        Kind of artefact, and directory of the store that holds it.
    configuration : Mapping
        Settings that change what is made; nothing else belongs here.
    parents : mapping
        Names and keys of what it is made from: of artefacts, or digests of raw files by
        their content.
    make : Callable
        Writes the files under ``building.path``. Its module, and all that this imports, are part of
        the key (`ssi_core.code`).
    facts : Mapping, optional
        What the manifest keeps beside the configuration and the key does not depend on.
    data : bool
        The artefact is data that is never made anew by itself: its key holds no code.
    out : Path, optional
        Place that the user named; by default ``.ssi/store/KIND/KEY``.
    force : bool
        Replace what ``out`` holds, if it is another artefact.

    Raises
    ------
    Refused
        ``out`` holds something else, or another process is writing it.
    BadInput
        A file of the artefact is not as it was written.
    """
    code = {} if data else code_of(make)
    key = key_of(kind, configuration, parents, code.get("digest", ""))
    path = path_of(kind, key, out)
    if (path / MANIFEST).is_file() and read(path).key in parents.values():
        raise BadInput(f"{path}: the output is an input. Name a place apart from it.")
    artefact = up_to_date(path, kind, key, force=force)
    if artefact is None:
        written = {**configuration, **(facts or {})}
        with create(
            path, kind=kind, key=key, configuration=written, parents=parents, code=code
        ) as building:
            make(building)
        artefact = read(path, kind)
    return artefact


def code_of(make: Callable[..., Any]) -> dict[str, str]:
    """Return the module of a function, and the digest of the code that the module reaches."""
    while isinstance(make, partial):
        make = make.func
    return {"module": make.__module__, "digest": digest_of(make)}


def path_of(kind: str, key: str, out: Path | None = None) -> Path:
    """Return the directory of an artefact: the one that the user named, or its own in the store."""
    return root.store_path(kind, key[:_IN_NAME]) if out is None else Path(out)


_IN_NAME = 24
"""Digits of the key in the name of a place."""


def up_to_date(path: Path, kind: str, key: str, *, force: bool = False) -> Artefact | None:
    """Return the artefact at ``path`` if it bears ``key``, None if nothing is there.

    Raises
    ------
    Refused
        Something else is there and ``force`` is off.
    """
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return None
    if not (path / MANIFEST).exists():
        raise Refused(
            f"{path} is there and is not an artefact of ssi; it is left alone. Name another "
            "directory."
        )
    artefact = read(path)
    if artefact.kind == kind and artefact.key == key:
        _clear_leftovers(path)
        return artefact
    if force:
        return None
    raise Refused(
        f"{path} holds {article(artefact.kind)} made from other input, settings or code "
        f"(key {artefact.key[:12]}, wanted {key[:12]}). "
        f"{'Type --force to replace it' if offers('--force') else 'Remove it'}, or name another "
        "directory."
    )


@contextmanager
def create(
    path: Path,
    *,
    kind: str,
    key: str,
    configuration: Mapping[str, Any],
    parents: Mapping[str, str],
    code: Mapping[str, str] | None = None,
) -> Iterator[Building]:
    """Write an artefact: the body fills ``building.path``, which is renamed when it succeeds.

    After a failure nothing of it is kept but the parts in `Building.work`, for the next call with
    the same key; and not those either where the input or a setting was wrong (`ValueError`).

    Raises
    ------
    Refused
        Another process is writing the same artefact.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial, work, old = (_beside(path, what) for what in _KINDS)
    with files.writing(path), locked(path):
        if old.exists() and not path.exists():
            old.rename(path)
        shutil.rmtree(partial, ignore_errors=True)
        _keep_work_of(key, work)
        building = Building(partial, key, work)
        try:
            # A signal may come as soon as the directory is there.
            partial.mkdir()
            yield building
            seal(
                partial,
                kind=kind,
                key=key,
                configuration=configuration,
                parents=parents,
                counts=building.counts,
                skipped=building.skipped,
                code=code,
            )
            _replace(partial, path)
        except BaseException as error:
            shutil.rmtree(partial, ignore_errors=True)
            if isinstance(error, ValueError):
                _remove_work(work)
            raise
        _remove_work(work)


def seal(
    path: Path,
    *,
    kind: str,
    key: str,
    configuration: Mapping[str, Any],
    parents: Mapping[str, str],
    counts: Mapping[str, Any],
    skipped: Mapping[str, Any],
    code: Mapping[str, str] | None = None,
) -> None:
    """Make a finished directory an artefact: write its manifest, and all of it to the disk."""
    mappings = (configuration, parents, counts, skipped, code or {})
    facts = (kind, key, *map(dict, mappings))
    integrity.seal_directory(path, MANIFEST, dict(zip(_FACTS, facts, strict=True)))


def again(artefact: Artefact, path: Path) -> Artefact:
    """Give an artefact another place, by second names of its files where there are hard links."""
    with create(
        path,
        kind=artefact.kind,
        key=artefact.key,
        configuration=artefact.configuration,
        parents=artefact.parents,
        code=artefact.code,
    ) as building:
        shutil.copytree(artefact.path, building.path, copy_function=link, dirs_exist_ok=True)
        building.counts.update(artefact.counts)
        building.skipped.update(artefact.skipped)
    return read(path, artefact.kind)


def link(source: str | Path, target: str | Path) -> None:
    """Give a finished file a second name, or copy it where the file system has no hard links."""
    try:
        Path(target).hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)


_KINDS = ("partial", "work", "old")


def _beside(path: Path, what: str) -> Path:
    return path.parent / f".{path.name}.{what}"


def _keep_work_of(key: str, work: Path) -> None:
    """Clear the parts of earlier runs unless they bear the key."""
    if not work.exists():
        return
    try:
        work_key = json.loads((work / _KEY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        work_key = None
    if work_key == key:
        _log.info("going on from what an earlier run left in %s", work)
    else:
        _log.info("clearing %s: it is from other input, settings or code", work)
        _remove_work(work)


def _remove_work(work: Path) -> None:
    # Without its key, what a kill leaves of it is never taken for whole.
    (work / _KEY).unlink(missing_ok=True)
    shutil.rmtree(work, ignore_errors=True)


def _clear_leftovers(path: Path) -> None:
    """Remove what a process left beside a whole artefact when it was killed at the very end."""
    names = [_beside(path, what) for what in (*_KINDS, "lock")]
    if not any(name.exists() for name in names):
        return
    try:
        with locked(path):
            for name in names[:-1]:
                shutil.rmtree(name, ignore_errors=True)
    except (Refused, OSError):
        # Another process replaces the artefact now, or we may only read here.
        _log.debug("%s: left what lies beside it", path)


@contextmanager
def locked(path: Path, what: str = "") -> Iterator[None]:
    """Hold the lock of an artefact (or of ``what``); `Refused` names the process that has it."""
    with locks.alone(_beside(path, "lock"), what or str(path)):
        yield


def _replace(partial: Path, path: Path) -> None:
    old = _beside(path, "old")
    shutil.rmtree(old, ignore_errors=True)
    if path.exists():
        path.rename(old)
    partial.rename(path)
    integrity.sync_names(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def write_json(path: Path, value: Any) -> None:
    """Write JSON through a temporary name, readable by a person; a signal leaves no such name."""
    temporary = path.with_name(path.name + ".tmp")
    text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.rename(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
