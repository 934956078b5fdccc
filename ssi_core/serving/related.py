"""Documents that are related to a document of an index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ssi_core.remedies import typed_call
from ssi_core.serving.nothing import NO_OTHER
from ssi_core.serving.searcher import Answer, Searcher, model_in, open_searcher
from ssi_core.strict import whole
from ssi_core.text.fields import OWN, join
from ssi_core.types import BadInput

DIRECTORY = "related"
"""Place of the model of related documents in the directory of a model."""


def related_in(directory: Path) -> Path | None:
    """Return the place of the model of related documents in the directory of a model, if any."""
    inner = directory / DIRECTORY
    return inner if (model_in(inner) / "model.json").is_file() else None


def open_related(directory: Path, index: Path | None = None) -> Searcher:
    """Open the model of related documents of a directory, or else the model itself.

    Parameters
    ----------
    index : Path or None
        Index of the model itself, which then answers; None: the one that a model carries.

    Raises
    ------
    BadInput
        There is no model, or no index.
    """
    inner = related_in(directory) if index is None else None
    return open_searcher(directory, index) if inner is None else open_searcher(inner)


def related_documents(searcher: Searcher, document: str, k: int = 10) -> Answer:
    """Return the k best documents for a document of the searcher, which is the query.

    Hits show the beginnings of their texts.

    Parameters
    ----------
    document : str
        Id or title.

    Raises
    ------
    BadInput
        There is no such document, or the index was made without texts.
    """
    k = whole("k", k)
    number, row = searcher.find(document)
    part = searcher.ranked[number]
    if part.passages is None:
        raise BadInput(
            f"{searcher.index.path} was built without the texts of its documents, which are the "
            "queries. Build it again with them: " + typed_call("data index")
        )
    fields = part.passages[row].fields
    query = join(**{name: fields[name] for name in OWN})
    answer = searcher.search([query], k + 1, marked=False)[0]
    hits = tuple(hit for hit in answer.hits if hit.id != part.ids[row])[:k]
    return replace(answer, hits=hits, reason=None if hits else answer.reason or NO_OTHER)
