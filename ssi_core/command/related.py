"""The verb that lists documents like a document: related."""

from __future__ import annotations

from pathlib import Path

import click

from ssi_core.command.hits import outcome_of
from ssi_core.command.models import directory_of, searchable
from ssi_core.command.search import INDEX, K
from ssi_core.command.verb import Outcome, Verb


@click.command(
    cls=Verb,
    examples=(
        'ssi related model "Car"',
        "ssi related models:/ssi@champion 10252 -k 3 --json",
    ),
)
@click.argument("model")
@click.argument("document")
@K
@INDEX
def related(model: str, document: str, k: int, index: Path | None) -> Outcome:
    """List the documents that are most related to a document, best first.

    DOCUMENT is the title or id of a document of the index, as 'ssi search' shows titles and
    'ssi search --json' ids. The whole document is the query, and is no result itself; results show
    the beginnings of their texts.

    'ssi fit' on documents with links makes two models in one directory: one for what people type,
    and one that learned from links which documents are related. The second one answers here. A
    MODEL that has no such model beside it (made for one kind of query, or of a run) answers itself;
    so it does with --index.
    """
    from ssi_core.serving.related import open_related, related_documents

    place = directory_of(model) if index else searchable(model)
    return outcome_of(related_documents(open_related(place, index), document, k))
