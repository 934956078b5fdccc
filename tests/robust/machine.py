"""A machine that is short of something, for the length of a ``with`` block."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from ssi_core import resources, store


@contextmanager
def small_files(here: Path) -> Iterator[None]:
    """No file may grow beyond 2,000 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def small_disk(size: str) -> Callable[[Path], AbstractContextManager[None]]:
    """A disk of its own for ``small/``."""

    @contextmanager
    def mounted(here: Path) -> Iterator[None]:
        (here / "small").mkdir()
        options = f"size={size},mode=777"
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", here / "small"], check=True)
        try:
            yield
        finally:
            # What is left there is looked at after the disk is gone.
            left = sorted(str(path) for path in (here / "small").rglob("*"))
            subprocess.run(["umount", "--lazy", here / "small"], check=True)
            (here / "left.json").write_text(json.dumps(left))

    return mounted


def filling_disk(size: str) -> Callable[[Path], AbstractContextManager[None]]:
    """A disk that others fill up: it has less room than it said before the work began."""

    @contextmanager
    def mounted(here: Path) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch, small_disk(size)(here):
            patch.setattr(resources, "disk_free", lambda directory: 1 << 40)
            yield

    return mounted


def mounts() -> bool:
    """Tell whether this process may mount a disk."""
    with tempfile.TemporaryDirectory() as place:
        tried = ["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", place]
        if shutil.which("mount") is None or subprocess.run(tried, capture_output=True).returncode:
            return False
        subprocess.run(["umount", place], check=True)
        return True


@contextmanager
def closed(here: Path) -> Iterator[None]:
    """``shut/`` is no directory that this user may write; the superuser lays its rights down."""
    (here / "shut").mkdir(mode=0o555)
    (here / "root").mkdir(exist_ok=True)
    superuser = os.geteuid() == 0
    if superuser:
        for path in (here / "root", *here.parents[:3], here):
            path.chmod(0o777 if path.name == "root" else 0o755)
        os.seteuid(65534)
    try:
        yield
    finally:
        if superuser:
            os.seteuid(0)


@contextmanager
def trained(here: Path) -> Iterator[None]:
    """Another run trains the row; ours waits a while for a process that is about to end."""
    from flows.reporting import shipped_tables
    from ssi_core.experiment import checkpoints

    (here / "root" / ".ssi" / "checkpoints").mkdir(parents=True)
    table = shipped_tables.find_table("demo")
    row = table.row("TF-IDF")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoints, "_PATIENCE", 0.0)
        patch.setenv("SSI_ROOT", str(here / "root"))
        key = store.read(here / "task").key
        with store.locked(checkpoints.checkpoints_of(table, row, key, 0)):
            yield


def written(name: str) -> Callable[[Path], AbstractContextManager[None]]:
    """Another run writes an artefact."""
    return lambda here: store.locked(here / name)
