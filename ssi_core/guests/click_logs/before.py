"""The clicks of earlier logs: what was read of them is kept, and only new lines are read.

Kept as ``lines/`` in the artefact are the rows that their lines gave, before tables of texts and
slates have their say. So all that depends on other rows (repetitions, slates that go on in a later
log, clicks that come late, weights) is settled anew over all rows, and the result is that of
reading all lines: no time need be waited for, and none is too late. The watermark is the place up
to which each log was read.

A log that was read need not be there any more. One that is must be what it was; the last may have
grown by lines at its end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from ssi_core import files, store
from ssi_core.collection import KIND, PartWriter
from ssi_core.corpus import inputs
from ssi_core.corpus.tables.form import PACKED, UTF_16, text_bytes, written_as
from ssi_core.corpus.tables.lines import Place
from ssi_core.guests.click_logs.columns import LogForm
from ssi_core.guests.click_logs.shards import ROWS
from ssi_core.types import BadInput

LINES = "lines"
"""Directory of ``part-*.parquet`` in the schema `shards.ROWS`."""
_SAID = "lines.json"
_REMEDY = "Ingest all logs without it."
_TAIL = 1 << 20  # bytes at the end in which a quote may be open


@dataclass(frozen=True)
class Log:
    """A log as it was read: its name, sha256, bytes, and roughly its bytes of text."""

    name: str
    digest: str
    size: int
    text: int


@dataclass(frozen=True)
class Plan:
    """Lines of the logs that are still to be read.

    Attributes
    ----------
    logs : sequence of Log
        All, those that were read before first.
    reads : sequence of tuple
        Number of a log, its path, and from where on it is read.
    before : Path or None
        The artefact whose rows are taken; None: none are.
    why : str
        Why no rows are taken although there is an earlier artefact.
    """

    logs: Sequence[Log]
    reads: Sequence[tuple[int, Path, Place]]
    before: Path | None = None
    why: str = ""

    @property
    def names(self) -> list[str]:
        """Names of the logs, by number."""
        return [log.name for log in self.logs]

    @property
    def text(self) -> int:
        """Bytes of text of all logs, roughly."""
        return sum(log.text for log in self.logs)


def plan_reading(
    logs: Sequence[Path],
    form: LogForm,
    digests: Mapping[str, str],
    since: Path | None,
    key: str,
) -> Plan:
    """Find out which lines are new.

    Parameters
    ----------
    digests : mapping
        Sha256 of each log, by name.
    since : Path or None
        Artefact of earlier logs, or None.
    key : str
        Of all that decides what a line is read as.

    Raises
    ------
    BadInput
        The artefact is none of logs, or is damaged; or it can't be used, and not all of its logs
        are there to be read again.
    """
    given = [
        Log(path.name, digests[path.name], path.stat().st_size, text_bytes([path])) for path in logs
    ]
    if since is None:
        return Plan(given, [(n, path, Place()) for n, path in enumerate(logs)])
    manifest = _said(since)
    with files.reading(since / LINES / _SAID, _REMEDY):
        old = [Log(**log) for log in manifest["logs"]]
    new_lines = _new_lines(old, {path.name: path for path in logs}, given, form)
    if manifest.get("key") != key:
        new_lines = "its map, a table beside it or its version of ssi was another"
    if isinstance(new_lines, str):
        gone = [log.name for log in old if log.name not in digests]
        if gone:
            raise BadInput(
                f"{since}: its rows can't be taken over, as {new_lines}, and {', '.join(gone)} "
                f"{'is' if len(gone) == 1 else 'are'} not given to be read again. Give all logs."
            )
        return Plan(given, [(n, path, Place()) for n, path in enumerate(logs)], why=new_lines)
    all_logs, reads = new_lines
    return Plan(all_logs, reads, since)


def _new_lines(
    old: Sequence[Log], paths: Mapping[str, Path], given: Sequence[Log], form: LogForm
) -> tuple[list[Log], list[tuple[int, Path, Place]]] | str:
    """Return all logs and what of them is new, or why rows can't be taken over."""
    now = {log.name: log for log in given}
    logs, reads = list(old), []
    for number, log in enumerate(old):
        if log.name not in now or now[log.name].digest == log.digest:
            continue
        grown = _grown(paths[log.name], log, form)
        if isinstance(grown, str):
            return grown
        if number < len(old) - 1:
            return f"{log.name} has grown, and others were read after it"
        logs[number] = now[log.name]
        reads.append((number, paths[log.name], grown))
    known = {log.name for log in old}
    for log in given:
        if log.name not in known:
            reads.append((len(logs), paths[log.name], Place()))
            logs.append(log)
    return logs, reads


