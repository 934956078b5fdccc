"""Recorder of the rows of a comparison: a run of MLflow each, where there is the workflow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class RowRecorder(Protocol):
    """Keeps what was measured of a row, as a run."""

    run_id: str

    def watch(self, step: int, metrics: Mapping[str, float]) -> None:
        """Keep a point of curves."""
        ...

    def measured(self, values: Mapping[str, float]) -> None:
        """Keep numbers."""
        ...

    def facts(self, facts: Mapping[str, Any]) -> None:
        """Keep what the row chose, and what its trainings found."""
        ...
