r"""Files of LETOR and SVMlight: a line for each pair of a query and a document.

``2 qid:10032 1:0.056537 2:0.000000 ... 46:0.076923 #docid = GX029-35-5894638 inc = 1``: the grade,
the query, features by ascending number, a comment. Features that a line leaves out are 0; the value
``NULL``, ``NaN`` or none at all (``3:``) says that a feature is missing. Lines of a query stand
together. A comment line ``# feature 3 = bm25`` gives a feature a name.
"""

from __future__ import annotations

import codecs
import math
import re
import shlex
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from urllib.parse import quote

import numpy as np
import polars as pl

from ssi_core import files, resources
from ssi_core.corpus.archive import read_members
from ssi_core.corpus.inputs import LARGEST_LINE, read_lines
from ssi_core.corpus.tree import tell_left_out, walk
from ssi_core.guests.reranking.pairs import LARGEST_GRADE, Fold, PairFeatures
from ssi_core.root import user_path
from ssi_core.types import BadInput, Progress

LARGEST_FEATURE = 100_000
"""Largest number of a feature: the matrix of features is dense."""
SIDES = {"train": "train", "vali": "valid", "test": "test"}
"""Name of a file of a fold, without its ending -> side."""

_GRADE = re.compile(rb"(\d{1,9})(?:\.0*)?")
_NAMED = re.compile(rb"#\s*feature\s+(\d{1,6})\s*=\s*(\S+)\s*")
_DOCUMENT = re.compile(rb"docid\s*=\s*(\S+)")
_MEMBER = re.compile(r"(?:[^/]+/)*([^/]+/(?:train|vali|test)\.txt)")
_FORM = "Expected: GRADE qid:QUERY 1:VALUE 2:VALUE ... # docid = DOCUMENT."


def read_letor(path: str | Path, progress: Progress | None = None) -> PairFeatures:
    """Read a file of LETOR or SVMlight; it may be packed by gzip, bz2 or xz.

    Parameters
    ----------
    path : str or Path
        The file.
    progress : Progress, optional
        Told the share that is read.

    Returns
    -------
    PairFeatures
        Its pairs; a feature that has no name has its number as its name.

    Raises
    ------
    BadInput
        The file is missing, damaged or empty, or a line of it is malformed; the message names the
        line.
    Refused
        Memory is too small for the matrix.
    """
    path = user_path(path)

    def lines() -> Iterator[bytes | None]:
        for line, share in read_lines(path):
            if progress is not None:
                progress(share, path.name)
            yield line

    return _parse(lines(), str(path))


def read_sides(paths: Sequence[Path], progress: Progress | None = None) -> dict[Path, PairFeatures]:
    """Read files, each a side; `BadInput` where two have a query, of which a measure says nothing.

    Parameters
    ----------
    paths : sequence of Path
        Files, or one file twice, all of whose queries are then on two sides.
    progress : Progress, optional
        Told the share of each file that is read.
    """
    sides = {path: read_letor(path, progress) for path in dict.fromkeys(paths)}
    seen: dict[str, Path] = {}
    for path in paths:
        for query in sides[path].queries:
            if query in seen:
                raise BadInput(
                    f"{path}: query {query} is in {seen[query]}, too. Give each query one side."
                )
        seen |= dict.fromkeys(sides[path].queries, path)
    return sides


def read_folds(path: str | Path, progress: Progress | None = None) -> tuple[Fold, ...]:
    """Read LETOR's folds: ``FoldN/{train,vali,test}.txt`` in a folder or an archive (tar.xz).

    Parameters
    ----------
    path : str or Path
        The folder or the archive.
    progress : Progress, optional
        Told the share that is read.

    Returns
    -------
    tuple of Fold
        By name; all sides have the same features.

    Raises
    ------
    BadInput
        There is no fold, a fold lacks a file, a query is on two sides of a fold, or a line is
        malformed.
    """
    path = user_path(path)
    sides = dict(_sides_of(path, progress))
    names = sorted({name.rpartition("/")[0] for name in sides})
    if not names:
        raise BadInput(f"{path}: it has no fold. {_FOLDS}")
    for name in names:
        for side in SIDES:
            if f"{name}/{side}.txt" not in sides:
                raise BadInput(f"{path}: {name}/{side}.txt is missing. {_FOLDS}")
    widest = max(sides.values(), key=lambda side: len(side.names)).names
    folds = []
    for name in names:
        three = {
            kind: pad(sides[f"{name}/{side}.txt"], widest, f"{path}: {name}/{side}.txt")
            for side, kind in SIDES.items()
        }
        queries = pl.concat([side.queries for side in three.values()])
        if not queries.is_unique().all():
            shared = queries.filter(queries.is_duplicated())[0]
            raise BadInput(
                f"{path}: {name}: query {shared} is on two sides. Give each query one side."
            )
        folds.append(Fold(name, **three))
    return tuple(folds)


