"""Read ``map.toml``, which names the columns of a log of clicks, counts or judgements.

.. code-block:: toml

    [columns]               # ours = the log's
    query = "url"           # id; without it, query_text tells queries apart
    query_text = "body"     # unless the texts come from a table of their own
    document = "ad_id"
    document_text = "creative"    # optional: query_title, document_title
    session = "visit"       # one showing of results, or one visit: an event is (session, query)
    position = "rank"       # optional, as are time and user
    clicked = "click"

    [log]                   # all optional
    format = "csv"          # csv, tsv, jsonl, parquet; else the name of the file says it
    first_position = 1

    [documents]             # columns of the table of documents, likewise [queries]; all optional
    id = "ad_id"
    text = "creative"
    language = "en"         # of the texts, in the log too; a corpus of texts knows its own

A row is a showing, as above, or it tells of a pair, whenever it was shown:

.. code-block:: toml

    [columns]
    query_text = "query"    # one column may have several roles of one side:
    query = "query"         # here the query is its own id
    document = "url"
    document_text = "title"
    shown = "impressions"   # counts of the row; shown is optional
    clicks = "clicks"
    grade = "judgement"     # beside the counts or in their place

    [grades]                # all optional
    relevant = 1            # from this grade on a pair is relevant
    weight = "gain"         # of a relevant pair in training: gain (2^grade - 1), one or clicks

    [grades.labels]         # where grades are words, or numbers of another scale than 0 to 4
    Exact = 4
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from ssi_core.corpus import inputs
from ssi_core.corpus.tables.form import TableForm
from ssi_core.guests.click_logs.texts import TextForm
from ssi_core.remedies import typed
from ssi_core.strict import instead, mapping, read
from ssi_core.types import BadInput

ROLES = (
    "session", "user", "query", "query_title", "query_text", "document", "document_title",
    "document_text", "position", "clicked", "timestamp", "shown", "clicks", "grade",
)  # fmt: skip
TEXTS = ROLES[:8]
"""Roles whose values are texts."""
OF_DOCUMENTS = ("id", "title", "text")
"""Roles of columns of a table of documents, which has a section of its own in a map."""
HIGHEST_GRADE = 4
"""Grades are from 0, judged and not relevant, to this."""

_TOGETHER = (
    {"query", "query_title", "query_text", "session"},
    {"document", "document_title", "document_text"},
    {"session", "user", "timestamp"},
)
"""Roles that may be one column."""
_OF_SHOWINGS = ("session", "user", "position", "timestamp")
"""Roles that only a showing has, and no sum of showings."""

Weight: TypeAlias = Literal["gain", "one", "clicks"]


@dataclass(frozen=True)
class LogForm(TableForm):
    """The section ``[log]``: a `corpus.tables.form.TableForm`, and what is a log's alone.

    Attributes
    ----------
    time_format : str
        As of strftime; "": ISO 8601, or seconds since 1970.
    first_position : int
        Number of the best place of a slate.
    all_clicked : bool
        Every row is a click, and no column says so.
    """

    time_format: str = ""
    first_position: int = 1
    all_clicked: bool = False


@dataclass(frozen=True)
class GradeForm:
    """The section ``[grades]``.

    Attributes
    ----------
    relevant : float
        From this grade on a pair is relevant; below, it is judged and not relevant.
    weight : float
        Of a relevant pair in training. "gain": 2^grade - 1, as NDCG has it; "one": all alike;
        "clicks": its clicks. A pair that was clicked and has no grade counts as one of `relevant`.
    labels : mapping
        What the log writes -> grade.
    """

    relevant: Annotated[float, Field(gt=0, le=HIGHEST_GRADE)] = 1.0
    weight: Weight = "gain"
    labels: Mapping[str, Annotated[float, Field(ge=0, le=HIGHEST_GRADE)]] = field(
        default_factory=dict
    )


@dataclass(frozen=True)
class LogMap:
    """A map: role -> column of the log, and how log and tables are written."""

    columns: Mapping[str, str]
    log: LogForm = field(default_factory=LogForm)
    queries: TextForm = field(default_factory=TextForm)
    documents: TextForm = field(default_factory=TextForm)
    grades: GradeForm = field(default_factory=GradeForm)
    where: str = field(default="map", compare=False)

    def column(self, role: str) -> str:
        """Return the log's name for a role; the role's own where it has none."""
        return self.columns.get(role, role)

    @property
    def of_pairs(self) -> bool:
        """Tell whether a row is about a pair, however often it was shown; else it is a showing."""
        return "session" not in self.columns

    @property
    def names(self) -> list[str]:
        """Return the log's names of all columns, each once."""
        return list(dict.fromkeys(self.columns.values()))

    def declaring(self, columns: Mapping[str, str], written: Mapping[str, Any]) -> LogMap:
        """Return the map with further columns, and what is said of how the log is written."""
        if not columns and not written:
            return self
        said = {name: dict(vars(getattr(self, name))) for name in ("log", "queries", "documents")}
        said["log"] |= written
        said["columns"] = dict(self.columns)
        for role, name in columns.items():
            said["documents" if role in OF_DOCUMENTS else "columns"][role] = name
        said["columns"] = {role: name for role, name in said["columns"].items() if name}
        grades = {"grades": dict(vars(self.grades))} if "grade" in self.columns else {}
        return parse_map({**said, **grades}, self.where)

    def in_language(self, code: str) -> LogMap:
        """Return the map with another language of all texts."""
        queries, documents = (
            replace(side, language=code) for side in (self.queries, self.documents)
        )
        return replace(self, queries=queries, documents=documents)

    def configuration(self) -> dict[str, Any]:
        """Return JSON values."""
        parts = ("log", "queries", "documents", "grades")
        return {"columns": dict(self.columns)} | {
            name: dict(vars(getattr(self, name))) for name in parts
        }


