"""The export of an index from Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ssi_core.face.export import Export
from ssi_core.guests.export.documents import of_index
from ssi_core.guests.export.exporting import Settings, encoder_of, export_model
from ssi_core.models.base import FittedModel
from ssi_core.models.content import content_of
from ssi_core.root import user_path
from ssi_core.serving.index import Index


def export(
    fitted: FittedModel,
    index: Index,
    out: Path,
    *,
    to: str,
    bounds: str | Path | None,
    force: bool,
    **settings: Any,
) -> Export:
    """Write the documents of an index, as `face.index.Index.export` says."""
    artefact = export_model(
        fitted,
        of_index(fitted, index),
        out,
        Settings(to, **settings),
        model=content_of(fitted),
        former=user_path(bounds),
        force=force,
    )
    return Export(artefact, encoder_of(fitted, to).query)