def _grown(path: Path, log: Log, form: LogForm) -> Place | str:
    """Return the place behind the lines that were read, or why there is none."""
    if path.suffix in PACKED or inputs.packing_of(path):
        return f"{log.name} is packed, and not what it was"
    written = written_as(path, form)
    if written.encoding == UTF_16:
        return f"{log.name} is in UTF-16, and not what it was"
    digest, left, lines, tail = hashlib.sha256(), log.size, 0, b""
    with inputs.open_raw(path) as file:
        while block := file.read(min(_TAIL, left)):
            digest.update(block)
            lines += block.count(b"\n")
            left -= len(block)
            tail = (tail + block)[-_TAIL:]
    if left or digest.hexdigest() != log.digest:
        return f"{log.name} is not what it was"
    if not tail.endswith(b"\n"):
        return f"the last line of {log.name} was not whole"
    if written.has_quotes and any(line.count(b'"') % 2 for line in tail.splitlines()):
        return f"a quote may have been open at the end of {log.name}"
    return Place(log.size, lines)


def _said(since: Path) -> dict[str, Any]:
    store.read(since, KIND)
    if not (since / LINES / _SAID).exists():
        raise BadInput(
            f"{since}: it keeps no rows of logs: it is of a data set, or an older version of ssi "
            f"made it. {_REMEDY}"
        )
    return files.read_object(since / LINES / _SAID, _REMEDY)


def logs_of(clicks: Path) -> dict[str, str]:
    """Return sha256 -> name of the logs that a collection of clicks was read from."""
    if not (clicks / LINES / _SAID).exists():
        return {}
    return {log["digest"]: log["name"] for log in _said(clicks)["logs"]}


def rows_read(since: Path) -> int:
    """Return how many lines an artefact has read."""
    return int(_said(since)["rows"])


class Kept:
    """Rows of lines on their way into an artefact, for the ingestion after it."""

    def __init__(self, path: Path) -> None:
        self.path = path / LINES
        self.writer = PartWriter(self.path, ROWS)

    def take(self, since: Path) -> tuple[list[Path], dict[str, Any]]:
        """Take over the rows of an earlier artefact; returns their parts, and what it says."""
        manifest = _said(since)
        parts = sorted((since / LINES).glob("part-*.parquet"))
        for part in parts:
            self.writer.link(part, len(read_part(part, "line")))
        if self.writer.rows != manifest.get("believed"):
            raise BadInput(f"{since / LINES}: rows are missing. {_REMEDY}")
        return parts, manifest

    def finish(self, key: str, logs: Sequence[Log], rows: int, known: Mapping[str, Any]) -> None:
        """Say what was read: ``rows`` lines of some logs, and what was broken of them."""
        manifest = {"key": key, "logs": [asdict(log) for log in logs], "rows": rows, **known}
        store.write_json(self.path / _SAID, {**manifest, "believed": self.writer.rows})


def read_part(part: Path, *columns: str) -> pl.DataFrame:
    """Read a part of the rows that were kept."""
    with files.reading(part, _REMEDY):
        return pl.read_parquet(part, columns=list(columns or ROWS), glob=False)
