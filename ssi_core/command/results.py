"""Results of a comparison, as a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Write a result as JSON, without the runs that keep its rows.

    Raises
    ------
    Refused
        The file cannot be written.
    """
    from ssi_core import files

    rows = [{k: v for k, v in row.items() if k != "run_id"} for row in result["rows"]]
    files.write_result(path, {**result, "rows": rows})
