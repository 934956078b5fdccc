"""Rows of JSON: an object on each line, or an array of objects; lists in them unfold to rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from ssi_core.corpus import inputs
from ssi_core.corpus.tables.form import UTF_16, Written
from ssi_core.corpus.tables.lines import PROBLEMS, Place, decoded_lines, row_schema, with_problems
from ssi_core.strict import instead
from ssi_core.types import BadInput

LARGEST_ARRAY = 256 << 20
"""Bytes of an array, which is read at once; lines are not."""
_OBJECTS = 10_000  # of an array that are worked on at a time
_BEGINNING = 1 << 12


def read_json(
    path: Path,
    roles: Mapping[str, str],
    written: Written,
    each: str,
    after: Place,
    keys: set[str] | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield the rows of JSON in blocks, as `reader.read_rows` does.

    ``line`` is the line of an object, or its number in the array. With ``each`` the objects of
    that list are the rows; a value that they lack is that of the object around them. ``keys``
    takes the keys of all objects.
    """
    whole = is_array(path, written.encoding)
    blocks = _array(path, written) if whole else decoded_lines(path, written.encoding, after)
    known: set[str] = set() if keys is None else keys
    for number, texts, wrong in blocks:
        rows, names = json_rows(enumerate(texts, number), roles, each)
        known |= names
        yield with_problems(rows, number, wrong, roles, written.encoding)
    missing = [] if after.bytes or not known else [*dict.fromkeys(roles.values())]
    for column in missing:
        if column not in known:
            raise BadInput(f"{path}: no object has the key {instead(column, known)}")


def json_rows(
    lines: Iterable[tuple[int, Any]], roles: Mapping[str, str], each: str = ""
) -> tuple[pl.DataFrame, set[str]]:
    """Return the rows of numbered lines, and the keys that their objects have."""
    rows: list[tuple[Any, ...]] = []
    names: set[str] = set()
    for number, text in lines:
        for row, problem, raw in _unfolded(text, each):
            names |= row.keys()
            values = (_text(row.get(name)) for name in roles.values())
            category = ("json", problem) if problem else (None, None)
            rows.append((number, *category, raw, *values))
    try:
        return pl.DataFrame(rows, schema=row_schema(roles), orient="row"), names
    except UnicodeEncodeError:
        rows = [tuple(whole(v) if isinstance(v, str) else v for v in row) for row in rows]
        return pl.DataFrame(rows, schema=row_schema(roles), orient="row"), names


def whole(text: str) -> str:
    r"""Return a text with U+FFFD for halves of letters, which no encoding has.

    >>> whole("a \ud800 b")
    'a \ufffd b'
    """
    return text if text.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", text)


def is_array(path: Path, encoding: str) -> bool:
    """Tell whether a file is one array, not an object on each line."""
    with inputs.open_input(path) as file:
        beginning = file.read(_BEGINNING)
    if encoding == UTF_16:
        return beginning.decode(encoding, errors="replace").lstrip().startswith("[")
    return beginning.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


def read_array(path: Path, encoding: str) -> list[Any]:
    """Read an array at once; `BadInput` where it is none, or has more bytes than it may."""
    with inputs.open_input(path) as file:
        data = file.read(LARGEST_ARRAY + 1)
    if len(data) > LARGEST_ARRAY:
        raise BadInput(
            f"{path}: an array of more than {LARGEST_ARRAY >> 20} MiB. Write an object on each "
            f"line instead: jq -c '.[]' {path.name}"
        )
    try:
        objects = json.loads(data.decode(encoding).removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: no JSON: {error}. Repair the file.") from None
    return objects if isinstance(objects, list) else []


def _array(path: Path, written: Written) -> Iterator[tuple[int, list[Any], dict[int, str]]]:
    """Yield objects of an array by blocks, as `decoded_lines` does lines."""
    objects = read_array(path, written.encoding)
    if not objects:
        raise BadInput(f"{path}: it is empty. Give a table with a row.")
    for begin in range(0, len(objects), _OBJECTS):
        yield begin + 1, objects[begin : begin + _OBJECTS], {}


def _unfolded(text: Any, each: str) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield the rows of an object, what is wrong with them, and how they are written."""
    raw = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
    whole = _object(text)
    if whole is None:
        yield {}, PROBLEMS["json"], raw
        return
    if not each:
        yield whole, "", raw
        return
    inner = whole.get(each)
    if not isinstance(inner, list):
        yield {}, f"no list {each!r} ([log] each)", raw
        return
    around = {name: value for name, value in whole.items() if name != each}
    for one in inner:
        written = json.dumps(one, ensure_ascii=False)
        if isinstance(one, dict):
            yield around | one, "", written
        else:
            yield {}, PROBLEMS["json"], written


def _object(text: Any) -> dict[str, Any] | None:
    if isinstance(text, str):
        try:
            text = json.loads(text)
        except (ValueError, RecursionError):
            return None
    return text if isinstance(text, dict) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str | None) else json.dumps(value, ensure_ascii=False)
