"""What an index is exported to, and the queries that its engine is to be asked."""

from __future__ import annotations

from typing import Any

from ssi_core import store
from ssi_core.export import exporting
from ssi_core.models.base import FittedModel


class Export:
    """A model and its documents as an engine takes them; ``export`` of an `Index` writes one.

    Attributes
    ----------
    path : Path
        Directory that was written.
    counts : mapping
        Documents, terms, bytes, values outside of former bounds.
    """

    def __init__(self, fitted: FittedModel, artefact: store.Artefact) -> None:
        self.path, self.counts = artefact.path, artefact.counts
        self._encoder = exporting.encoder_of(fitted, artefact.configuration["to"])

    def query(self, text: str, k: int = 10, body: str = "query") -> Any:
        """Return what the engine is to be asked for the k best documents for a text.

        Parameters
        ----------
        text : str
            What is searched.
        k : int, optional
            Number of documents.
        body : str, optional
            "query"; or "rescore", where only the first thousand documents are scored in full.
        """
        return self._encoder.query(text, k, body)

    def __repr__(self) -> str:
        return f"Export of {self.counts['documents']:,} documents, {self.path}"
