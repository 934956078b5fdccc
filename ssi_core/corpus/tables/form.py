"""Format, encoding and separator of a table, as declared or else guessed.

The name of a file says its format, its first bytes the rest. UTF-8 and UTF-16 with a mark are known
for certain. Other bytes are taken for cp1252 (Latin-1 and the signs that Windows has beside it)
where they stand alone among ASCII letters, as those of European texts do. Fields are divided by the
sign that makes equally many of each line. What cannot be decided is refused.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import Field

from ssi_core.corpus import inputs
from ssi_core.remedies import typed
from ssi_core.types import BadInput

Format: TypeAlias = Literal["csv", "tsv", "jsonl", "parquet"]
PACKED = (*inputs.PACKINGS, ".parquet")
"""Endings of files that are not plain text."""
UTF_8, UTF_16, WINDOWS = "utf-8", "utf-16", "cp1252"
SEPARATORS = (",", ";", "\t", "|")
SAMPLE = 1 << 18
"""Bytes that the guess is made of."""

_FORMATS = {".csv": "csv", ".tsv": "tsv", ".txt": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl",
            ".json": "jsonl", ".parquet": "parquet", ".feather": "parquet",
            ".arrow": "parquet"}  # fmt: skip
_SHEETS = (".xlsx", ".xls", ".ods")
_ARCHIVES = (".zip", ".tar", ".tgz", ".7z", ".rar")
_UNPACKED = 8  # bytes of text of a byte of a packed file
_RECORDS = 100
_SAID = re.compile(r'"?sep=([,;\t|])"?\r?\n')
"""First line by which Excel says the separator."""
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NEIGHBOURS = 0.3  # share of the letters beyond ASCII that have such a neighbour
_BROKEN = 0.25  # share of the lines
_ALIKE = 0.02
_NAMES = {"\t": "tabs", **{sign: repr(sign) for sign in ",;|"}}


@dataclass(frozen=True)
class TableForm:
    """Form of a table, as far as it is declared.

    Attributes
    ----------
    format : str
        One of `Format`; "": the name of the file says it.
    encoding : str
        Of CSV, TSV and JSON lines; "": guessed.
    separator : str
        Of CSV; "": guessed. TSV has tabs and no quotes.
    header : bool
        Whether the first line names the columns; without one they are "1", "2", ...
    each : str
        Of JSON: name of a list in an object. Each of its objects is then a row, with the values of
        the object around it; "": each object is a row.
    """

    format: Format | Literal[""] = ""
    encoding: str = ""
    separator: Annotated[str, Field(max_length=1)] = ""
    header: bool = True
    each: str = ""


GUESSED = TableForm()


class Written(NamedTuple):
    """Format, encoding and separator of a table."""

    kind: str
    encoding: str
    separator: str
    begin: int = 0
    """Lines before the header: Excel's ``sep=;``."""

    @property
    def has_quotes(self) -> bool:
        """Tell whether a field may be quoted, and so contain line breaks."""
        return self.kind == "csv" and self.separator != "\t"

    def said(self) -> str:
        """Return in words what a reader would not expect of such a file; "" where it is nothing."""
        usual = {"csv": ",", "tsv": "\t"}.get(self.kind, self.separator)
        encoding = "" if self.encoding == UTF_8 else f"in {self.encoding}"
        divided = "" if self.separator == usual else f"fields divided by {_NAMES[self.separator]}"
        return ", ".join(filter(None, (divided, encoding)))


def kind_of(path: Path, form: TableForm = GUESSED) -> str:
    """Return the format of a table, as declared or else by its name; "" if unknown."""
    return form.format or _FORMATS.get(stem_of(path).suffix.lower(), "")


def refuse_sheet(path: Path) -> None:
    """Refuse a spreadsheet or an archive, with what to do."""
    if path.suffix.lower() in _SHEETS:
        raise BadInput(f"{path}: it is a spreadsheet. Save it as CSV (UTF-8), and name that.")
    if path.suffix.lower() in _ARCHIVES:
        raise BadInput(f"{path}: it is an archive. Unpack it, and name what is in it.")


def stem_of(path: Path) -> Path:
    """Return the name of a file without the ending of a packed one."""
    return path.with_suffix("") if path.suffix in inputs.PACKINGS else path


def text_bytes(paths: Sequence[Path]) -> int:
    """Return the bytes of text in some files, roughly, before they are read."""
    return sum(path.stat().st_size * (_UNPACKED if path.suffix in PACKED else 1) for path in paths)


