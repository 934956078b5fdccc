"""Documents that are related to a document of an index."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ssi_core.models import load_model
from ssi_core.serving.index import open_index
from ssi_core.serving.searcher import Answer, Searcher, index_of, model_in, open_searcher
from ssi_core.text.fields import join, url_words
from ssi_core.types import BadInput

DIRECTORY = "related"
"""Place of the model of related documents in the directory of a model."""


def open_related(directory: Path) -> Searcher:
    """Open the model of related documents of a directory, or else the model itself.

    Raises
    ------
    BadInput
        There is no model, or no index.
    """
    inner = directory / DIRECTORY
    if index_of(inner) is None:
        return open_searcher(directory)
    return Searcher(load_model(model_in(inner)), open_index(inner / "index"))


def related_documents(searcher: Searcher, document: str, k: int = 10) -> Answer:
    """Return the k best documents for a document of the index, which is the query.

    Parameters
    ----------
    document : str
        Id or title.

    Raises
    ------
    BadInput
        There is no such document, or the index was made without texts.
    """
    index = searcher.index
    row = index.find(document)
    if index.passages is None:
        raise BadInput(
            f"{index.path} was built without the texts of its documents, which are the queries. "
            "Build it again with them."
        )
    passage, title = index.passages[row], index.titles[row]
    text = passage.text.removeprefix(f"{title}\n")
    query = join(text=text, title=title, url=url_words(passage.url or ""))
    answer = searcher.search([query], k + 1)[0]
    hits = tuple(hit for hit in answer.hits if hit.id != index.ids[row])[:k]
    return replace(answer, hits=hits)
