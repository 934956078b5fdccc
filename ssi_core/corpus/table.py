"""Tables of documents and links: JSON lines, CSV, TSV or parquet, plain or compressed.

Columns are guessed by their names (`ROLES`) and said in the counts; ``columns`` declares them.
"""

from __future__ import annotations

import csv
import io
import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from ssi_core import collection, files, store
from ssi_core.corpus import inputs
from ssi_core.corpus.clicks.columns import LogForm
from ssi_core.corpus.clicks.lines import OPENERS
from ssi_core.corpus.clicks.log import kind_of, read_log
from ssi_core.corpus.own import write_own
from ssi_core.store import Artefact, Building
from ssi_core.types import BadInput, Progress

ROLES: Mapping[str, Sequence[str]] = {
    "id": ("id", "_id", "docid", "doc_id", "docno", "document_id", "pid", "pageid", "page_id"),
    "title": ("title", "name", "headline", "heading", "subject"),
    "text": ("text", "body", "content", "contents", "abstract", "description", "article"),
    "url": ("url", "uri", "permalink", "canonical_url", "link"),
    "language": ("language", "lang"),
    "timestamp": ("timestamp", "date", "updated", "modified", "published", "created"),
    "links": ("links", "outlinks", "references", "cites", "citations"),
}  # fmt: skip
"""Roles of the columns of documents, each with the names that it is known by, in lower case."""
ENDS: Mapping[str, Sequence[str]] = {
    "source": ("source", "from", "src", "citing", "page", "query", "start", "tail"),
    "target": ("target", "to", "dst", "cited", "linked", "document", "end", "head"),
}
"""The same of a table of links."""

_BEGINNING = 100  # objects whose keys are looked at
_log = logging.getLogger(__name__)