def written_as(path: Path, form: TableForm = GUESSED) -> Written:
    """Return how a table is written.

    Raises
    ------
    BadInput
        The file is missing, of no known format, or its encoding or separator cannot be decided.
    """
    inputs.require_file(path)
    kind = kind_of(path, form)
    if not kind:
        refuse_sheet(path)
        raise BadInput(
            f"{path}: its name does not say what it is. Name it .jsonl, .csv, .tsv or .parquet."
        )
    if kind == "parquet":
        return Written(kind, UTF_8, "")
    with inputs.open_input(path) as file:
        start = file.read(SAMPLE)
    encoding = form.encoding or encoding_of(path, start)
    separator = form.separator or {"tsv": "\t", "csv": ""}.get(kind, ",")
    if kind != "csv":
        return Written(kind, encoding, separator)
    text = start.decode(encoding, errors="replace").removeprefix("\ufeff")
    said = _SAID.match(text)
    separator = separator or (said[1] if said else _separator(path, text))
    return Written(kind, encoding, separator, 1 if said else 0)


def said_of(paths: Sequence[Path], form: TableForm = GUESSED) -> dict[str, str]:
    """Return by the name of a table how it is written, where that is unusual."""
    unusual = {path.name: written_as(path, form).said() for path in paths}
    return {name: words for name, words in unusual.items() if words}


def encoding_of(path: Path, start: bytes) -> str:
    """Return the encoding that the first bytes of a file tell; `BadInput` where they do not."""
    if start.startswith(_MARKS):
        return UTF_16
    if b"\0" in start:
        raise BadInput(
            f"{path}: it has bytes of value 0, as UTF-16 without a mark has. Convert it: "
            f"iconv -f utf-16le -t utf-8 {path.name}"
        )
    lines = start.split(b"\n")[: -1 if len(start) == SAMPLE else None]
    letters = [line for line in lines if not line.isascii()]
    broken = [line for line in letters if not _is_utf_8(line)]
    if 2 * len(broken) <= len(letters):
        return UTF_8
    beyond = [position for line in broken for position in _beyond_ascii(line)]
    if sum(beyond) <= _NEIGHBOURS * len(beyond):
        return WINDOWS
    if len(broken) <= _BROKEN * len(lines):
        return UTF_8
    raise BadInput(
        f"{path}: it is neither in UTF-8 nor in an encoding of Western Europe (cp1252, Latin-1), "
        f"and which one it is in cannot be told. Convert it: iconv -f ENCODING -t utf-8 {path.name}"
    )


def _is_utf_8(line: bytes) -> bool:
    try:
        line.decode(UTF_8)
    except UnicodeDecodeError:
        return False
    return True


def _beyond_ascii(line: bytes) -> list[bool]:
    """Tell of each byte beyond ASCII whether the next is one, too."""
    beyond = [bool(byte & 0x80) for byte in (*line, 0)]
    return [after for one, after in pairwise(beyond) if one]


def _separator(path: Path, text: str) -> str:
    """Return the sign that divides the lines of a CSV file into equally many fields."""
    text = text[: text.rfind("\n") + 1] or text
    fitting: dict[str, tuple[float, int]] = {}
    for sign in SEPARATORS:
        sizes = [len(record) for record in _records(text, sign)]
        if sizes and sizes[0] > 1:
            fitting[sign] = (sum(size == sizes[0] for size in sizes) / len(sizes), sizes[0])
    if not fitting:
        return ","
    most = max(share for share, _ in fitting.values())
    alike = {sign: fields for sign, (share, fields) in fitting.items() if share >= most - _ALIKE}
    best = [sign for sign, fields in alike.items() if fields == max(alike.values())]
    if len(best) > 1:
        signs = " or by ".join(_NAMES[sign] for sign in best)
        raise BadInput(
            f"{path}: its fields may be divided by {signs}. Say which: "
            f"{typed('separator', best[0])} (in a map separator under [log])."
        )
    return best[0]


def _records(text: str, sign: str) -> list[list[str]]:
    lines = io.StringIO(text, newline="")
    if sign == "\t":
        return [line.rstrip("\r\n").split(sign) for line in islice(lines, _RECORDS)]
    records: list[list[str]] = []
    with suppress(csv.Error):  # a field without an end: what was before it tells
        records.extend(filter(None, islice(csv.reader(lines, delimiter=sign), _RECORDS)))
    return records
