"""Back a root up into one archive, while its servers and commands go on.

The archive is a tar file with files below ``mlruns/`` and ``.ssi/``, each under its name in the
root (`is_saved`). Its last member, ``ssi-backup.json``, lists them with sizes and digests. Nothing
of Prefect is among them: ``ssi up`` makes the deployments anew. Databases are copied as they are at
one moment, and before all other files: what a finished run names is then in the archive too.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shlex
import stat
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import IO, Any

from flows import environment
from flows.storage import sqlite
from ssi_core import files, private
from ssi_core.types import BadInput, Progress, Refused

MANIFEST = "ssi-backup.json"
FORMAT = 1
MLRUNS, HOME = "mlruns", ".ssi"
_ENDINGS = (".tar", ".gz", ".tgz")

KEPT = ("frozen", "registry", "sensor", "serve")
"""Below ``.ssi``: what nobody can make again."""

REBUILDABLE = ("checkpoints", "comparisons", "demo", "dumps", "models", "rows", "store")
"""Below ``.ssi``: what the same commands make again from the same inputs."""

NEVER = ("logs", "prefect", "tmp")
"""Below ``.ssi``: what belongs to running processes and to Prefect, with the root's secret."""

_PASSING = (
    *(".lock", ".users", ".start", ".partial", ".work", ".old", ".new", ".before", ".tmp"),
    *("-wal", "-shm", "-journal"),
)
"""Endings of locks, and of what is not whole or goes with a database."""


@dataclass
class Facts:
    """Describe a file: its digest, its bytes, and when it was changed."""

    sha256: str
    size: int
    mtime_ns: int


@dataclass
class Contents:
    """List what an archive holds, as its manifest says.

    Attributes
    ----------
    root : str
        The path of the root when it was backed up.
    made : str
        The time, UTC.
    essential : bool
        Whether what can be rebuilt was left out.
    files : dict
        Name of a file -> its facts.
    left_out : list of str
        Names that are no plain files, or no part of a backup.
    """

    root: str
    made: str
    essential: bool
    files: dict[str, Facts] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(facts.size for facts in self.files.values())

    def to_dict(self) -> dict[str, Any]:
        """Return the values that the manifest holds."""
        return {"format": FORMAT, "ssi": version("ssi"), **asdict(self)}


def back_up(
    archive: Path, *, essential: bool = False, progress: Progress | None = None
) -> Contents:
    """Write an archive of the root; it has its name once it is whole.

    Parameters
    ----------
    archive : Path
        The file to write: ``.tar``, or ``.tar.gz`` to compress it.
    essential : bool
        Leave out what the same commands make again from the same inputs.
    progress : callable, optional
        Called with the share that is done and the name of a file.

    Raises
    ------
    BadInput
        The name of the archive has another ending, or its directory is not there.
    Refused
        The file is there already, the disk is full, or a file changes while it is read.
    """
    if archive.suffix not in _ENDINGS:
        raise BadInput(f"{archive}: the name of an archive ends with .tar, .tar.gz or .tgz.")
    if not archive.parent.is_dir():
        raise BadInput(
            f"{archive}: there is no directory {archive.parent}. Mount or make it first: "
            f"mkdir -p {shlex.quote(str(archive.parent))}"
        )
    if archive.exists():
        raise Refused(f"{archive} is there already; it is left alone. Name another file.")
    time_made = datetime.now(UTC).isoformat(timespec="seconds")
    contents = Contents(str(environment.root()), time_made, essential)
    partial = archive.with_name(f".{archive.name}.partial")
    kind: Any = {} if archive.suffix == ".tar" else {"mode": "w:gz", "compresslevel": 1}
    with files.writing(archive.parent), tempfile.TemporaryDirectory(prefix="ssi-") as space:
        try:
            # Tags and settings can hold what others should not read.
            os.close(private.opened(partial))
            with tarfile.open(partial, **{"mode": "w", **kind}) as tar:
                _write(tar, contents, Path(space), progress)
            sqlite.flush(partial)
            partial.rename(archive)
            sqlite.flush(archive.parent)
        finally:
            partial.unlink(missing_ok=True)
    return contents