_FOLDS = "Expected: folders with train.txt, vali.txt and test.txt, as LETOR's Fold1 to Fold5."


def _sides_of(path: Path, progress: Progress | None) -> Iterator[tuple[str, PairFeatures]]:
    if path.is_dir():
        names = {f"{side}.txt" for side in SIDES}
        skipped: Counter[str] = Counter()
        found = [file for file in walk(path, skipped) if file.name in names]
        tell_left_out(path, skipped)
        found = [file for file in found if file.parent.parent == path]
        for number, file in enumerate(found):
            if progress is not None:
                progress(number / len(found), str(file.relative_to(path)))
            yield f"{file.parent.name}/{file.name}", read_letor(file)
        return
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file or folder. Check the path.")
    for number, (name, content) in enumerate(read_members(path, _MEMBER, "a file of a fold")):
        if progress is not None:
            progress(1 - 1 / (2 + number), name)
        yield name, _parse(content.splitlines(keepends=True), f"{path}: {name}")


def pad(features: PairFeatures, names: tuple[str, ...], where: str) -> PairFeatures:
    """Return pairs with the features of a model, those that no line of their file has as 0.

    Raises
    ------
    BadInput
        The pairs have a feature that is none of the names; the message begins with ``where``.
    """
    if features.names == names:
        return features
    position_of = {name: position for position, name in enumerate(names)}
    if unknown := [name for name in features.names if name not in position_of]:
        raise BadInput(
            f"{where}: feature {unknown[0]!r} is unknown: {len(names)} are known, from "
            f"{names[0]!r} to {names[-1]!r}. Use files with the same features."
        )
    values = np.zeros((len(features), len(names)))
    values[:, [position_of[name] for name in features.names]] = features.values
    return features.with_values(values, names)


_UTF_16 = "it is in UTF-16. Convert it: iconv -f utf-16 -t utf-8 {file} > converted.txt"
_OTHERS = {
    codecs.BOM_UTF16_LE: _UTF_16,
    codecs.BOM_UTF16_BE: _UTF_16,
    b"PK\3\4": "it is a zip archive. Unpack it, or pack it with gzip.",
}
"""First bytes of files that hold no lines as they are -> what to do."""


def _parse(lines: Iterable[bytes | None], where: str) -> PairFeatures:
    """Parse lines; ``where`` names them in errors."""
    grades, numbers, columns = array("i"), array("q"), array("i")
    values, ends = array("d"), array("q", [0])
    queries: dict[str, int] = {}
    names: dict[int, str] = {}
    documents: list[str] = []
    start: list[int] = []
    known: list[bytes] = []
    known_columns: list[int] = []
    query = b""
    for number, line in enumerate(lines, 1):
        at = f"{where}, line {number}"
        if line is None:
            raise BadInput(f"{at}: it is longer than {LARGEST_LINE >> 20} MiB. {_FORM}")
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
            for sign, remedy in _OTHERS.items():
                if line.startswith(sign):
                    raise BadInput(f"{where}: {remedy.format(file=shlex.quote(where))}")
        head, mark, comment = line.partition(b"#")
        tokens = head.split()
        if not tokens:
            if mark and (named := _NAMED.fullmatch(line.strip())):
                names[int(named[1])] = named[2].decode("utf-8", "replace")
            continue
        grade = _GRADE.fullmatch(tokens[0])
        if grade is None or int(grade[1]) > LARGEST_GRADE:
            raise BadInput(
                f"{at}: {_shown(tokens[0])} is no grade: expected a whole number from 0 to "
                f"{LARGEST_GRADE}. {_FORM}"
            )
        if len(tokens) < 2 or not tokens[1].startswith(b"qid:") or len(tokens[1]) == 4:
            raise BadInput(f"{at}: it has no query after the grade. {_FORM}")
        if tokens[1] != query:
            query = tokens[1]
            name = query[4:].decode("utf-8", "replace")
            if name in queries:
                raise BadInput(
                    f"{at}: query {name} comes again after others. Sort the file by query."
                )
            queries[name] = len(queries)
            start.append(len(grades))
        fields = tokens[2:]
        wrong = next((field for field in fields if field.count(b":") != 1), None)
        if wrong is not None:
            raise BadInput(f"{at}: {_shown(wrong)} is no NUMBER:VALUE. {_FORM}")
        parts = b":".join(fields).split(b":") if fields else []
        if parts[::2] != known:
            known, known_columns = parts[::2], _columns(parts[::2], at)
        try:
            numbers_of_line = list(map(float, parts[1::2]))
        except ValueError:
            numbers_of_line = [_number(part, at) for part in parts[1::2]]
        values.extend(numbers_of_line)
        columns.extend(known_columns)
        ends.append(len(columns))
        grades.append(int(grade[1]))
        numbers.append(number)
        document = _DOCUMENT.search(comment)
        text = document[1] if document else comment.strip()
        documents.append(text.decode("utf-8", "replace"))
    if not start:
        raise BadInput(f"{where}: it has no line of a pair. {_FORM}")
    flat, feature = np.frombuffer(values), np.frombuffer(columns, np.int32)
    bounds = np.frombuffer(ends, np.int64)
    if np.isinf(flat).any():
        entry = int(np.flatnonzero(np.isinf(flat))[0])
        line_number = numbers[int(np.searchsorted(bounds, entry, "right")) - 1]
        raise BadInput(
            f"{where}, line {line_number}: feature {feature[entry]} is {flat[entry]}. Write a "
            "finite number, NULL where it is missing, or leave the feature out, which means 0."
        )
    width = max(int(feature.max(initial=1)), max(names, default=1))
    resources.require(
        "the features", memory=8 * width * len(grades), remedy="Read a part of the file."
    )
    matrix = np.zeros((len(grades), width))
    matrix[np.repeat(np.arange(len(grades)), np.diff(bounds)), feature - 1] = flat
    labels = tuple(names.get(n, str(n)) for n in range(1, width + 1))
    if len(set(labels)) < width:
        twice = next(label for label in labels if labels.count(label) > 1)
        raise BadInput(f"{where}: two features have the name {twice!r}. Give each its own.")
    return PairFeatures(
        matrix,
        np.array(grades, dtype=np.int32),
        pl.Series("query", list(queries), dtype=pl.String),
        np.array([*start, len(grades)], dtype=np.int64),
        pl.Series("document", documents, dtype=pl.String),
        labels,
    )