def load_map(path: Path) -> LogMap:
    """Read a map; `BadInput` names the key that is unknown, missing or of a wrong kind."""
    path = Path(path)
    remedy = "Write the map as 'ssi data ingest clicks --help' shows it."
    return parse_map(inputs.read_toml(path, remedy), str(path))


def parse_map(said: Mapping[str, Any], where: str = "map") -> LogMap:
    """Check a map as TOML gives it; see `load_map`."""
    for key in said:
        if key not in (sections := ("columns", "log", "queries", "documents", "grades")):
            raise BadInput(f"{where}: no key {instead(key, sections)}")
    columns = mapping(said.get("columns", {}), f"{where}: [columns]")
    log = _log_form(said.get("log", {}), f"{where}: [log]")
    _check_columns(columns, log, f"{where}: [columns]")
    grades = _grade_form(said.get("grades"), columns, f"{where}: [grades]")
    queries, documents = (
        read(TextForm, said.get(name, {}), f"{where}: [{name}]")
        for name in ("queries", "documents")
    )
    return LogMap(columns, log, queries, documents, grades, where)


def _check_columns(columns: Mapping[str, Any], log: LogForm, where: str) -> None:
    """Refuse roles that are unknown, missing, or mean nothing together."""
    for role, column in columns.items():
        if role not in ROLES:
            raise BadInput(f"{where}: no key {instead(role, ROLES)}")
        if not isinstance(column, str) or not column:
            raise BadInput(f"{where}: {role} = {column!r}, expected a column's name.")
    _check_shared(columns, where)
    missing = [
        f"{side} (or {side}_text)"
        for side in ("query", "document")
        if side not in columns and f"{side}_text" not in columns
    ]
    roles = [role for role in ("clicked", "clicks", "grade") if role in columns]
    if not roles and not log.all_clicked:
        missing.append("clicked (or clicks, of counts; or grade, of judgements)")
    if missing:
        raise BadInput(
            f"{where}: {', '.join(missing)} missing. Say which column of the log it is: "
            f"{typed('column', {missing[0].partition(' ')[0]: 'NAME'})}, or a line in the map."
            + ("" if roles else " Where every row is a click: all_clicked = true under [log].")
        )
    _check_kind(columns, log, where)


def _check_shared(columns: Mapping[str, str], where: str) -> None:
    """Refuse a column in two roles that cannot be one."""
    for role, column in columns.items():
        for other, name in columns.items():
            one = any({role, other} <= together for together in _TOGETHER)
            if name == column and other != role and not one:
                raise BadInput(
                    f"{where}: {role} and {other} are both {column!r}. Give each a column of its "
                    "own; one column may be id, title and text of a query (or of a document), "
                    "query and session, or session, user and timestamp."
                )


def _check_kind(columns: Mapping[str, str], log: LogForm, where: str) -> None:
    """Refuse roles of showings beside those of counts and judgements."""
    sums = [role for role in ("clicks", "shown", "grade") if role in columns]
    if "clicked" in columns and log.all_clicked:
        raise BadInput(f"{where}: clicked, and all_clicked under [log]: leave one of them out.")
    if "clicks" in columns and ("clicked" in columns or log.all_clicked):
        raise BadInput(
            f"{where}: clicked and clicks: a row is a showing (clicked, 1 or 0) or a count of "
            "clicks. Leave one of them out."
        )
    if "shown" in columns and "clicks" not in columns:
        raise BadInput(
            f"{where}: shown without clicks: how many of the showings were clicked? Name the "
            "column (clicks), or leave shown out."
        )
    single = [role for role in _OF_SHOWINGS if role in columns]
    if sums and single:
        raise BadInput(
            f"{where}: {', '.join(sums)} beside {', '.join(single)}: a row with counts or a grade "
            "tells of a pair, whenever it was shown, and has no session, user, position or time. "
            f"Leave {', '.join(single)} out (rows of a pair are then summed), or {', '.join(sums)}."
        )
    if single and "session" not in columns:
        raise BadInput(
            f"{where}: {', '.join(single)} without session: a position, a user or a time is that "
            f"of a showing in a session. Name the column (session), or leave {', '.join(single)} "
            "out: rows of a pair are then summed."
        )


def _log_form(said: Any, where: str) -> LogForm:
    log = read(LogForm, said, where)
    if log.each and log.format not in ("", "jsonl"):
        raise BadInput(f"{where}: each = {log.each!r}: only JSON has lists. Leave it out.")
    try:
        known = not log.encoding or "\n".encode(log.encoding) == b"\n"
    except LookupError:
        known = False
    if not known:
        raise BadInput(
            f"{where}: encoding = {log.encoding!r} is none that can be read by lines. "
            "Such are utf-8, cp1252 and shift_jis; convert others with iconv."
        )
    return log


def _grade_form(said: Any, columns: Mapping[str, str], where: str) -> GradeForm:
    if said is None:
        return GradeForm()
    if "grade" not in columns:
        raise BadInput(
            f"{where}: no column has the grades. Name it (grade under [columns]), or leave "
            "[grades] out."
        )
    grades = read(GradeForm, said, where)
    if grades.weight == "clicks" and not {"clicks", "clicked"} & columns.keys():
        raise BadInput(
            f"{where}: weight = 'clicks', and no column has clicks. Name it, or take the weight "
            "'gain' or 'one'."
        )
    return replace(grades, labels={label.strip(): one for label, one in grades.labels.items()})
