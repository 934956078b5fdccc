"""The verb ``export``: a model's ranking in another engine."""

from __future__ import annotations

from pathlib import Path

import click

from ssi_core.command.data import FORCE, artefact_outcome
from ssi_core.command.models import directory_of, searchable
from ssi_core.command.verb import Outcome, Verb, progress
from ssi_core.export.targets import TARGETS


@click.command(
    cls=Verb,
    examples=(
        "ssi export model --index index --to opensearch --out opensearch",
        "ssi export runs/abc --to lucene --out lucene",
        "ssi export model --documents new --bounds opensearch --to opensearch --out more",
        "ssi export model --index index --to elasticsearch --expand 100 --out light",
    ),
)
@click.argument("model")
@click.option("--to", type=click.Choice(tuple(TARGETS)), required=True, help="Engine or format.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Directory to write.",
)
@click.option(
    "--index",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Index of the documents; by default the model's own.",
)
@click.option(
    "--documents",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A collection of ssi ingest whose documents are exported, in place of an index.",
)
@click.option(
    "--bounds",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="A former export of the model: write documents that are added to its index.",
)
@click.option(
    "--margin",
    type=click.FloatRange(min=0),
    default=0.1,
    show_default=True,
    help="Room that the bounds of the weights leave for later documents, as a share of their span.",
)
@click.option(
    "--expand",
    type=click.IntRange(min=1),
    metavar="WORDS",
    help="Light mode: the heaviest words of each document in place of the exact terms.",
)
@FORCE
def export(
    model: str,
    to: str,
    out: Path,
    index: Path | None,
    documents: Path | None,
    bounds: Path | None,
    margin: float,
    expand: int | None,
    force: bool,
) -> Outcome:
    """Write documents for another engine, which then ranks as the model does.

    The score of a model is a sum over words plus a product of latent vectors. The latent part
    becomes two terms a dimension, p_k and n_k, which every document carries; so the engine's own
    sum of weights has the order of the model. encoder.py and encoder.js turn a text into the query
    of the engine, and need no package.

    New documents are exported alone, with --bounds: "clipped" counts values beyond the bounds,
    whose ranks are not exact; where there are some, export all documents anew.
    """
    from ssi_core.export.documents import of_collection, of_index
    from ssi_core.export.exporting import Settings, export_model
    from ssi_core.models import load_model
    from ssi_core.models.content import content_of
    from ssi_core.serving.index import open_index
    from ssi_core.serving.searcher import index_of, model_in
    from ssi_core.types import BadInput

    if index is not None and documents is not None:
        raise click.UsageError("--index and --documents: give one of the two.")
    directory = directory_of(model) if index or documents else searchable(model)
    fitted = load_model(model_in(directory))
    if documents is not None:
        texts = of_collection(fitted, documents)
    else:
        place = index_of(directory, index)
        if place is None:
            raise BadInput(
                f"{index or directory / 'index'} holds no index of documents. Make one (ssi index "
                "MODEL --task TASK --out DIR) and name it, or name a collection by --documents."
            )
        texts = of_index(fitted, open_index(place))
    with progress("export") as tell:
        artefact = export_model(
            fitted,
            texts,
            out,
            Settings(to, margin, expand),
            model=content_of(fitted),
            former=bounds,
            force=force,
            progress=tell,
        )
    return artefact_outcome(artefact)
