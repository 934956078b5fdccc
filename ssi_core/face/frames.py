"""Documents and links in memory -> the JSON lines that `corpus.tables.documents` reads.

A frame, a list or an array becomes the file that a user would have written, so that it is read by
the same code and counts by its content.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import polars as pl
from scipy import sparse

from ssi_core import strict
from ssi_core.corpus.tables.json_rows import whole
from ssi_core.corpus.tables.roles import DOCUMENTS, ENDS, plain_name
from ssi_core.types import BadInput

Row: TypeAlias = Mapping[str, Any]


class PandasFrame(Protocol):
    """What is used of a frame of pandas."""

    @property
    def columns(self) -> Any:
        """Names of the columns."""
        ...

    def to_dict(self) -> Any:
        """Return its columns."""
        ...

    def __getitem__(self, name: Any, /) -> Any:
        """Return a column."""
        ...


class Array(Protocol):
    """What is used of an array of numpy or a Series of pandas."""

    def tolist(self) -> Any:
        """Return its values."""
        ...


Frame: TypeAlias = pl.DataFrame | pl.LazyFrame | PandasFrame | Mapping[str, Any]
"""A frame of polars or pandas, a mapping of columns, or of ids to texts, rows or grades."""
Rows: TypeAlias = str | Path | Frame | Iterable[Row] | Iterable[Sequence[Any]]
"""Rows of a table: a file, a frame, mappings, or tuples in the order of the columns."""
Texts: TypeAlias = (
    str | Path | Sequence[Path] | Frame | Iterable[Row] | Iterable[str] | Array | pl.Series
)
"""Documents: files, a frame, mappings, or texts."""
Links: TypeAlias = Rows | Sequence[Path] | Array | sparse.spmatrix | sparse.sparray
"""Links: files, a frame, pairs, an array of two columns, or a sparse matrix."""


@contextmanager
def unnamed(folder: Path) -> Iterator[None]:
    """Say what is in memory, and not the file of a folder that stands for it, where it is wrong."""
    try:
        yield
    except BadInput as error:
        said = re.sub(rf"{re.escape(str(folder))}/(\w+)\.jsonl", r"\1", str(error))
        if said == str(error):
            raise
        raise type(error)(said) from None


def write_documents(documents: Any, columns: Mapping[str, str], path: Path) -> list[str]:
    """Write documents as JSON lines; return the name of each.

    A document is known by its id, else by its URL, else by its number from 0.

    Parameters
    ----------
    documents : object
        Texts, mappings, or a frame; see `rows_of`.
    columns : mapping
        Declared roles; see `corpus.sources.table.Table`.

    Raises
    ------
    BadInput
        Their id is declared to have no column.
    """
    if columns.get("id") == "":
        raise BadInput("documents: drop or rename the column of their ids if these are none.")
    rows = _with_keys(rows_of(documents, "text"))
    keys = rows[0] if rows else {}
    name = _column("id", columns, keys) or _column("url", columns, keys)
    if name is None:
        name = "id"
        rows = [{name: number, **row} for number, row in enumerate(rows)]
    write_rows(rows, path)
    return [str(_plain(row.get(name))) for row in rows]


def _column(role: str, declared: Mapping[str, str], keys: Iterable[str]) -> str | None:
    if role in declared:
        return declared[role] or None
    by_name = {plain_name(str(key)): key for key in keys}
    return next((by_name[name] for name in DOCUMENTS[role] if name in by_name), None)


def write_links(links: Any, names: Sequence[str] | None, path: Path) -> None:
    """Write links as JSON lines of two ends.

    Parameters
    ----------
    links : object
        A frame of two ends, pairs of names, or a sparse matrix with an entry (i, j) for a link of
        document i to document j.
    names : sequence of str or None
        Names of the documents by their numbers; None if they are in a file.

    Raises
    ------
    BadInput
        A matrix is given beside documents in a file, or is larger than they are many; or a pair is
        none.
    """
    if sparse.issparse(links):
        shape: tuple[int, ...] = links.shape  # type: ignore[attr-defined]
        if names is None or max(shape) > len(names):
            known = "in a file" if names is None else f"{len(names)}"
            raise BadInput(
                f"links: a matrix of shape {shape} numbers documents, and these are {known}. "
                "Give links by the names of documents, or a row and a column for each document."
            )
        matrix: Any = sparse.coo_array(links)  # type: ignore[call-overload]
        ends = zip(matrix.row.tolist(), matrix.col.tolist(), strict=True)
        pairs: Iterable[Row] = ({"source": names[i], "target": names[j]} for i, j in ends)
    else:
        pairs = rows_of(links, *ENDS)
    write_rows(pairs, path)


def _with_keys(rows: Iterable[Row]) -> list[Row]:
    """Return rows of which the first has the keys of all, for there they are looked for."""
    listed = list(rows)
    keys = dict.fromkeys(key for row in listed for key in row)
    return [{**keys, **row} for row in listed[:1]] + listed[1:]


def rows_of(data: Any, *names: str) -> Iterator[Row]:
    """Yield the rows of something as mappings.

    Parameters
    ----------
    data : object
        A frame of polars, pandas or Arrow, a mapping of columns, of ids to texts or rows, or of
        queries to the grades of documents; or a sequence or array of mappings, of values (one name)
        or of tuples (several).
    names : sequence of str
        Names of the columns where the data has none.

    Raises
    ------
    BadInput
        A row is none.
    """
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    elif hasattr(data, "to_pylist"):  # pyarrow
        data = data.to_pylist()
    elif hasattr(data, "__arrow_c_stream__") and not {"to_list", "to_dict"} & set(dir(data)):
        data = pl.DataFrame(data)
    if isinstance(data, pl.DataFrame):
        yield from data.iter_rows(named=True)
    elif hasattr(data, "to_dict") and hasattr(data, "columns"):  # pandas
        if getattr(data.index, "nlevels", 1) > 1:
            data = data.reset_index()
        if len({*map(str, data.columns)}) < len(data.columns):
            raise BadInput(
                f"{strict.listed([*map(str, data.columns)])}: a name is there twice. Rename one."
            )
        columns = {str(name): data[name].tolist() for name in data.columns}
        yield from _of_columns(_with_index(data, columns))
    elif isinstance(data, Mapping):
        yield from _of_mapping(data, names)
    elif not isinstance(data, Iterable) or isinstance(data, str | bytes):
        raise TypeError(
            f"{strict.cut(repr(data))}: expected a file, a frame, or a list of "
            f"{' and '.join(names)}"
        )
    else:
        if names[-1] == "text" and _names_rows(data):
            ids = zip(data.index.tolist(), data.tolist(), strict=True)  # type: ignore[attr-defined]
            data = [{"id": name, "text": text} for name, text in ids]
        elif isinstance(data, np.ndarray) or hasattr(data, "to_list"):
            data = data.tolist() if hasattr(data, "tolist") else data.to_list()
        for number, row in enumerate(data):
            yield row if isinstance(row, Mapping) else _named(row, names, number)


def _with_index(data: Any, columns: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the columns of a frame of pandas, and its index where that is one, too."""
    name = getattr(data.index, "name", None)
    if name is None:
        name = "id" if _names_rows(data) else None
    return (
        columns if name is None or name in columns else {str(name): data.index.tolist(), **columns}
    )


