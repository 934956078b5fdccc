"""The verb ``export``: a model's ranking in another engine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from ssi_core.command.data import artefact_outcome
from ssi_core.command.fields import DIRECTORY, NEW_DIRECTORY, argument, option
from ssi_core.command.measures import Words
from ssi_core.command.models import directory_of, searchable
from ssi_core.command.options import FORCE, INDEX
from ssi_core.command.verb import Outcome, progress, verb
from ssi_core.registry import TARGETS


@dataclass(frozen=True, kw_only=True)
class ExportSettings:
    """Settings of ``ssi export``."""

    model: str = argument("MODEL")
    to: str = option(..., "Engine or format to write for.", type=Words(tuple(TARGETS)))
    out: Path = option(..., "Directory to write.", type=NEW_DIRECTORY)
    index: Path | None = INDEX
    documents: Path | None = option(
        None,
        "Collection of 'ssi data ingest' whose documents are exported, in place of an index.",
        type=DIRECTORY,
    )
    bounds: Path | None = option(
        None,
        "Earlier export of the model. Documents are written so that they can be added to its "
        "index.",
        type=DIRECTORY,
    )
    margin: float = option(
        0.1,
        "Room that the bounds of the weights leave for later documents, as a share of their span.",
        ge=0,
    )
    expand: int | None = option(
        None,
        "Light mode: write the WORDS heaviest words of each document in place of the exact terms.",
        metavar="WORDS",
        ge=1,
    )
    force: bool = FORCE


@verb(
    ExportSettings,
    examples=(
        "ssi export model --index index --to opensearch --out opensearch",
        "ssi export runs/abc --to lucene --out lucene",
        "ssi export model --documents new --bounds opensearch --to opensearch --out more",
        "ssi export model --index index --to elasticsearch --expand 100 --out light",
    ),
)
def export(given: ExportSettings) -> Outcome:
    """Export documents to another engine, which then ranks as the model.

    The score of a model is a sum over words plus a product of latent vectors. The latent part
    becomes two terms per dimension, p_k and n_k, which every document carries, so that the engine's
    own sum of weights gives the order of the model. encoder.py and encoder.js turn a text into a
    query of the engine; they need no package.

    With --bounds, new documents are exported by themselves: "clipped" counts the values beyond the
    bounds, whose ranks are not exact. If there are some, export all documents again.
    """
    from ssi_core.guests.export.documents import of_collection, of_index
    from ssi_core.guests.export.exporting import Settings, export_model
    from ssi_core.held import lacking
    from ssi_core.models import load_model
    from ssi_core.models.content import content_of
    from ssi_core.serving.index import open_index
    from ssi_core.serving.searcher import index_of, model_in
    from ssi_core.types import BadInput

    if given.index is not None and given.documents is not None:
        raise click.UsageError("--index and --documents: give one of the two.")
    directory = (
        directory_of(given.model) if given.index or given.documents else searchable(given.model)
    )
    fitted = load_model(model_in(directory))
    if given.documents is not None:
        texts = of_collection(fitted, given.documents)
    else:
        path = index_of(directory, given.index)
        if path is None:
            raise BadInput(
                f"{lacking(given.index or directory, 'index')} Or name a collection: "
                "--documents DIR"
            )
        texts = of_index(fitted, open_index(path))
    with progress("export") as on_progress:
        artefact = export_model(
            fitted,
            texts,
            given.out,
            Settings(given.to, given.margin, given.expand),
            model=content_of(fitted),
            former=given.bounds,
            force=given.force,
            progress=on_progress,
        )
    return artefact_outcome(artefact)
