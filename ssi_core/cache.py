"""Remember small facts between processes, in a directory of the user.

``SSI_CACHE``, else ``XDG_CACHE_HOME/ssi``, else ``~/.cache/ssi``. It can be removed at any time;
where it cannot be written, or belongs to somebody else, nothing is remembered.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ssi_core import system


def directory() -> Path | None:
    """Return the cache directory, made with mode 0700; None where it cannot be trusted."""
    if chosen := os.environ.get("SSI_CACHE"):
        path = Path(chosen).expanduser()
    else:
        path = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "ssi"
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
    except (OSError, RuntimeError):
        return None
    return path if system.is_mine(status) and not status.st_mode & 0o022 else None


def recall(kind: str, name: str) -> str | None:
    """Return the fact that was remembered under a name; None where it is not as it was written."""
    path = _path(kind, name)
    try:
        written = "" if path is None else path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    digest, _, fact = written.partition("\n")
    return fact if digest == _digest(fact) else None


def remember(kind: str, name: str, fact: str) -> None:
    """Keep a fact under a name, for later processes; a failure to do so is no error."""
    path = _path(kind, name)
    if path is None:
        return
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        temporary.write_text(f"{_digest(fact)}\n{fact}", encoding="utf-8")
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)


def _path(kind: str, name: str) -> Path | None:
    base = directory()
    return base and base / kind / _digest(name)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]
