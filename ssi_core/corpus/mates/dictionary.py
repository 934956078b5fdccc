"""Dictionaries: text files of two columns, a term and its translation, divided by a tab."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import polars as pl

from ssi_core.collection import ENDS
from ssi_core.corpus import inputs
from ssi_core.types import BadInput


def read_dictionary(path: Path, skipped: Counter[str]) -> pl.DataFrame:
    """Read the distinct entries of a dictionary, in the order of the file.

    Parameters
    ----------
    path : Path
        UTF-8, may be packed by gzip, bz2 or xz; an entry a line, no head: a term in the language of
        the queries, a tab, a translation; a term may have several lines.
    skipped : Counter
        Where ``entry_duplicate``, ``entry_too_long`` and ``entry_without_translation`` are counted.

    Returns
    -------
    columns ``source``, ``target``

    Raises
    ------
    BadInput
        The file is missing, empty or damaged, a line isn't two columns of UTF-8, or nothing is
        translated.
    """
    entries: dict[tuple[str, str], None] = {}
    for number, (line, _) in enumerate(inputs.read_lines(path), 1):
        if line is None:
            skipped["entry_too_long"] += 1
            continue
        entry = _entry(line, path, number)
        if not all(entry):
            skipped["entry_without_translation"] += 1
        elif entry in entries:
            skipped["entry_duplicate"] += 1
        else:
            entries[entry] = None
    if not entries:
        raise BadInput(f"{path}: no line has a translation. Write a term, a tab, its translation.")
    return pl.DataFrame(list(entries), schema=dict(ENDS), orient="row")


def _entry(line: bytes, path: Path, number: int) -> tuple[str, str]:
    try:
        columns = [column.strip() for column in line.decode("utf-8-sig").split("\t")]
    except UnicodeDecodeError:
        raise BadInput(f"{path}: line {number} is no UTF-8. Convert the file to UTF-8.") from None
    if len(columns) != 2:
        raise BadInput(
            f"{path}: line {number} has {len(columns)} columns, expected two: a term, a tab, its "
            "translation. Write it so."
        )
    return columns[0], columns[1]
