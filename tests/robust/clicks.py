"""Bad click logs, one by one; see `cases`."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

from ssi_core.guests.click_logs.columns import load_map
from ssi_core.guests.click_logs.rules import Rules
from tests.guests.click_logs import logs
from tests.robust.spoil import remove

DONE, BAD = 0, 3
_COMMAND = "data ingest clicks log.csv --map map.toml --out new --clicks all"
_SINCE = _COMMAND.replace("log.csv", "tuesday.csv") + " --since earlier"
_ROWS = [{**row, "creative": row["creative"].replace(",", "")} for row in logs.rows(100)]


def _map(**columns: str) -> str:
    said = {**logs.COLUMNS, **columns}
    return "[columns]\n" + "".join(f'{role} = "{name}"\n' for role, name in said.items() if name)


def _log(text: str | bytes, form: str | None = None) -> Callable[[Path], None]:
    def prepare(here: Path) -> None:
        data = text.encode() if isinstance(text, str) else text
        (here / "log.csv").write_bytes(data)
        (here / "log.csv.gz").write_bytes(gzip.compress(data, mtime=0)[:-9])
        (here / "map.toml").write_text(_map() if form is None else form)
        (here / "ads.tsv").write_text("id\ttext\na1\tone\na2\ttwo\na1\tother\n")

    return prepare


def _with(*which: int, **values: str) -> str:
    """Return the log with other values in some rows."""
    rows = [{**row, **values} if i in which else row for i, row in enumerate(_ROWS)]
    return logs.csv_text(rows)


def _earlier(form: str, spoil: Callable[[Path], object] | None = None) -> Callable[[Path], None]:
    """Write clicks of a deleted log, and a later log with its map."""

    def prepare(here: Path) -> None:
        _log(_PLAIN)(here)
        rules = Rules(clicks="all")
        log, map_file = here / "log.csv", here / "map.toml"
        logs.ingest([log], load_map(map_file), here / "earlier", rules=rules)
        log.rename(here / "tuesday.csv")
        (here / "log.csv.gz").unlink()
        map_file.write_text(form)
        if spoil is not None:
            spoil(here)

    return prepare


_PLAIN = logs.csv_text(_ROWS)
_LINES = _PLAIN.split("\n")
_BROKEN = "\n".join([*_LINES[:80], "half a line", *_LINES[80:170], 'a "lost quote', *_LINES[170:]])
_MIXED = "\n".join(_LINES).replace("ad number 7 ", "ad número 7 ").encode().replace(
    "ad número 7 ".encode(), "ad número 7 ".encode("cp1252"), 2
)  # fmt: skip

_COUNTS = logs.csv_text([{**row, "rank": "20", "click": str(25 if i in (7, 42) else i % 20)}
                         for i, row in enumerate(_ROWS)])  # fmt: skip
_SUMS = _map(session="", position="", clicked="", timestamp="", clicks="click")

CASES = (
    ("columns that are swapped", _COMMAND, _log(_PLAIN, _map(position="click", clicked="rank")),
     BAD, "are two columns swapped in the map?"),
    ("a column that is not there", _COMMAND, _log(_PLAIN, _map(position="ranks")), BAD,
     "Did you mean 'rank'?"),
    ("a map without a position", _COMMAND.replace("all", "weighted"),
     _log(_PLAIN, _map(position="")), BAD, "Take --clicks all"),
    ("a map that does not say what was clicked", _COMMAND, _log(_PLAIN, _map(clicked="")), BAD,
     "clicked (or clicks, of counts; or grade, of judgements) missing"),
    ("grades beside sessions", _COMMAND, _log(_PLAIN, _map(clicked="", grade="click")), BAD,
     "tells of a pair, whenever it was shown"),
    ("one column for a page and its ad", _COMMAND, _log(_PLAIN, _map(document="url")), BAD,
     "query and document are both 'url'"),
    ("grades of another scale", _COMMAND, _log(_COUNTS, _SUMS.replace("clicks", "grade")), BAD,
     "is no grade (a number from 0 to 4"),
    ("more clicks than showings", _COMMAND, _log(_COUNTS, _SUMS + 'shown = "rank"\n'), DONE,
     "row clicks above shown 2"),
    ("a map with an unknown key", _COMMAND, _log(_PLAIN, _map() + 'advert = "ad"\n'), BAD,
     "no key 'advert'"),
    ("text in the position", _COMMAND, _log(_with(7, 42, 77, rank="top")), DONE,
     "row position no number 3"),
    ("an ad with two texts", _COMMAND, _log(_with(300, creative="another text")), DONE,
     "row document other text 1"),
    ("two ads in one place", _COMMAND, _log(_with(101, 301, rank="1")), DONE,
     "row position taken 2"),
    ("an id that is there twice in the table of ads", f"{_COMMAND} --documents ads.tsv",
     _log(_PLAIN), BAD, "the id 'a1' is there before"),
    ("lines that are broken", _COMMAND, _log(_BROKEN), DONE, "row fields 1"),
    ("a byte order mark and line ends of Windows", _COMMAND,
     _log(b"\xef\xbb\xbf" + _PLAIN.replace("\n", "\r\n").encode()), DONE, "rows 400"),
    ("lines in two encodings", _COMMAND, _log(_MIXED), DONE, "row encoding 2"),
    ("a log in UTF-16", _COMMAND, _log(_PLAIN.encode("utf-16")), DONE, "in utf-16"),
    ("one in UTF-16 without a mark", _COMMAND, _log(_PLAIN.encode("utf-16-le")), BAD, "iconv"),
    ("a log that is cut off", _COMMAND.replace(".csv", ".csv.gz"), _log(_PLAIN), BAD,
     "end-of-stream"),
    ("a log of nothing", _COMMAND, _log(""), BAD, "empty"),
    ("a log without a click", _COMMAND, _log(_with(*range(400), click="0")), BAD, "none counts"),
    ("earlier clicks of another map", _SINCE, _earlier(_map(session="when", timestamp="")), BAD,
     "Give all logs"),
    ("earlier clicks that keep no rows", _SINCE, _earlier(_map(), remove("earlier/lines")), BAD,
     "it is missing"),
    ("ads without a text", _COMMAND, _log(_PLAIN, _map(document_text="")), BAD,
     "no text of documents"),
)  # fmt: skip
