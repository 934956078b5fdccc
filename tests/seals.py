"""Write a manifest anew, after a test has changed the files of a finished directory."""

import json
from pathlib import Path

from ssi_core import integrity, store


def reseal(directory, manifest=store.MANIFEST, **facts):
    """Seal a directory as it is now, with some facts of its manifest changed (None: removed)."""
    path = Path(directory) / manifest
    known = json.loads(path.read_text(encoding="utf-8")) | facts
    known = {name: fact for name, fact in known.items() if fact is not None}
    known.pop("files"), known.pop("digest")
    integrity.seal_directory(path.parent, manifest, known)
