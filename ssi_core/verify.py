"""Check every sealed directory below some places, also those that were checked before."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ssi_core import integrity
from ssi_core.types import BadInput, Progress

MANIFESTS = ("artefact.json", "model.json", "progress.json")
"""Of artefacts, of models, of checkpoints."""

_UNFINISHED = (".partial", ".work", ".old", ".new")


@dataclass(frozen=True)
class Verified:
    """A directory, the bytes of its files, and what is wrong with it; None: nothing is."""

    path: Path
    size: int
    problem: str | None


def sealed_directories(places: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """List the directories that have a manifest, each with the name of the manifest."""
    for place in places:
        for directory, inner, names in os.walk(place):
            inner[:] = sorted(name for name in inner if not name.endswith(_UNFINISHED))
            yield from ((Path(directory), name) for name in MANIFESTS if name in names)


def verify(places: Iterable[Path], progress: Progress | None = None) -> list[Verified]:
    """Read every file of every sealed directory, and compare it with what was written.

    Parameters
    ----------
    places : iterable of Path
        directories to look in, such as a store
    progress : callable or None
        told of each directory

    Returns
    -------
    list of Verified
        in the order of their paths
    """
    sealed = list(sealed_directories(places))
    results = []
    for number, (directory, manifest) in enumerate(sealed):
        if progress is not None:
            progress(number / len(sealed), str(directory))
        results.append(_verified(directory, manifest))
    return results


def _verified(directory: Path, manifest: str) -> Verified:
    size = 0
    try:
        facts = integrity.read_manifest(directory, manifest, "Remove it and make it again.")
        size = sum(size for size, _ in facts["files"].values())
        integrity.check_directory(
            directory, manifest, facts["files"], f"Remove {directory}, make it again.", anew=True
        )
    except BadInput as error:
        return Verified(directory, size, str(error))
    return Verified(directory, size, None)