def _names_rows(data: Any) -> bool:
    """Tell whether something of pandas has names for its rows, and not their numbers."""
    return getattr(getattr(data, "index", None), "inferred_type", "") == "string"


def _of_mapping(data: Mapping[str, Any], names: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of columns, of one row, or of what has ids for keys, as BEIR has it."""
    by_id = names[-1] in ("text", "grade") and bool(data)
    if by_id and all(isinstance(value, Mapping) for value in data.values()):
        for name, value in data.items():
            if len(names) > 2:
                yield from (dict(zip(names, (name, *pair), strict=True)) for pair in value.items())
            else:
                yield {"id": name, **value}
    elif by_id and all(isinstance(value, str) for value in data.values()):
        rows = ({"id": name, names[-1]: value} for name, value in data.items())
        yield from [data] if names[-1] in data else rows
    else:
        yield from _of_columns(data)


def _of_columns(columns: Mapping[str, Any]) -> Iterator[Row]:
    for name, values in columns.items():
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise BadInput(
                f"{name}: {strict.cut(repr(values))} is no column. Give a list of values."
            )
    if len({len(values) for values in columns.values()}) > 1:
        lengths = ", ".join(f"{name} {len(values)}" for name, values in columns.items())
        raise BadInput(f"columns of different lengths: {lengths}. Give each a value for each row.")
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _named(row: Any, names: Sequence[str], number: int) -> Row:
    row = None if _plain(row) is None else row
    values = row if len(names) > 1 and isinstance(row, list | tuple) else (row,)
    if len(values) != len(names) or (names == ("text",) and not isinstance(row, str | None)):
        raise BadInput(
            f"row {number}: {row!r:.80} is no {' and '.join(names)}. Give {' and '.join(names)}, "
            "or a mapping of names to values."
        )
    return dict(zip(names, values, strict=True))


def write_rows(rows: Iterable[Row], path: Path) -> None:
    """Write rows as JSON lines, without what is missing, but of the first, which has all keys."""
    with path.open("w", encoding="utf-8") as file:
        for number, row in enumerate(rows):
            values = {name: _plain(value) for name, value in row.items()}
            kept = {name: one for name, one in values.items() if one is not None or not number}
            file.write(whole(json.dumps(kept, ensure_ascii=False)) + "\n")


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; None for what stands for a missing one.

    Whole numbers have no point: pandas makes floats of the ids in a column that lacks one.

    >>> _plain(np.int64(3)), _plain(float("nan")), _plain(datetime.date(2024, 5, 1))
    (3, None, '2024-05-01T00:00:00+00:00')
    >>> _plain(7.0), _plain(0.5)
    (7, 0.5)
    """
    if isinstance(value, np.ndarray | pl.Series):
        value = value.tolist() if isinstance(value, np.ndarray) else value.to_list()
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value).__name__ in ("NaTType", "NAType") or value != value:
        return None
    if isinstance(value, datetime.date):
        if not isinstance(value, datetime.datetime):
            value = datetime.datetime.combine(value, datetime.time())
        return (value if value.tzinfo else value.replace(tzinfo=datetime.UTC)).isoformat()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, str | int | float) else str(value)