def ingest_table(
    documents: Sequence[Path],
    out: Path | None = None,
    *,
    links: Sequence[Path] = (),
    columns: Mapping[str, str] | None = None,
    labels: Sequence[str] = (),
    language: str | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Artefact:
    """Make a corpus of tables of documents, and of tables of links between them.

    Parameters
    ----------
    documents : sequence of Path
        ``.jsonl``, ``.csv``, ``.tsv`` or ``.parquet``, also with ``.gz``, ``.bz2``, ``.xz`` or
        ``.zst`` behind it; one row is a document.
    out : Path, optional
        Directory of the corpus; by default one of the store.
    links : sequence of Path
        Tables with the two ends of a link in each row: ids of documents, or else URLs or titles.
    columns : mapping, optional
        Name of a column by its role: a key of `ROLES` or `ENDS`. By default they are guessed. A
        column ``links`` has a JSON list of ends, or ends with ``|`` between them.
    labels : sequence of str
        Columns that are kept as labels of documents, to slice measures by.
    language : str, optional
        Code of the texts' language; by default that of a column, else guessed from their script.

    Raises
    ------
    BadInput
        A file is damaged or of no known format, a column is missing or nobody knows which it is, or
        no document is left.
    Refused
        ``out`` holds something else, or is being written.
    """
    if not documents:
        raise ValueError("documents=() is empty; expected at least one file")
    paths, ends = [Path(path) for path in documents], [Path(path) for path in links]
    parents = inputs.digest_inputs([*paths, *ends], progress=progress)
    settings = {
        "source": "table",
        "documents": [path.name for path in paths],
        "links": [path.name for path in ends],
        "columns": dict(columns or {}),
        "labels": sorted(labels),
        "language": language,
    }
    make = partial(
        _build,
        paths=paths,
        links=ends,
        columns=columns or {},
        labels=sorted(labels),
        language=language,
        progress=progress,
    )
    return store.open_or_make(collection.KIND, settings, parents, make, out=out, force=force)


def _build(
    building: Building,
    paths: Sequence[Path],
    links: Sequence[Path],
    columns: Mapping[str, str],
    labels: Sequence[str],
    language: str | None,
    progress: Progress | None,
) -> None:
    roles = roles_of(paths[0], ROLES, columns, needed=("text",))
    building.counts["columns"] = dict(roles)
    broken: Counter[str] = Counter()
    own_links = partial(_links_inside, paths, roles, broken)
    end_roles = roles_of(links[0], ENDS, columns, needed=()) if links else {}
    if links:
        end_roles = _both_ends(links[0], end_roles)
        building.counts["link_columns"] = dict(end_roles)
    keep = ["id", *(role for role in ("url", "title") if role in roles)]
    write_own(
        building,
        _documents(paths, roles, labels, broken, progress),
        _chained(own_links if "links" in roles else None, links, end_roles, broken),
        where=paths[0],
        language=language,
        labels=labels,
        names=keep,
    )
    building.skipped.update({f"row_{name}": n for name, n in sorted(broken.items())})


def roles_of(
    path: Path,
    known: Mapping[str, Sequence[str]],
    declared: Mapping[str, str],
    *,
    needed: Sequence[str],
) -> dict[str, str]:
    """Return the column of each role: as declared, else the first name that is known.

    Raises
    ------
    BadInput
        A declared column is not there, or a needed role has none.
    """
    header = header_of(path)
    roles = {}
    by_lower = {name.lower().strip(): name for name in reversed(header)}
    for role, names in known.items():
        if role in declared:
            if declared[role] not in header:
                raise BadInput(
                    f"{path}: there is no column {declared[role]!r} for {role!r}. Its columns are: "
                    f"{', '.join(header)}."
                )
            roles[role] = declared[role]
        elif guess := next((by_lower[name] for name in names if name in by_lower), None):
            roles[role] = guess
    for role in needed:
        if role not in roles:
            raise BadInput(
                f"{path}: which column is the {role}? Its columns are: {', '.join(header)}. Say "
                f"so: --column {role}=NAME"
            )
    return roles


def _both_ends(path: Path, roles: Mapping[str, str]) -> dict[str, str]:
    """Return the columns of both ends; of a table of two columns the first is the source."""
    if len(roles) == len(ENDS):
        return dict(roles)
    header = header_of(path)
    if len(header) != len(ENDS):
        raise BadInput(
            f"{path}: which columns are the two ends of a link? Its columns are: "
            f"{', '.join(header)}. Say so: --column source=NAME --column target=NAME"
        )
    return dict(zip(ENDS, header, strict=True))


def header_of(path: Path) -> list[str]:
    """Return the names of the columns of a table, or the keys of its first objects."""
    kind = kind_of(path, LogForm())
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file. Check the path.")
    if not kind:
        raise BadInput(
            f"{path}: its name does not say what it is. Name it .jsonl, .csv, .tsv or .parquet."
        )
    with files.reading(path, "Restore the file."):
        if kind == "parquet":
            return pl.scan_parquet(path, glob=False).collect_schema().names()
        with OPENERS.get(path.suffix, open)(path, "rb") as file:
            text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
            if kind == "jsonl":
                return _keys(path, text)
            separator = "\t" if kind == "tsv" else ","
            header = next(csv.reader(text, delimiter=separator), [])
    if not header:
        raise BadInput(f"{path}: the file is empty. Give a table with a row.")
    return header


def _keys(path: Path, text: io.TextIOWrapper) -> list[str]:
    names: dict[str, None] = {}
    start = text.readline()
    rest = text.read() if start.lstrip().startswith("[") else ""
    if rest:
        objects = json.loads(start + rest)[:_BEGINNING]
    else:
        lines = [start, *(line for _, line in zip(range(_BEGINNING), text, strict=False))]
        objects = [_object(line) for line in lines]
    for one in objects:
        names |= dict.fromkeys(one if isinstance(one, dict) else ())
    if not start:
        raise BadInput(f"{path}: the file is empty. Give a table with a row.")
    if not names:
        raise BadInput(f"{path}: its first lines are no JSON objects. Write one on each line.")
    return list(names)


def _object(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _documents(
    paths: Sequence[Path],
    roles: Mapping[str, str],
    labels: Sequence[str],
    broken: Counter[str],
    progress: Progress | None,
) -> Iterator[pl.DataFrame]:
    wanted = [role for role in roles if role != "links"]
    rows = 0
    for path in paths:
        columns = dict.fromkeys([*(roles[role] for role in wanted), *labels])
        for block in _rows(path, list(columns), broken):
            shown = {role: pl.col(roles[role]) for role in wanted}
            if "id" not in roles:
                # A document without a name of its own is known by its address, or by its line.
                line = pl.col("line").cast(pl.String)
                shown["id"] = pl.col(roles["url"]) if "url" in roles else line
            yield block.select(**shown, **{name: pl.col(name) for name in labels})
            rows += len(block)
            if progress is not None:
                progress(0.0, f"{rows:,} rows of {path.name}")


def _links_inside(
    paths: Sequence[Path], roles: Mapping[str, str], broken: Counter[str]
) -> Iterator[pl.DataFrame]:
    name = roles.get("id", roles.get("url", ""))
    for path in paths:
        for block in _rows(path, [*([name] if name else []), roles["links"]], Counter()):
            source = pl.col(name) if name else pl.col("line").cast(pl.String)
            ends = [_ends(cell) for cell in block[roles["links"]]]
            yield (
                block.select(source=source, target=pl.Series(ends, dtype=pl.List(pl.String)))
                .explode("target")
                .filter(pl.col("target").is_not_null())
            )


def _ends(cell: str | None) -> list[str]:
    """Return the ends of the links in a cell.

    >>> _ends('["a", "b"]'), _ends("a|b"), _ends('[{"id": 7}]'), _ends("")
    (['a', 'b'], ['a', 'b'], ['7'], [])
    """
    if not cell or not cell.strip():
        return []
    if cell.lstrip().startswith("["):
        value = _object(cell)
        return [_end(one) for one in value] if isinstance(value, list) else []
    return [name for part in cell.split("|") if (name := part.strip())]


def _end(one: object) -> str:
    if isinstance(one, dict):
        names = (*ENDS["target"], *ROLES["id"], *ROLES["url"], *ROLES["title"])
        one = next((one[name] for name in names if name in one), "")
    return str(one)


def _chained(
    inside: partial[Iterator[pl.DataFrame]] | None,
    links: Sequence[Path],
    roles: Mapping[str, str],
    broken: Counter[str],
) -> Iterator[pl.DataFrame]:
    if inside is not None:
        yield from inside()
    for path in links:
        for block in _rows(path, list(dict.fromkeys(roles.values())), broken):
            yield block.select(**{end: pl.col(name) for end, name in roles.items()})


def _rows(path: Path, columns: Sequence[str], broken: Counter[str]) -> Iterator[pl.DataFrame]:
    """Yield the rows of a table; those that are none are counted, and the first is named."""
    for block in read_log(path, columns, LogForm()):
        wrong = block.filter(pl.col("category").is_not_null())
        if len(wrong):
            if not broken:
                line, problem = wrong.select("line", "problem").row(0)
                _log.warning("%s: line %d is no row: %s", path, line, problem)
            broken.update(wrong["category"].to_list())
        yield block.filter(pl.col("category").is_null())
