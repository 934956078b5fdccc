"""The verb that lists documents like a document: related."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ssi_core.command.fields import argument
from ssi_core.command.hits import outcome_of
from ssi_core.command.models import directory_of, searchable
from ssi_core.command.options import INDEX, K
from ssi_core.command.verb import Outcome, verb


@dataclass(frozen=True, kw_only=True)
class RelatedSettings:
    """Settings of ``ssi related``."""

    model: str = argument("MODEL")
    document: str = argument("DOCUMENT")
    k: int = K
    index: Path | None = INDEX


@verb(
    RelatedSettings,
    examples=(
        'ssi related model "Car"',
        "ssi related models:/ssi@champion 10252 -k 3 --json",
    ),
)
def related(given: RelatedSettings) -> Outcome:
    """List the documents that are most related to a document.

    DOCUMENT is the title or id of a document of the index, as 'ssi search' shows titles and
    'ssi search --json' ids. The whole document is the query, and is no result itself; results show
    the beginnings of their texts.

    'ssi fit' on documents with links makes two models in one directory: one for what people type,
    and one that learned from links which documents are related. The second one answers here. A
    MODEL that has no such model beside it (made for one kind of query, or of a run) answers itself;
    so it does with --index.
    """
    from ssi_core.serving.related import open_related, related_documents

    place = directory_of(given.model) if given.index else searchable(given.model)
    return outcome_of(related_documents(open_related(place, given.index), given.document, given.k))
