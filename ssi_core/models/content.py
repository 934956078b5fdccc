"""A digest of what a trained model computes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ssi_core import store
from ssi_core.models.base import FittedModel


def content_of(fitted: FittedModel) -> str:
    """Return a digest of what a trained model computes: its parameters, arrays and words."""
    with tempfile.TemporaryDirectory(prefix="ssi-") as folder:
        fitted.write(Path(folder))
        files = sorted(file for file in Path(folder).rglob("*") if file.name != "model.json")
        names = [str(file.relative_to(folder)) for file in files if file.is_file()]
        digests = {name: store.digest_file(Path(folder) / name) for name in names}
    return store.key_of("model", {"name": fitted.model.name, **vars(fitted.model)}, digests)
