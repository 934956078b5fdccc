"""A comparison as a small file, which is kept with the pages that quote it.

It holds what `flows.reporting.report` reads, with six digits, and no run ids, curves or tests by t.
The same comparison gives the same bytes. A result knows the code that made it (``code``), and is
`earlier` where what it computes may be another thing today.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flows.reporting.reached_code import reached_by
from flows.reporting.shipped_tables import find_table, shipped_tables
from ssi_core import store
from ssi_core.experiment import Table
from ssi_core.experiment.training import row_code
from ssi_core.files import read_object, write_result
from ssi_core.types import BadInput

_TOP = (
    "experiment",
    "comparison",
    "settings",
    "data",
    "title",
    "measures",
    "source",
    "note",
    "baseline",
    "bounds",
    "missing",
    "summary",
    "printed",
)
_LEFT_OUT = ("claim", "reason")
"""Words of a claim that follow from its rows and its verdict."""


def settings_digest(table: Table) -> str:
    """Return 16 digits that tell tables apart by what they compute and claim, not by their words.

    Notes, titles and sources do not count; tasks, rows, seeds and claims do, and so do the printed
    numbers as far as claims come from them. Of a task its choices count, so that a setting which is
    new leaves the digests as they are; after a change of a default the results are made again.
    """
    written = table.to_dict()
    written["tasks"] = {name: spec.choices() for name, spec in table.tasks.items()}
    rows = [{k: v for k, v in row.items() if k not in ("note", "paper")} for row in written["rows"]]
    settings = {name: written.get(name) for name in ("tasks", "seeds", "baseline", "claims")}
    return store.key_of("settings", {**settings, "rows": rows}, {})[:16]


def comparison_of(table: Table, tasks: Mapping[str, str]) -> str:
    """Name the comparison of a table on tasks, by their keys, as the code of today computes it."""
    key = store.key_of("comparison", table.to_dict(), tasks, row_code(*table.rows))
    return f"{table.name}-{key[:12]}"


def saved(comparison: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of a comparison, which is that of `flows.reporting.compare.results`."""
    kept = {name: comparison[name] for name in _TOP} | {"code": comparison["code"]}
    kept["claims"] = [
        {name: value for name, value in claim.items() if name not in _LEFT_OUT}
        for claim in comparison["claims"]
    ]
    kept["tests"] = [
        test
        for test in comparison["tests"]
        if test["family"] == "baseline" and test["test"] == "randomisation"
    ]
    return dict(_rounded(kept))


def save(comparison: Mapping[str, Any], path: Path) -> None:
    """Write the result file of a comparison.

    Raises
    ------
    BadInput
        Its directory is not there.
    """
    if not path.parent.is_dir():
        raise BadInput(f"{path}: there is no directory {path.parent}; make it first.")
    write_result(path, saved(comparison), sort=True)


def load(path: Path) -> dict[str, Any]:
    """Read a result file.

    Raises
    ------
    BadInput
        It is missing, damaged, or of an earlier version.
    """
    name = path.stem
    remedy = f"Make it: ssi lab pipeline {name}, then ssi compare {name} --save {path}"
    if not path.exists():
        raise BadInput(f"{path} is missing. {remedy}")
    result = read_object(path, remedy)
    if lacking := [key for key in (*_TOP, "claims", "tests") if key not in result]:
        raise BadInput(f"{path} lacks {', '.join(lacking)}. {remedy}")
    return result


def earlier(result: Mapping[str, Any]) -> bool:
    """Tell whether a result is of code or settings that have changed since, or does not know.

    A table that is not shipped has no settings to compare, and only its code counts as unknown.
    """
    if result.get("code") is None or result["experiment"] not in shipped_tables():
        return True
    table = find_table(result["experiment"])
    return (result["code"], result["settings"]) != (reached_by(*table.rows), settings_digest(table))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, Mapping):
        return {name: _rounded(one) for name, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value