def _columns(parts: list[bytes], at: str) -> list[int]:
    """Return the numbers of the features of a line."""
    for part in parts:
        if not part.isdigit() or not 1 <= int(part) <= LARGEST_FEATURE:
            raise BadInput(
                f"{at}: {_shown(part)} is no number of a feature: expected 1 to {LARGEST_FEATURE}. "
                f"{_FORM}"
            )
    columns = [int(part) for part in parts]
    for before, after in pairwise(columns):
        if after <= before:
            raise BadInput(
                f"{at}: feature {after} stands after {before}. Write features by ascending number."
            )
    return columns


def _number(part: bytes, at: str) -> float:
    """Return a value; NaN where it is missing."""
    if part.upper() in (b"", b"NULL"):
        return float("nan")
    try:
        return float(part)
    except ValueError:
        raise BadInput(
            f"{at}: the value {_shown(part)} is no number. Write NULL where it is missing. {_FORM}"
        ) from None


def _shown(part: bytes) -> str:
    return repr(part[:40].decode("utf-8", "replace"))


def write_letor(features: PairFeatures, path: str | Path) -> None:
    """Write pairs as a file of LETOR; `read_letor` reads the same values back.

    Blanks, ``%`` and ``#`` in ids and names are percent-encoded.

    Parameters
    ----------
    features : PairFeatures
        Pairs to write.
    path : str or Path
        The file; one that is there is replaced when the new one is whole.

    Raises
    ------
    Refused
        The disk is full, or may not be written.
    """
    path = user_path(path)
    draft = path.with_name(f".{path.name}.tmp")
    with files.writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with draft.open("w", encoding="utf-8") as out:
                for number, name in enumerate(features.names, 1):
                    if name != str(number):
                        out.write(f"# feature {number} = {_one_word(name)}\n")
                out.writelines(_lines(features))
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)


def write_folds(folds: Sequence[Fold], directory: str | Path) -> None:
    """Write folds as folders of ``train.txt``, ``vali.txt`` and ``test.txt``; see `read_folds`.

    Parameters
    ----------
    folds : sequence of Fold
        Folds to write.
    directory : str or Path
        Folder that is to hold theirs.
    """
    for fold in folds:
        for file, side in SIDES.items():
            write_letor(getattr(fold, side), Path(directory) / fold.name / f"{file}.txt")


def _lines(features: PairFeatures) -> Iterator[str]:
    grades, documents = features.grade.tolist(), features.documents.to_list()
    for query, rows in features.lists():
        name = _one_word(query)
        for row in range(rows.start, rows.stop):
            numbers = enumerate(features.values[row].tolist(), 1)
            written = " ".join(
                f"{number}:{'NULL' if math.isnan(value) else repr(value)}"
                for number, value in numbers
            )
            comment = f" #docid = {_one_word(documents[row])}" if documents[row] else ""
            yield f"{grades[row]} qid:{name} {written}{comment}\n"


def _one_word(text: str) -> str:
    return re.sub(r"[\s%#]", lambda sign: quote(sign[0]), text)
