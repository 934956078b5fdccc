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

    The best is first. DOCUMENT is the title or id of a document in the index, as 'ssi search' shows
    titles and 'ssi search --json' shows ids. The whole document is the query, and is not a result
    itself. Results show the beginnings of their texts.

    For documents with links, 'ssi fit' makes two models in one directory: one for what people type,
    and one that has learned from links which documents are related. The second one answers here. A
    MODEL without such a second model (fitted for one kind of query, or trained in a run) answers
    itself, and so does any MODEL with --index.
    """
    from ssi_core.serving.related import open_related, related_documents

    path = directory_of(given.model) if given.index else searchable(given.model)
    return outcome_of(related_documents(open_related(path, given.index), given.document, given.k))
