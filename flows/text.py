"""Data on a terminal: text that is shown as text, whatever is in it."""

from __future__ import annotations

import logging
import re

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


class PlainFormatter(logging.Formatter):
    """A formatter of log records whose data are shown as text."""

    def __init__(self) -> None:
        super().__init__("%(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as text."""
        return shown(super().format(record))
