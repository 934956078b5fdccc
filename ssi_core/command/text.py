"""Data on a terminal: records of the log, and tables whose cells are text."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ssi_core.face.show import shown

if TYPE_CHECKING:
    from rich.text import Text


class TerminalHandler(logging.Handler):
    """A handler that writes records as text on what is standard error then.

    While bars are shown, that is what writes above them.

    Parameters
    ----------
    level : int
        Level from which records are written.
    plain : bool, optional
        Write a record as the command writes what it says itself, without the module it is from.
    """

    def __init__(self, level: int, *, plain: bool = False) -> None:
        super().__init__(level)
        self._plain = plain
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record."""
        if self._plain and record.exc_info is None:
            return f"ssi: {record.levelname.lower()}: {record.getMessage()}"
        return super().format(record)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        try:
            self.write(shown(self.format(record)))
        except Exception:
            self.handleError(record)

    def write(self, text: str) -> None:
        """Write the text of a record."""
        print(text, file=sys.stderr)


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
