"""The export of a model: its documents as an engine takes them, and the encoder of its queries.

A directory (artefact of kind "export"): what the engine of the target reads, ``bounds.json``, and
``encoder.json`` with the programs that turn a text into the engine's query.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ssi_core import store
from ssi_core.guests.export.documents import Documents
from ssi_core.guests.export.encoding import ModelEncoder, bodies_of, write_encoder
from ssi_core.guests.export.light import lightened
from ssi_core.guests.export.parts import Part, parts_of
from ssi_core.guests.export.terms import Bounds, layout_of
from ssi_core.guests.export.writing import Material, Target
from ssi_core.models.base import FittedModel, require_served
from ssi_core.registry import TARGETS
from ssi_core.remedies import typed
from ssi_core.types import BadInput, Progress

KIND = "export"
MARGIN = 0.1
"""Width that the bounds have beyond the documents, as a share of what these span."""


@dataclass(frozen=True)
class Settings:
    """Settings of an export.

    Attributes
    ----------
    to : str
        Name of the target.
    margin : float
        Width of the bounds beyond the documents, as a share of what these span.
    expand : int or None
        Words that a document gets for its latent vector; None: the exact terms.
    """

    to: str
    margin: float = MARGIN
    expand: int | None = None


def export_model(
    fitted: FittedModel,
    documents: Documents,
    out: Path,
    settings: Settings,
    *,
    model: str,
    former: Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> store.Artefact:
    """Write documents for an engine, with the ranking of a model.

    Parameters
    ----------
    documents : Documents
        Documents of an index, or of a collection.
    model : str
        Digest of the model.
    former : Path or None
        An export of the same model, whose bounds are taken: only the documents are written then.

    Raises
    ------
    BadInput
        The score of the model is no sum over terms, the former export is of another model, or a
        document has an id that the engine refuses.
    Refused
        ``out`` holds something else, and ``force`` is off.
    """
    require_served(fitted.model, "export")
    target: Target = TARGETS[settings.to]
    _require_ids(documents.ids, target, settings.to)
    parents = {"model": model, "documents": documents.key}
    if former is not None:
        _require_same(former, model, settings)
        parents["former"] = store.read(former, KIND).key

    def make(building: store.Building) -> None:
        layout, read = layout_of(fitted), documents
        parts, reason = _parts(fitted)
        if settings.expand is not None:
            if reason is not None:
                raise BadInput(
                    f"model {fitted.model.name!r}: {reason}. Export without {typed('expand')}."
                )
            parts, read, layout = lightened(fitted, parts, documents, layout, settings.expand)
        if former is None:
            target.first(building.path, layout)
            vectors = (block.vectors for block in read.blocks())
            bounds = Bounds.of(vectors, layout, settings.margin)
            if reason is None:
                bodies = bodies_of(target.bodies, layout)
                reason = _encoder(building.path, fitted, parts, bodies)
        else:
            bounds = Bounds.load(former, layout)
        bounds.save(building.path)
        material = Material(read, layout, bounds, progress)
        target.write(building.path, material)
        building.counts.update(
            documents=len(read),
            words_of_negative_weight=len(layout.negative),
            latent=layout.latent,
            **material.counts,
        )
        if reason is not None:
            building.skipped["encoder"] = reason

    configuration = {**vars(settings)}
    return store.open_or_make(KIND, configuration, parents, make, data=True, out=out, force=force)


def encoder_of(fitted: FittedModel, to: str) -> ModelEncoder:
    """Return the encoder of a model in memory, for one target."""
    layout = layout_of(fitted)
    return ModelEncoder(fitted, layout, bodies_of(TARGETS[to].bodies, layout))


def _parts(fitted: FittedModel) -> tuple[list[Part], str | None]:
    """Return the parts of a model's queries, or why there is no encoder."""
    try:
        return parts_of(fitted), None
    except BadInput as error:
        return [], str(error)


def _encoder(
    path: Path, fitted: FittedModel, parts: Iterable[Part], bodies: dict[str, object]
) -> str | None:
    try:
        write_encoder(path, fitted, list(parts), bodies)
    except BadInput as error:
        return str(error)
    return None


def _require_ids(ids: pl.Series, target: Target, to: str) -> None:
    broken = ids.filter(ids.str.contains(r"[\t\r\n]"))
    if len(broken):
        raise BadInput(
            f"a document has the id {broken[0]!r}: an id must not have a tab or a line break. Give "
            "it another and ingest the documents again."
        )
    longest = int(ids.str.len_bytes().max() or 0)  # type: ignore[arg-type]
    if target.limit is not None and longest > target.limit:
        raise BadInput(
            f"a document has an id of {longest:,} bytes, and {to} takes {target.limit}. Give the "
            "documents shorter ids and ingest them again."
        )


def _require_same(former: Path, model: str, settings: Settings) -> None:
    artefact = store.read(former, KIND)
    if artefact.parents.get("model") != model:
        raise BadInput(
            f"{former}: an export of another model. Name an export of this one, or export all "
            f"documents anew, without {typed('bounds')}."
        )
    for name in ("to", "expand"):
        if artefact.configuration.get(name) != getattr(settings, name):
            raise BadInput(
                f"{former}: was made with {name} = {artefact.configuration.get(name)!r}, this "
                f"export with {getattr(settings, name)!r}. Take the same, so that its terms are "
                "those of the engine's index."
            )
