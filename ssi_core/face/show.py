"""Text and tables for a terminal and for a notebook: what is in them is shown, never obeyed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

WIDTH = 80
"""Columns of a table in plain text."""
UNCUT = 10_000
"""Columns of a table that is not cut."""
_GAP = "  "

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


def beginning(text: str, most: int) -> str:
    """Return how a text begins: whole words of at most so many characters, and what says so.

    >>> beginning("A car is a motor vehicle.", 10), beginning("A car.", 10)
    ('A car is a…', 'A car.')
    """
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    whole = text[: most + 1].rpartition(" ")[0]  # none in a language without blanks
    return f"{whole or text[:most]}…"


def count(number: float) -> str:
    """Write a number shortly: 50000 as 50k, 1250000 as 1.25M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{float(f'{number / size:.3g}'):g}{letter}"
    return f"{number:g}"


def duration(seconds: float) -> str:
    """Write a time in minutes and seconds: 125 as 2:05, 3725 as 1:02:05."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def text_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, width: int = WIDTH
) -> str:
    """Lay cells out in columns; the first ``left`` columns are words, the others numbers.

    Where the table is too wide, the widest column of words is cut.

    >>> print(text_table(["word", "n"], [["car", "12"], ["moon", "3"]]))
    word   n
    car   12
    moon   3
    """
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    over = sum(widths) + len(_GAP) * (len(widths) - 1) - width
    if over > 0:
        widest = max(range(left), key=lambda column: widths[column])
        widths[widest] = max(len(head[widest]), widths[widest] - over)
    return "\n".join(_line(line, widths, left) for line in lines)


def _line(cells: Sequence[str], widths: Sequence[int], left: int) -> str:
    placed = [
        _cut(cell, width).ljust(width) if column < left else cell.rjust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return _GAP.join(placed).rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def html_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1, notes: Sequence[str] = ()
) -> str:
    """Write cells as an HTML table, with notes under it.

    >>> html_table(["word"], [["<car>"]])
    '<table><thead><tr><th style="text-align:left">word</th></tr></thead><tbody><tr><td style="text-align:left">&lt;car&gt;</td></tr></tbody></table>'
    """  # noqa: E501
    body = "".join(f"<tr>{_cells('td', row, left)}</tr>" for row in rows)
    table = (
        f"<table><thead><tr>{_cells('th', head, left)}</tr></thead><tbody>{body}</tbody></table>"
    )
    return table + "".join(f"<p>{escape(note)}</p>" for note in notes)


def _cells(tag: str, cells: Sequence[str], left: int) -> str:
    sides = ["left" if column < left else "right" for column in range(len(cells))]
    return "".join(
        f'<{tag} style="text-align:{side}">{_escaped(cell)}</{tag}>'
        for cell, side in zip(cells, sides, strict=True)
    )


def _escaped(cell: str) -> str:
    return cell if isinstance(cell, Html) else escape(cell)


class Html(str):
    """Markup, which a table takes as it is."""


def marked(text: str, marks: Sequence[tuple[int, int]]) -> Html:
    """Write a text with some of its parts marked; ``marks`` are starts and ends, ascending.

    >>> marked("a <car>", [(3, 6)])
    'a &lt;<mark>car</mark>&gt;'
    """
    parts, done = [], 0
    for start, end in marks:
        parts += [escape(text[done:start]), f"<mark>{escape(text[start:end])}</mark>"]
        done = end
    return Html("".join(parts) + escape(text[done:]))


def linked(text: str, url: str | None) -> Html:
    """Write a text as a link; of an address that is not one of the web, the text alone."""
    if url is None or not url.startswith(("https://", "http://")):
        return Html(escape(text))
    return Html(f'<a href="{escape(url)}">{escape(text)}</a>')


def card(what: str, where: object, *parts: str) -> str:
    """Write what an object is, then its parts, then where it lies."""
    return f"<p><b>{escape(what)}</b></p>{''.join(parts)}<p><small>{escape(str(where))}</small></p>"


def folded(what: str, html: str) -> str:
    """Write a part that is seen when it is asked for."""
    return f"<details><summary>{escape(what)}</summary>{html}</details>"


def facts_table(facts: dict[str, object]) -> list[list[str]]:
    """Return names and values as rows; numbers in short, mappings a row an entry.

    >>> facts_table({"documents": 2000, "pairs": {"train": 9}})
    [['documents', '2,000'], ['pairs: train', '9']]
    """
    rows = []
    for name, value in facts.items():
        if isinstance(value, dict):
            said = name.replace("_", " ")
            rows += [[f"{said}: {inner}", text] for inner, text in facts_table(value)]
        else:
            text = str(value)
            if isinstance(value, float):
                text = f"{value:.4g}"
            elif isinstance(value, int) and not isinstance(value, bool):
                text = f"{value:,}"
            rows.append([name.replace("_", " "), text])
    return rows
