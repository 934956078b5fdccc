"""Rows that were not believed: written with the reason, counted, refused where they are many."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from ssi_core.guests.click_logs.check import QUARANTINE
from ssi_core.remedies import typed
from ssi_core.types import BadInput

NAME = "quarantine.csv"
_LEAST = 1000  # rows before a log is called broken as a whole


_FORMULA = r"(^|;)(['=+\-@\t\r\n＝＋－＠])"


def as_text(rows: pl.DataFrame) -> pl.DataFrame:
    """Put ' before each sign that would make a spreadsheet run a text as a formula, and before '.

    Such signs count at the beginning of a text and after a semicolon: where a decimal has a comma,
    spreadsheets take the semicolon for the end of a cell, and do not heed the quotes around a text.
    A reader who takes one ' away from both places has the texts as they were. The signs are those
    of OWASP, "CSV Injection", with their full-width forms.
    """
    return rows.with_columns(pl.selectors.string().str.replace_all(_FORMULA, "${1}'${2}"))


class Quarantine:
    """Writes ``quarantine.csv``: what lines say by themselves, then what others say of them.

    Parameters
    ----------
    path : Path
        Of the artefact.
    kept : Path
        Directory in it where the first kind is kept for the next ingestion.
    most_broken : float
        Share of rows that may be here.
    where : str
        The map, for messages.
    """

    def __init__(self, path: Path, kept: Path, most_broken: float, where: str) -> None:
        self._path, self._of_lines, self._rest = path, kept / NAME, path / "quarantine.rest"
        self._most_broken, self._where = most_broken, where
        self.rows = 0
        self.broken: Counter[str] = Counter()
        self._known: dict[str, Any] = {"broken": Counter(), "first": {}}
        self._first: dict[str, str] = {}
        self._hints: dict[str, list[str]] = {}

    def go_on(self, rows: int, kept: Path, known: Mapping[str, Any]) -> None:
        """Take over what an earlier ingestion kept of the lines that it read."""
        self.rows, self.broken = rows, Counter(known["broken"])
        self._known = {"broken": Counter(known["broken"]), "first": dict(known["first"])}
        self._first = dict(known["first"])
        if (kept / NAME).exists():
            self._of_lines.write_bytes((kept / NAME).read_bytes())

    def known(self) -> dict[str, Any]:
        """Return the lines that were left out: counts by category, and the first line of each."""
        return self._known

    def add(self, rows: pl.DataFrame, *, of_lines: bool = False) -> None:
        """Add rows in the schema `check.QUARANTINE`; ``of_lines``: whatever else is read."""
        if not len(rows):
            return
        with (self._of_lines if of_lines else self._rest).open("ab") as file:
            as_text(rows).write_csv(file, include_header=False, quote_style="non_numeric")
        counters = [self.broken, *([self._known["broken"]] if of_lines else [])]
        for category, number in rows.group_by("category").len().rows():
            for counter in counters:
                counter[category] += number
        examples = [self._first, *([self._known["first"]] if of_lines else [])]
        for category, reason, name, line in rows.select(
            "category", "reason", "file", "line"
        ).rows():
            for first in examples:
                first.setdefault(category, f"{name}, line {line}: {reason}")

    def hint(self, find: Callable[[str], Iterable[str]]) -> None:
        """Look, once a category, for columns of the map that hold what another should."""
        for category in self.broken.keys() - self._hints.keys():
            self._hints[category] = list(find(category))

    def limit(self, path: Path, *, at_end: bool = False) -> None:
        """Refuse a log of which more is broken than the rules let pass."""
        broken = self.broken.total()
        if broken <= self._most_broken * self.rows or (self.rows < _LEAST and not at_end):
            return
        category, number = self.broken.most_common(1)[0]
        hints = self._hints.get(category, [])
        hint = ""
        if hints:
            other = " or ".join(repr(name) for name in hints)
            hint = f" The column {other} holds such values: are two columns swapped in the map?"
        guessed = self._where == str(path)
        roles = f"name its columns ({typed('column', {'ROLE': 'NAME'})})"
        first = self._first[category]
        where = path if first.startswith(f"{path.name}, ") else path.parent
        raise BadInput(
            f"{where}: {broken:,} of {self.rows:,} rows are broken, {number:,} of them so: "
            f"{first}.{hint} Repair the log or {roles if guessed else self._where}"
            "; a larger share "
            f"than {typed('most-broken')} lets pass is taken for a wrong map."
        )

    def finish(self) -> None:
        """Put both kinds into one file with a header; none where all rows were believed."""
        parts = [part for part in (self._of_lines, self._rest) if part.exists()]
        if parts:
            with (self._path / NAME).open("wb") as file:
                header = io.BytesIO()
                pl.DataFrame(schema=dict(QUARANTINE)).write_csv(header)
                file.write(header.getvalue())
                for part in parts:
                    file.write(part.read_bytes())
        self._rest.unlink(missing_ok=True)
