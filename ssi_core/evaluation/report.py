"""A report as a directory.

``report.parquet`` per query, ``slices.parquet`` per slice and query, ``report.json`` the rest and
the digests of all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from ssi_core import files, integrity
from ssi_core.types import Report

_PER_QUERY, _SLICES, _REST = "report.parquet", "slices.parquet", "report.json"


def save_report(report: Report, directory: Path) -> None:
    """Write a report; what is there under its names is replaced."""
    directory.mkdir(parents=True, exist_ok=True)
    records = {}
    for name, frame in ((_PER_QUERY, report.per_query), (_SLICES, report.slices)):
        if frame is None:
            (directory / name).unlink(missing_ok=True)
        else:
            temporary = directory / f"{name}.tmp"
            frame.write_parquet(temporary)
            temporary.rename(directory / name)
            records[name] = integrity.record(directory / name)
    rest = {"means": report.means, "errors": report.errors, "bounds": report.bounds}
    # JSON has no NaN: an unknown error is null.
    numbers = {name: _nulls(values) for name, values in rest.items()}
    facts = {**numbers, "candidates": report.candidates, "files": records}
    integrity.write_manifest(directory, _REST, facts, durable=False)


def load_report(directory: Path) -> Report:
    """Read a report; `BadInput` when there is none, or it is not as it was written."""
    again = "Evaluate the model again."
    rest = _facts(directory, again)
    with files.reading(directory, again):
        per_query = pl.read_parquet(directory / _PER_QUERY, glob=False)
        numbers = {
            name: {k: math.nan if v is None else float(v) for k, v in rest[name].items()}
            for name in ("means", "errors", "bounds")
        }
        sliced = _SLICES in rest["files"]
        slices = pl.read_parquet(directory / _SLICES, glob=False) if sliced else None
        return Report(per_query, **numbers, slices=slices, candidates=rest["candidates"])


def _facts(directory: Path, again: str) -> dict[str, Any]:
    """Return the content of ``report.json`` after a check of the tables."""
    facts = integrity.read_manifest(directory, _REST, again)
    integrity.check_directory(directory, _REST, facts["files"], again)
    return facts


def _nulls(numbers: Mapping[str, float]) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else value for name, value in numbers.items()}
