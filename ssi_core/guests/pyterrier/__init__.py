"""An index of ssi as a transformer of PyTerrier (``pip install 'ssi[pyterrier]'``)."""

from typing import Any


def __getattr__(name: str) -> Any:
    """Load the transformer when it is first used: PyTerrier may not be installed."""
    if name != "Retriever":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ssi_core.guests.pyterrier.transformer import Retriever

    return Retriever