def _write(
    tar: tarfile.TarFile, contents: Contents, space: Path, progress: Progress | None
) -> None:
    copy = space / "copy.db"
    for name, path in _found(contents, is_database=True):
        sqlite.copy(path, copy)
        _add(tar, contents, name, copy)
        sqlite.remove(copy)
    # Only now: the files of a run that is finished in a database are all there.
    contents.left_out.clear()
    others = list(_found(contents, is_database=False))
    for done, (name, path) in enumerate(others):
        if progress is not None:
            progress(done / len(others), name)
        _add(tar, contents, name, path)
    text = json.dumps(contents.to_dict(), indent=1, ensure_ascii=False).encode()
    member = tarfile.TarInfo(MANIFEST)
    member.size, member.mtime = len(text), int(time.time())
    tar.addfile(member, io.BytesIO(text))


def _found(contents: Contents, *, is_database: bool) -> Iterator[tuple[str, Path]]:
    """Find the databases of the root, or its other files: (name in the archive, place)."""
    left_out = [*NEVER, *(REBUILDABLE if contents.essential else ())]
    skipped = {f"{HOME}/{name}" for name in left_out}
    for top, base in ((MLRUNS, environment.root() / MLRUNS), (HOME, environment.home())):
        for directory, below, names in os.walk(base):
            folder = PurePosixPath(top, Path(directory).relative_to(base).as_posix())
            below[:] = sorted(n for n in below if str(folder / n) not in skipped and not _passes(n))
            links = [name for name in below if Path(directory, name).is_symlink()]
            for name in sorted([*links, *names]):
                path = Path(directory, name)
                if str(folder / name) in skipped or _passes(name):
                    continue
                is_plain = not path.is_symlink() and stat.S_ISREG(path.lstat().st_mode)
                if not is_plain or not is_saved(folder / name):
                    contents.left_out.append(str(folder / name))
                elif (path.suffix == ".db") == is_database:
                    yield str(folder / name), path


def is_saved(name: PurePosixPath) -> bool:
    """Say whether a backup holds files of a name.

    >>> is_saved(PurePosixPath(".ssi/frozen/ssi/0001/artefact.json"))
    True
    >>> is_saved(PurePosixPath(".ssi/prefect/logging.yml"))
    False
    """
    top, *below = name.parts
    if top == HOME and below[:1] and below[0] in (*KEPT, *REBUILDABLE):
        del below[0]
    elif top != MLRUNS:
        return False
    return bool(below) and not any(_passes(part) for part in below)


def _passes(name: str) -> bool:
    """Say whether a name is of a lock, or of something that is not whole."""
    return name.endswith(_PASSING)


def _add(tar: tarfile.TarFile, contents: Contents, name: str, path: Path) -> None:
    """Add a file, unless it went in the meantime, and note its digest."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        facts = os.fstat(file.fileno())
        member = tarfile.TarInfo(name)
        member.size, member.mtime, member.mode = facts.st_size, int(facts.st_mtime), 0o644
        reader = Digesting(file)
        try:
            tar.addfile(member, reader)
        except OSError as error:
            if error.errno is not None:
                raise
            raise Refused(f"{path} became shorter while it was read. Run this again.") from error
    contents.files[name] = Facts(reader.digest.hexdigest(), facts.st_size, facts.st_mtime_ns)


class Digesting:
    """Read a file, and digest what is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        block = self._file.read(size)
        self.digest.update(block)
        return block


def databases_elsewhere() -> Sequence[str]:
    """Name the database of MLflow where it is no file of this root, and so not in an archive."""
    from flows.servers.addresses import shown

    address = os.environ.get("MLFLOW_TRACKING_URI", "")
    if not address or address.startswith("sqlite"):
        return []
    return [f"MLFLOW_TRACKING_URI={shown(address)}"]
