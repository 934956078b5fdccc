"""What the columns of a click log are called: ``map.toml``.

.. code-block:: toml

    [columns]               # ours = the log's
    session = "visit"       # one showing of a page, or one visit: a slate is (session, page)
    page = "url"            # id; without it, page_text tells pages apart
    page_text = "body"      # unless the texts come from a table of their own
    ad = "ad_id"
    ad_text = "creative"
    position = "rank"
    clicked = "click"
    time = "when"           # optional, as are page_title, ad_title and user

    [log]                   # all optional
    format = "csv"          # csv, tsv, jsonl, parquet; else the name of the file says it
    first_position = 1

    [ads]                   # columns of the table of ads, likewise [pages]; all optional
    id = "ad_id"
    text = "creative"
    language = "en"         # of the texts, in the log too; a corpus of texts knows its own
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from ssi_core import files
from ssi_core.types import BadInput

ROLES = (
    "session", "user", "page", "page_title", "page_text", "ad", "ad_title", "ad_text", "position",
    "clicked", "time",
)  # fmt: skip
REQUIRED = ("session", "position", "clicked")
FORMATS = ("csv", "tsv", "jsonl", "parquet")

T = TypeVar("T")


@dataclass(frozen=True)
class LogForm:
    """The section ``[log]``.

    Attributes
    ----------
    format : one of `FORMATS`; "": the name of the file says it
    encoding : of CSV, TSV and JSON lines
    separator : of CSV; TSV has tabs and no quotes
    header : whether the first line names the columns; without one they are "1", "2", ...
    time_format : as of strftime; "": ISO 8601, or seconds since 1970
    first_position : number of the best place of a slate
    """

    format: str = ""
    encoding: str = "utf-8"
    separator: str = ","
    header: bool = True
    time_format: str = ""
    first_position: int = 1


@dataclass(frozen=True)
class TextForm:
    """The sections ``[pages]`` and ``[ads]``: columns of a table of texts, and their language.

    The language is also that of texts in the log; a corpus has its own. It is the code of a
    Wikipedia; "any" splits each script by a rule of its own.
    """

    id: str = "id"
    title: str = ""
    text: str = "text"
    language: str = "en"


@dataclass(frozen=True)
class LogMap:
    """A map: role -> column of the log, and how log and tables are written."""

    columns: Mapping[str, str]
    log: LogForm = field(default_factory=LogForm)
    pages: TextForm = field(default_factory=TextForm)
    ads: TextForm = field(default_factory=TextForm)
    where: str = field(default="map", compare=False)

    def column(self, role: str) -> str:
        """Return the log's name for a role; the role's own where it has none."""
        return self.columns.get(role, role)

    def configuration(self) -> dict[str, Any]:
        """As JSON has it."""
        parts = {name: dict(vars(getattr(self, name))) for name in ("log", "pages", "ads")}
        return {"columns": dict(self.columns), **parts}


def load_map(path: Path) -> LogMap:
    """Read a map; `BadInput` names the key that is unknown, missing or of a wrong kind."""
    path = Path(path)
    with files.reading(path, "Write the map as 'ssi ingest clicks --help' shows it."):
        said = tomllib.loads(path.read_text(encoding="utf-8"))
    return parse_map(said, str(path))


def parse_map(said: Mapping[str, Any], where: str = "map") -> LogMap:
    """Check a map as TOML gives it; see `load_map`."""
    _known(said, ("columns", "log", "pages", "ads"), where)
    columns = said.get("columns", {})
    if not isinstance(columns, Mapping):
        raise BadInput(f'{where}: [columns] is no table. Write ours = "the log\'s" under it.')
    _known(columns, ROLES, f"{where}: [columns]")
    for role, column in columns.items():
        if not isinstance(column, str) or not column:
            raise BadInput(f"{where}: [columns]: {role} = {column!r}, expected a column's name.")
        twice = [other for other, name in columns.items() if name == column and other != role]
        if twice:
            raise BadInput(
                f"{where}: [columns]: {role} and {twice[0]} are both {column!r}. Give each a "
                "column of its own."
            )
    missing = [role for role in REQUIRED if role not in columns]
    missing += [
        f"{side} (or {side}_text)"
        for side in ("page", "ad")
        if side not in columns and f"{side}_text" not in columns
    ]
    if missing:
        raise BadInput(
            f"{where}: [columns]: {', '.join(missing)} missing. Say which column of the log it is."
        )
    log = _section(LogForm, said.get("log", {}), f"{where}: [log]")
    if log.format and log.format not in FORMATS:
        raise BadInput(
            f"{where}: [log]: format = {log.format!r}, expected one of {', '.join(FORMATS)}."
        )
    if len(log.separator) != 1:
        raise BadInput(f"{where}: [log]: separator = {log.separator!r}, expected one character.")
    try:
        known = "\n".encode(log.encoding) == b"\n"
    except LookupError:
        known = False
    if not known:
        raise BadInput(
            f"{where}: [log]: encoding = {log.encoding!r} is none that can be read by lines. "
            "Such are utf-8, cp1252 and shift_jis; convert others with iconv."
        )
    pages, ads = (
        _section(TextForm, said.get(name, {}), f"{where}: [{name}]") for name in ("pages", "ads")
    )
    return LogMap(dict(columns), log, pages, ads, where)


def _section(kind: type[T], said: Any, where: str) -> T:
    if not isinstance(said, Mapping):
        raise BadInput(f"{where} is no table. Write keys with values under it.")
    known = {f.name: f.default for f in fields(kind)}  # type: ignore[arg-type]
    _known(said, known, where)
    for key, value in said.items():
        if type(value) is not type(known[key]):
            raise BadInput(f"{where}: {key} = {value!r}, expected a value such as {known[key]!r}.")
    return kind(**said)


def _known(said: Iterable[str], known: Iterable[str], where: str) -> None:
    for key in said:
        if key not in (names := list(known)):
            raise BadInput(f"{where}: no key {instead(key, names)}")


def instead(name: str, known: Iterable[str]) -> str:
    """Say what was meant: ``'positon'. Did you mean 'position'? There are: ...``."""
    known = list(known)
    close = difflib.get_close_matches(name, known, 1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return f"{name!r}.{hint} There are: {', '.join(known) or 'none'}."
