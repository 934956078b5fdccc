"""What an index is exported to, and the queries that its engine is to be asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ssi_core.store import Artefact


class Export:
    """A model and its documents as an engine takes them; ``export`` of an `Index` writes one.

    Attributes
    ----------
    path : Path
        Directory that was written.
    counts : mapping
        Documents, terms, bytes, values outside of former bounds.
    """

    def __init__(self, artefact: Artefact, query: Callable[[str, int, str], Any]) -> None:
        self.path, self.counts = artefact.path, artefact.counts
        self._query = query

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
        return self._query(text, k, body)

    def __repr__(self) -> str:
        return f"Export of {self.counts['documents']:,} documents, {self.path}"
