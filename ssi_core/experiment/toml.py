"""TOML -> `Table`: read, checked, every error with its place."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ssi_core import files
from ssi_core.corpus import inputs
from ssi_core.evaluation.measures import MEASURES, OF_ALL_QUERIES, measure_named
from ssi_core.evaluation.slates import PER_QUERY
from ssi_core.experiment.claimed import read_claims, without
from ssi_core.experiment.names import check_name
from ssi_core.experiment.tables import PrintedRow, Published, Row, Table
from ssi_core.strict import instead, mapping, read, tables
from ssi_core.tasks.spec import read_spec
from ssi_core.types import BadInput


def load_table(name_or_path: str | Path, packaged: Path | None = None) -> Table:
    """Read a table from a file, or by its name from a folder of packaged ones.

    ``extends = "NAME"`` takes over another table: its values, tasks, defaults, rows and claims,
    key by key (rows by label), where this one does not say otherwise; ``drop = [labels]`` leaves
    rows out, and the claims about them. Claims of its own stand in place of the other's.

    Raises
    ------
    BadInput
        There is no such table, it is not TOML, something in it is unknown or of a wrong kind, or
        its name breaks the rule (`names.check_name`).
    """
    path = _find(name_or_path, packaged)
    table = parse_table(_extended(path, packaged, ()), str(path))
    # Here and not in `parse_table`, which also reads what runs have kept of their tables.
    try:
        check_name(table.name, "table")
    except ValueError as error:
        raise BadInput(f"{path}: name: {error}.") from None
    return table


def _find(name_or_path: str | Path, packaged: Path | None) -> Path:
    path = Path(name_or_path)
    with files.reading(path, "Check the path."):  # a name can be too long for a file
        if not path.is_file() and packaged is not None:
            path = packaged / f"{name_or_path}.toml"
        is_path = path.is_file()
    if not is_path:
        known = sorted(p.stem for p in packaged.glob("*.toml")) if packaged else []
        known += [file for file in [f"{name_or_path}.toml"] if Path(file).is_file()]
        raise BadInput(f"no table {instead(str(name_or_path), known)} Or give a path.")
    return path


def _extended(path: Path, packaged: Path | None, seen: tuple[Path, ...]) -> dict[str, Any]:
    content = inputs.read_input(path, most=inputs.LARGEST_SETTINGS)
    try:
        values = tomllib.loads(content.decode("utf-8-sig"))
    except ValueError as error:
        raise BadInput(f"{path}: not TOML in UTF-8: {error}. Repair it there.") from None
    except RecursionError:
        raise BadInput(f"{path}: its values are nested too deep. Write them flat.") from None
    if "extends" not in values:
        return values
    base = _find(str(values.pop("extends")), packaged)
    if base in (*seen, path):
        raise BadInput(f"{path}: extends {base}, which extends it in turn. Remove one of them.")
    return _merged(_extended(base, packaged, (*seen, path)), values, str(path))


def _merged(base: dict[str, Any], own: dict[str, Any], where: str) -> dict[str, Any]:
    # What is written in ``own`` over what is written in ``base``.
    drop = own.pop("drop", [])
    if not isinstance(drop, list):
        raise BadInput(f"{where}: drop: {drop!r} is of the wrong kind, expected a list of labels.")
    drop = [str(label) for label in drop]
    rows = {str(row.get("label")): row for row in tables(base.get("rows", []), where)}
    for row in tables(own.pop("rows", []), f"{where}: [[rows]]"):
        label = str(row.get("label"))
        rows[label] = {**rows.get(label, {}), **row}
    for label in drop:
        if label not in rows:
            raise BadInput(f"{where}: drop: no row {instead(label, rows)}")
    kept = {label: row for label, row in rows.items() if label not in drop}
    claims = own.pop("claims", base.get("claims", []))
    claims = without(claims, drop, where)
    nested: dict[str, Any] = {}
    for name in ("tasks", "defaults"):
        if name in base or name in own:
            at = f"{where}: [{name}]"
            lower, upper = (mapping(values.get(name, {}), at) for values in (base, own))
            nested[name] = {
                key: {**mapping(lower.get(key, {}), at), **mapping(upper.get(key, {}), at)}
                for key in {**lower, **upper}
            }
    return {
        **base,
        **own,
        **nested,
        "rows": list(kept.values()),
        "claims": claims,
    }


def parse_table(values: Mapping[str, Any], where: str = "table") -> Table:
    """Check the values of a TOML table; ``where`` begins every error message."""
    values = dict(values)
    defaults = mapping(values.pop("defaults", {}), f"{where}: [defaults]")
    rows = _with_likes(tables(values.pop("rows", []), f"{where}: [[rows]]"), where)
    claims = values.pop("claims", [])
    tasks = mapping(values.pop("tasks", {"default": {}}), f"{where}: [tasks]")
    if not rows:
        raise BadInput(f"{where}: a table needs at least one [[rows]].")
    if not tasks:
        raise BadInput(f"{where}: [tasks] is empty; name one, or leave it out.")
    for model in defaults:
        used = sorted({str(one.get("model")) for row in rows for one in (row, *_parts(row, where))})
        if model not in used:
            raise BadInput(
                f"{where}: [defaults.{model}]: no row has the model {instead(model, used)} "
                "Give a row and its defaults the same name."
            )
    parsed_rows = tuple(
        _row(row, n, defaults, tuple(tasks), where) for n, row in enumerate(rows, 1)
    )
    parsed = {
        "tasks": {
            name: read_spec(mapping(spec, at := f"{where}: [tasks.{name}]"), at)
            for name, spec in tasks.items()
        },
        "rows": parsed_rows,
        "claims": read_claims(claims, parsed_rows, where),
        "printed": _printed(tables(values.pop("printed", []), f"{where}: [[printed]]"), where),
    }
    values.setdefault("baseline", parsed_rows[0].label)
    table = _with_measures(read(Table, {**values, **parsed}, where), where)
    _check(table, where)
    return table


def _with_measures(table: Table, where: str) -> Table:
    """Return a table whose measures are keys, where they may be written as headings."""
    every, halves = (*PER_QUERY, *OF_ALL_QUERIES), table.two_folds
    if halves is not None:
        halves = measure_named(halves, MEASURES, f"{where}: two_folds: ")
    measures = (measure_named(name, every, f"{where}: measures: ") for name in table.measures)
    claims = (
        replace(one, measure=measure_named(one.measure, PER_QUERY, f"{where}: claim {number}: "))
        for number, one in enumerate(table.claims, 1)
    )
    return replace(table, two_folds=halves, measures=tuple(measures), claims=tuple(claims))


def _printed(values: Sequence[Mapping[str, Any]], where: str) -> tuple[PrintedRow, ...]:
    printed = []
    for number, row in enumerate(values, 1):
        at = f"{where}: [[printed]] {row.get('label', number)!r}"
        paper = read(Published, row.get("paper", {}), f"{at}: paper")
        if not paper.any_measure:
            raise BadInput(f"{at}: no measure is printed; give one in [printed.paper].")
        printed.append(read(PrintedRow, {**row, "paper": paper}, at))
    return tuple(printed)


def _parts(row: Mapping[str, Any], where: str) -> list[dict[str, Any]]:
    return tables(row.get("parts", []), f"{where}: [[rows.parts]]")


_OF_ROW = ("label", "model", "task", "seeds", "start", "like", "note", "paper")
_NOT_OF_LIKE = ("label", "start", "like", "note", "paper")
"""Keys that a row does not have from the row that it is like."""


def _with_likes(rows: Sequence[dict[str, Any]], where: str) -> list[dict[str, Any]]:
    """Fill rows with the values of the row that ``like`` names."""
    labels = {str(row.get("label")): row for row in rows}
    changed = []
    for row in rows:
        other: Mapping[str, Any] = {}
        if "like" in row:
            at, like = f"{where}: row {row.get('label')!r}: like", str(row["like"])
            if like not in labels:
                raise BadInput(f"{at}: no row {instead(like, labels)}")
            if "like" in (other := labels[like]):
                raise BadInput(f"{at}: {like!r} is like another row itself; name that one.")
        changed.append({**{k: v for k, v in other.items() if k not in _NOT_OF_LIKE}, **row})
    return changed


def _row(
    values: Mapping[str, Any],
    number: int,
    defaults: Mapping[str, Any],
    tasks: Sequence[str],
    where: str,
) -> Row:
    where = f"{where}: row {values.get('label', number)!r}"
    kind = str(values.get("model", ""))
    values = {**mapping(defaults.get(kind, {}), f"{where}: [defaults.{kind}]"), **values}
    if "parts" in values:  # models of a mixture, which have the defaults of their kind
        parts = tables(values["parts"], f"{where}: [[rows.parts]]")
        own_of = [mapping(defaults.get(str(p.get("model")), {}), where) for p in parts]
        values["parts"] = [{**keys, **part} for keys, part in zip(own_of, parts, strict=True)]
    keys = {key: value for key, value in values.items() if key in _OF_ROW}
    if "task" not in keys:
        if len(tasks) > 1:
            raise BadInput(f"{where}: which task? The table has: {', '.join(tasks)}.")
        keys["task"] = tasks[0]
    keys["paper"] = read(Published, keys.get("paper", {}), f"{where}: paper")
    keys["parameters"] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in values.items()
        if key not in _OF_ROW
    }
    return replace(read(Row, keys, where), where=where)


def _check(table: Table, where: str) -> None:
    # What no single value can tell: names that refer to each other.
    labels = [row.label for row in table.rows]
    every = [*labels, *(row.label for row in table.printed)]
    for label in (row.label for row in table.printed):
        if every.count(label) > 1 or not label.strip():
            raise BadInput(f"{where}: [[printed]] {label!r}: labels must differ and not be empty.")
    for row in table.rows:
        if labels.count(row.label) > 1:
            raise BadInput(f"{where}: two rows are labelled {row.label!r}; labels must differ.")
        if "," in row.label or not row.label.strip():
            raise BadInput(f"{row.where}: a label must not be empty or have a comma (--rows A,B).")
        if row.task not in table.tasks:
            raise BadInput(f"{row.where}: no task {instead(row.task, table.tasks)}")
        _check_start(table, row, labels)
        _check_like(table, row)
    if table.baseline not in labels:
        raise BadInput(f"{where}: baseline: no row {instead(table.baseline, labels)}")
    for label in {label for pair in table.scatter for label in pair} - set(labels):
        raise BadInput(f"{where}: scatter: no row {instead(label, labels)}")
    for number, claim in enumerate(table.claims, 1):
        at = f"{where}: claim {number}"
        for label in claim.rows:
            if label not in labels:
                raise BadInput(f"{at}: no row {instead(label, labels)}")
        above, below = (table.tasks[table.row(label).task] for label in claim.rows)
        if not above.tests_as(below):
            raise BadInput(
                f"{at}: its rows are on different tasks, so queries cannot be paired. To compare "
                "splits by links and by documents, give both held_out = 'both', one split_seed "
                "and one pool."
            )


def _check_start(table: Table, row: Row, labels: Sequence[str]) -> None:
    # The row that this one starts from: it is there, has the seeds and the task, and is another.
    seen, at = [row.label], row
    while at.start is not None:
        if at.start not in labels:
            raise BadInput(f"{at.where}: start: no row {instead(at.start, labels)}")
        if at.start in seen:
            raise BadInput(f"{row.where}: start: {at.start!r} starts from this row itself.")
        if table.tasks[at.task].division == "queries":
            raise BadInput(
                f"{at.where}: start: a row with split 'queries' keeps the model of its first fold, "
                "which has learnt from queries that other folds test. Leave start out."
            )
        before = table.row(at.start)
        if (before.task, before.seeds) != (at.task, at.seeds):
            raise BadInput(
                f"{at.where}: start: {at.start!r} has another task or other seeds; each seed of a "
                "row starts from that seed of the other."
            )
        seen.append(at.start)
        at = before


def _check_like(table: Table, row: Row) -> None:
    # The row that this one stands in for.
    if row.like is None:
        return
    other = table.row(row.like)
    if (other.model, other.task) != (row.model, row.task):
        raise BadInput(
            f"{row.where}: like: {row.like!r} has another model or task. A stand-in may differ "
            "from its row in its words only."
        )
    if row.paper.any_measure:
        raise BadInput(
            f"{row.where}: paper: the printed values belong to {row.like!r}. Remove them here."
        )
