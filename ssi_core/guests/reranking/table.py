"""Tables of rerankers: rows that are trained on the same folds, and what a paper prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from ssi_core.corpus import inputs
from ssi_core.guests.reranking.base import Reranker
from ssi_core.guests.reranking.measures import measure_named
from ssi_core.guests.reranking.rankers import reranker_named
from ssi_core.strict import instead, mapping, read, tables
from ssi_core.types import BadInput

SHIPPED = Path(__file__).parent / "tables"
Printed = Mapping[str, tuple[float, ...]]
"""Measure -> a printed value for each fold."""


@dataclass(frozen=True)
class Row:
    """Row of a table: a ranker with hyper-parameters, or one that only the paper has.

    Attributes
    ----------
    label : str
        Name of the row.
    ranker : str
        Name of the ranker; empty where the row has printed values alone.
    parameters : mapping
        Hyper-parameters, as written.
    printed : mapping
        Measure -> the paper's value for each fold.
    note : str
        What a reader must know about the row.
    against : tuple of str
        Labels of the rows that it is tested against; empty: the baseline.
    """

    label: str
    ranker: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    printed: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    note: str = ""
    against: tuple[str, ...] = ()

    def reranker(self, where: str) -> Reranker:
        """Build the ranker; `BadInput` begins with ``where`` and names the row."""
        return reranker_named(self.ranker, self.parameters, f"{where}: row {self.label!r}")


@dataclass(frozen=True)
class Table:
    """A table of rerankers.

    Attributes
    ----------
    name : str
        Name of the table.
    title : str
        Heading.
    rows : tuple of Row
        Rows in printed order; their labels are unique.
    baseline : str
        Label of the row that every other row is tested against; by default the first with a ranker.
    measures : tuple of str
        Measures that are shown and tested.
    source : str
        Citation of the paper.
    note : str
        What a reader must know about the table.
    data : str
        Digest of the folds that title, notes and printed values are of (`pairs.digest`); empty:
        whatever is given.
    """

    name: str
    title: str
    rows: tuple[Row, ...]
    baseline: str = ""
    measures: Annotated[tuple[str, ...], Field(min_length=1)] = (
        "letor_map",
        "letor_p_at_10",
        "letor_mean_ndcg",
        "letor_ndcg_at_10",
    )
    source: str = ""
    note: str = ""
    data: str = ""

    def on(self, digest: str, name: str) -> Table:
        """Return the table for the folds of a digest, which are called by a name.

        Where they are not those of ``data``, the rankers of the table remain, and nothing that is
        printed of other data.
        """
        if self.data in ("", digest):
            return self
        rows = tuple(replace(row, printed={}, note="") for row in self.rows if row.ranker)
        return Table(
            "rankers", f"Rankers on {name}", rows, self.baseline, self.measures,
            note=f"Rankers of the table {self.name}; its printed values are of other data.",
        )  # fmt: skip

    def select(self, labels: tuple[str, ...]) -> Table:
        """Return the table with some of its rows; `BadInput` names the rows there are."""
        known = [row.label for row in self.rows]
        for label in labels:
            if label not in known:
                raise BadInput(f"table {self.name!r} has no row {instead(label, known)}")
        rows = tuple(row for row in self.rows if row.label in labels)
        if not _first(rows):
            raise BadInput(f"table {self.name!r}: no row with a ranker is selected. Name one.")
        baseline = self.baseline if self.baseline in labels else _first(rows)
        return replace(self, rows=rows, baseline=baseline)


def read_table(name: str) -> Table:
    """Read a shipped table by its name, or the TOML file of one.

    Raises
    ------
    BadInput
        There is no such table, a key is unknown, or a value is not allowed.
    """
    shipped = {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}
    path = shipped.get(name, Path(name))
    if not path.is_file():
        raise BadInput(f"no table {instead(name, shipped)} Or name the TOML file of one.")
    values = inputs.read_toml(path, "Correct it.")
    rows = []
    for number, one in enumerate(tables(values.pop("rows", ()), f"{path}: [[rows]]"), 1):
        where = f"{path}: row {one.get('label', number)!r}"
        printed = {
            measure: tuple(folds) if isinstance(folds, list) else folds
            for measure, folds in mapping(one.pop("printed", {}), where).items()
        }
        stated = {key: one.pop(key) for key in ("label", "ranker", "note", "against") if key in one}
        row = read(Row, {**stated, "printed": printed}, where)
        rows.append(Row(row.label, row.ranker, one, row.printed, row.note, row.against))
        if row.ranker:
            rows[-1].reranker(str(path))
        elif one:
            raise BadInput(f"{where}: {next(iter(one))!r} without a ranker. Name the ranker.")
    table = read(Table, {**values, "rows": ()}, str(path))
    labels = [row.label for row in rows]
    if len(set(labels)) < len(labels) or not any(row.ranker for row in rows):
        raise BadInput(f"{path}: it needs a row with a ranker, and each label once.")
    baseline = table.baseline or _first(tuple(rows))
    trained = [row.label for row in rows if row.ranker]
    if baseline not in trained:
        raise BadInput(f"{path}: no row for the baseline {instead(baseline, trained)}")
    for row in rows:
        for label in row.against:
            if label not in trained or label == row.label:
                raise BadInput(f"{path}: row {row.label!r}: against {instead(label, trained)}")
    try:
        for measure in {*table.measures, *(name for row in rows for name in row.printed)}:
            measure_named(measure)
    except ValueError as error:
        raise BadInput(f"{path}: {error}") from error
    return replace(table, rows=tuple(rows), baseline=baseline)


def _first(rows: tuple[Row, ...]) -> str:
    return next((row.label for row in rows if row.ranker), "")
