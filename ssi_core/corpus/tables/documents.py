"""Tables of documents and links: JSON lines, CSV, TSV or parquet, plain or compressed.

Columns are guessed by their names (`roles`) and said in the counts; ``columns`` declares them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ssi_core import files, store
from ssi_core.corpus.earlier import TABLE, Earlier, Kept, digest_of, open_earlier, report_taken
from ssi_core.corpus.tables.form import TableForm, said_of, written_as
from ssi_core.corpus.tables.json_rows import is_array, json_rows
from ssi_core.corpus.tables.lines import Place, decoded_lines, with_problems
from ssi_core.corpus.tables.reader import header_of, object_of, read_rows
from ssi_core.corpus.tables.roles import ANCHOR, DOCUMENTS, ENDS, guessed, roles_of
from ssi_core.corpus.user_texts import write_own
from ssi_core.remedies import typed
from ssi_core.store import Building
from ssi_core.strict import listed
from ssi_core.types import BadInput, Progress

if TYPE_CHECKING:
    from ssi_core.corpus.sources.table import Table

_log = logging.getLogger(__name__)


def build(building: Building, source: Table, progress: Progress | None) -> None:
    """Write a corpus of tables of documents, and of tables of links between them.

    ``counts["since"]`` tells what was taken of an earlier collection; the result is the same, and
    the key does not know it.

    Raises
    ------
    BadInput
        A file is damaged or of no known format, a column is missing or nobody knows which it is, or
        no document is left.
    """
    paths, links, labels = source.paths, source.links, sorted(source.labels)
    form = TableForm(**source.written)
    roles = roles_of(paths[0], DOCUMENTS, source.columns, needed=("text",), form=form)
    building.counts["columns"] = dict(roles)
    link_roles = _roles_of_links(links[0], source.columns, form) if links else {}
    if links:
        building.counts["link_columns"] = dict(link_roles)
    if written := said_of([*paths, *links], form):
        building.counts["read_as"] = written
    reading = _Reading(building.path, roles, labels, form, source.since)
    keep = ["id", *(role for role in ("url", "title") if role in roles)]
    write_own(
        building,
        reading.documents(paths, progress),
        reading.links(links, link_roles),
        where=paths[0],
        language=source.language,
        labels=labels,
        names=keep,
    )
    reading.finish(building)


def _roles_of_links(path: Path, declared: Mapping[str, str], form: TableForm) -> dict[str, str]:
    """Return the columns of both ends, and of the words; an end may be the column that is left."""
    roles = roles_of(path, {**ENDS, **ANCHOR}, declared, form=form)
    header = header_of(path, form)
    if len(header) == len(ENDS) and "anchor" not in declared:
        roles.pop("anchor", None)
    ends = [end for end in ENDS if end not in roles]
    left = [name for name in header if name not in roles.values()]
    if len(header) < len(ENDS):
        raise BadInput(
            f"{path}: a link has two ends, and there is one column: {header[0]}. Give a column "
            f"for each end, {' and '.join(ENDS)}."
        )
    if ends and len(left) != len(ends):
        raise BadInput(
            f"{path}: which columns are the two ends of a link? Its columns are: "
            f"{listed(header)}. Say so: " + typed("column", dict.fromkeys(ENDS, "NAME"))
        )
    return {**roles, **dict(zip(ends, left, strict=False))}


class _Reading:
    """A pass over tables: documents and the links inside of them, then tables of links."""

    def __init__(
        self,
        path: Path,
        roles: Mapping[str, str],
        labels: Sequence[str],
        form: TableForm,
        since: Path | None,
    ) -> None:
        self._path, self._form = path, form
        self._labels = {name: f"label {name}" for name in labels}
        self._roles = {**roles, **{role: name for name, role in self._labels.items()}}
        others = [role for role in self._roles if role != "text"]
        self._kept_as = {role: f"column {position}" for position, role in enumerate(others)}
        settings = {"source": "table", "roles": self._roles}
        self._key = store.key_of("read", settings, {}, store.code_of(build)["digest"])
        columns = [*self._kept_as.values(), _SOURCE]
        self._earlier = open_earlier(since, "table", columns, self._key) if since else None
        self._kept = Kept(path, columns)
        self._broken: Counter[str] = Counter()
        self._taken = 0

    def documents(self, paths: Sequence[Path], progress: Progress | None) -> Iterator[pl.DataFrame]:
        """Yield the documents in blocks; what is read of each is kept."""
        shown = {
            role: pl.col(role) for role in self._roles if role in DOCUMENTS and role != "links"
        }
        if "id" not in shown:
            # A document without a name of its own is known by its address, or by its line.
            shown["id"] = shown.get("url", pl.col("line").cast(pl.String))
        kept = {name: pl.col(role) for role, name in self._kept_as.items()}
        source = shown["id"] if "links" in self._roles else pl.lit(None, pl.String)
        labels = {name: pl.col(role) for name, role in self._labels.items()}
        rows = 0
        self._say_unread(paths)
        for path in paths:
            for block in self._rows(path, self._roles, self._lines):
                digests = [digest_of(raw.encode()) for raw in block["raw"]]
                ends = {"id": shown["id"], "text": shown["text"], _SOURCE: source}
                self._kept.write(
                    block.select(digest=pl.Series(digests, dtype=pl.Binary), **ends, **kept)
                )
                yield _with_lines(block.select(**shown, **labels))
                rows += len(block)
                if progress is not None:
                    progress(0.0, f"{rows:,} rows of {path.name}")

    def _say_unread(self, paths: Sequence[Path]) -> None:
        """Name the columns that only later tables have: the first says which are read."""
        first = header_of(paths[0], self._form) if len(paths) > 1 else []
        for path in paths[1:]:
            known = guessed(header_of(path, self._form), DOCUMENTS).values()
            if unread := [name for name in known if name not in first]:
                _log.warning(
                    "%s: not read: %s, a column that %s, which comes first, does not have",
                    *(path.name, listed(unread), paths[0].name),
                )

    def links(self, tables: Sequence[Path], roles: Mapping[str, str]) -> Iterator[pl.DataFrame]:
        """Yield the links inside the documents that were read, then those of tables.

        Where the tables have the words of links, those inside of documents have none.
        """
        if "links" in self._roles:
            column = self._kept_as["links"]
            for part in files.parts_in(self._path / TABLE):
                rows = pl.read_parquet(part, columns=[_SOURCE, column], glob=False)
                ends = rows.select(source=_SOURCE, target=pl.col(column).str.split(_BETWEEN))
                if "anchor" in roles:
                    ends = ends.with_columns(text=pl.lit(""))
                yield ends.explode("target").filter(pl.col("target").is_not_null())
        for path in tables:
            for block in self._rows(path, roles, self._read):
                yield block.select(*roles).rename({"anchor": "text"}, strict=False)

    def finish(self, building: Building) -> None:
        """Account for the rows that are none, and for what was taken."""
        self._kept.finish(self._key)
        building.skipped.update({f"row_{name}": n for name, n in sorted(self._broken.items())})
        report_taken(building, self._earlier, self._taken)

    def _rows(
        self,
        path: Path,
        roles: Mapping[str, str],
        read: Callable[[Path, Mapping[str, str]], Iterator[pl.DataFrame]],
    ) -> Iterator[pl.DataFrame]:
        """Yield the rows of a table; those that are none are counted, and the first is named."""
        for block in read(path, roles):
            wrong = block.filter(pl.col("category").is_not_null())
            if len(wrong):
                if not self._broken:
                    line, problem = wrong.select("line", "problem").row(0)
                    _log.warning("%s: line %d is no row: %s", path, line, problem)
                self._broken.update(wrong["category"].to_list())
            yield block.filter(pl.col("category").is_null())

    def _read(self, path: Path, roles: Mapping[str, str]) -> Iterator[pl.DataFrame]:
        keys: set[str] = set()
        yield from read_rows(path, roles, self._form, keys=keys)
        if roles is self._roles:
            self._say_late(path, keys)

    def _say_late(self, path: Path, keys: set[str]) -> None:
        """Name the keys of JSON that came after those that were looked at, and have a role."""
        late = keys.difference(self._roles.values(), header_of(path, self._form) if keys else ())
        roles = {
            role: name
            for role, name in guessed([*late], DOCUMENTS).items()
            if role not in self._roles
        }
        if roles:
            _log.warning(
                "%s: not read: %s, which the first objects do not have. Say so: %s",
                path.name, listed([*roles.values()]), typed("column", roles),
            )  # fmt: skip

    def _lines(self, path: Path, roles: Mapping[str, str]) -> Iterator[pl.DataFrame]:
        """Yield rows as `read_rows` does; JSON lines that are known are not parsed."""
        earlier, written = self._earlier, written_as(path, self._form)
        lines = written.kind == "jsonl" and not is_array(path, written.encoding)
        if not isinstance(earlier, Earlier) or not lines:
            yield from map(self._with_ends, self._read(path, roles))
            return
        keys: set[str] = set()
        for number, texts, wrong in decoded_lines(path, written.encoding, Place()):
            taken = earlier.take([digest_of(text.encode()) for text in texts])
            taken = taken.filter(~pl.col("place").is_in(list(wrong)))
            known = set(taken["place"])
            self._taken += len(known)
            new = ((number + n, text) for n, text in enumerate(texts) if n not in known)
            rows, names = json_rows(new, roles)
            keys |= names
            same = taken.select(
                "text",
                *(pl.col(name).alias(role) for role, name in self._kept_as.items()),
                line=pl.col("place") + number,
                category=pl.lit(None, pl.String),
                problem=pl.lit(None, pl.String),
                raw=pl.Series([texts[position] for position in taken["place"]], dtype=pl.String),
            ).select(rows.columns)
            every = pl.concat([self._with_ends(rows), same]).sort("line")
            yield with_problems(every, number, wrong, roles, written.encoding)
        self._say_late(path, keys)

    def _with_ends(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Put the ends of the links in the place of the cells that name them; null: none."""
        if "links" not in self._roles:
            return rows
        ends = [_BETWEEN.join(_listed(cell)) or None for cell in rows["links"]]
        return rows.with_columns(links=pl.Series(ends, dtype=pl.String))


