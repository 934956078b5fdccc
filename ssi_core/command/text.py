"""Data on a terminal: text that is shown as text, whatever is in it, and short numbers."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.text import Text

# What a terminal obeys (C0 but tab and line feed, DEL, C1), what turns the reading direction round,
# line ends that only some programs see, and what no encoding has.
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def shown(text: str) -> str:
    r"""Return a text with every control character written as ``\u001b``.

    All of these characters are of four hexadecimal digits, so that JSON stays the same JSON.

    >>> print(shown("\x1b[31mred"))
    \u001b[31mred
    """
    return _OBEYED.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


class TerminalHandler(logging.Handler):
    """A handler that writes records as text on what is standard error then.

    While bars are shown, that is what writes above them; a line of progress is cleared first, and
    drawn again below the record.
    """

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        try:
            if sys.stderr.isatty():
                from ssi_core.face.progress import CLEAR

                sys.stderr.write(CLEAR)
            print(shown(self.format(record)), file=sys.stderr)
        except Exception:
            self.handleError(record)


def count(number: float) -> str:
    """Write a number shortly: 50000 as 50k, 1250000 as 1.25M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{float(f'{number / size:.3g}'):g}{letter}"
    return f"{number:g}"


def styled(text: str, style: str = "") -> Text:
    """Return a styled text; what a terminal would obey is written out before it is measured."""
    from rich.text import Text

    return Text(shown(text), style)


def plain_table(
    head: Sequence[str], lines: Sequence[Sequence[str]], left: int = 1, padding: int = 1
) -> Any:
    """Lay cells out for a terminal; the first ``left`` columns are words, the others numbers."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, padding), show_edge=False)
    for n, name in enumerate(head):
        # The last column of words gives way where there is too little room.
        table.add_column(
            name, justify="left" if n < left else "right", no_wrap=n != left - 1, overflow="fold"
        )
    for line in lines:
        table.add_row(*(styled(cell) for cell in line))
    return table