_SOURCE = "source of its links"
_BETWEEN = "\x1f"  # the ends of links, in what is kept


def _with_lines(rows: pl.DataFrame) -> pl.DataFrame:
    """Put each heading on a line of its own, as a list of them has it."""
    if "headings" not in rows.columns:
        return rows
    lines = ["\n".join(_listed(cell)) or cell for cell in rows["headings"]]
    return rows.with_columns(pl.Series("headings", lines, dtype=pl.String))


def _listed(cell: str | None) -> list[str]:
    """Return the values in a cell: a JSON list, or values with ``|`` between them.

    >>> _listed('["a", "b"]'), _listed("a|b"), _listed('[{"id": 7}]'), _listed("")
    (['a', 'b'], ['a', 'b'], ['7'], [])
    """
    if not cell or not cell.strip():
        return []
    if cell.lstrip().startswith("["):
        value = object_of(cell)
        return [_end(one) for one in value] if isinstance(value, list) else []
    return [name for part in cell.split("|") if (name := part.strip())]


def _end(one: object) -> str:
    if isinstance(one, dict):
        names = (*ENDS["target"], *DOCUMENTS["id"], *DOCUMENTS["url"], *DOCUMENTS["title"])
        one = next((one[name] for name in names if name in one), "")
    return str(one)
