"""Markers of a page: what stands between two of them comes from a result file.

    <!-- result: NAME EXPRESSION -->2.16 ±.07 %<!-- /result -->     one figure in a text
    <!-- table: NAME ... -->        a table of Markdown, whose lines the marker describes
    <!-- output: NAME -->           what 'ssi compare NAME' prints of the table
    <!-- reference: NAME -->        keys and verbs as the code has them (`tests.docs.reference`)
    <!-- measured: COMMAND -->      figures that a command printed; they are not filled in

HTML comments are not shown by readers of Markdown. `docs/numbers.md` explains them to those who
write pages, `tests.docs.figures` has the expressions.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field

from rich.console import Console

from flows.reporting.report import baselines, render
from flows.reporting.verdicts import claims_line
from ssi_core.evaluation.comparison import digits
from ssi_core.evaluation.measures import TITLES
from ssi_core.types import BadInput
from tests.docs.figures import MissingResult, Result, Results, between, title
from tests.docs.reference import reference

KINDS = ("result", "table", "output", "reference", "measured")
_OPENING = re.compile(rf"<!--\s*({'|'.join(KINDS)}):(.*?)-->", re.DOTALL)
_BRACES = re.compile(r"\{([^{}]*)\}")
_HEAD = re.compile(r"([^{}]*)\{([^{}]+)\}")
_ROW = re.compile(r'((?:[^\s"|]+ )?"[^"]*"|[^\s"|]+(?= as ))(?: as (.+))?')
_NOTHING = re.compile(r"\s*(?:(?:[-*+>]|\d+\.)\s+)*")
_FACTS = ("queries", "seeds", "triples")
_WIDTH = 104


@dataclass
class Marker:
    """A marker of a page.

    Attributes
    ----------
    kind, said : what stands in the opening comment
    body : (begin, end) of what stands between the two comments
    line : of the opening comment
    """

    kind: str
    said: str
    begin: int
    body: tuple[int, int]
    end: int
    line: int


@dataclass
class Filled:
    """A page with its figures.

    Attributes
    ----------
    text : the page; where a figure cannot be had, it is as it was
    problems : ``PAGE:LINE: message`` of each marker that could not be filled in
    missing : names of results that are not there
    """

    text: str
    problems: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def markers(text: str) -> Iterator[Marker]:
    """Yield the markers of a page in their order; what is indented as code has none.

    Raises
    ------
    BadInput
        One is not closed, or another begins before it is; the message begins with the line.
    """
    at = 0
    while opening := _OPENING.search(text, at):
        at = opening.end()
        line = text.count("\n", 0, opening.start()) + 1
        before = text[text.rfind("\n", 0, opening.start()) + 1 : opening.start()]
        if before.startswith("    "):
            continue
        kind, said = opening[1], opening[2].strip()
        closing = re.compile(rf"<!--\s*/{kind}\s*-->").search(text, at)
        inner = _OPENING.search(text, at)
        if closing is None or (inner and inner.start() < closing.start()):
            raise BadInput(f"{line}: '{kind}' is not closed; write <!-- /{kind} --> after it")
        # Markdown takes a line that begins with a comment for a block of HTML.
        if kind == "result" and _NOTHING.fullmatch(before):
            raise BadInput(f"{line}: a result begins its line; put a word before it")
        yield Marker(kind, said, opening.start(), (at, closing.start()), closing.end(), line)
        at = closing.end()


def filled(page: str, text: str, results: Results) -> Filled:
    """Return a page with all figures that can be had.

    Parameters
    ----------
    page : its name, for messages
    text : as it is
    results : the result files
    """
    done = Filled(text)
    try:
        every = list(markers(text))
    except BadInput as error:
        done.problems.append(f"{page}:{error}")
        return done
    parts, at = [], 0
    for marker in every:
        begin, end = marker.body
        try:
            body = _body(marker, text[begin:end], results)
        except MissingResult as error:
            done.missing.append(error.name)
            body = text[begin:end]
        except BadInput as error:
            done.problems.append(f"{page}:{marker.line}: {error}")
            body = text[begin:end]
        parts += [text[at:begin], body]
        at = end
    done.text = "".join([*parts, text[at:]])
    return done


def _body(marker: Marker, old: str, results: Results) -> str:
    if marker.kind == "result":
        result, words = results.named(marker.said)
        return result.figure(words)
    if marker.kind == "table":
        return f"\n\n{Template(marker.said, results).text()}\n\n"
    if marker.kind == "output":
        result, words = results.named(marker.said)
        return f"\n\n```text\n{output(result, words)}\n```\n\n"
    if marker.kind == "reference":
        return f"\n\n{reference(marker.said)}\n\n"
    return old


def output(result: Result, words: list[str]) -> str:
    """Return what 'ssi compare' prints of a table, less the notes of its rows.

    Parameters
    ----------
    result : it
    words : labels of the rows to show, in quotation marks; none: all
    """
    found = result.found
    labels = [word.strip('"') for word in words] or [row["label"] for row in found["summary"]]
    rows = [
        {**row, "note": None, "paper": {k: v for k, v in row["paper"].items() if k != "note"}}
        for row in map(result.row, labels)
    ]
    shown = {**found, "summary": rows, "printed": [], "claims": [], "source": "", "note": ""}
    file = io.StringIO()
    render(shown, Console(file=file, width=100, highlight=False, color_system=None))
    *lines, last = (line.rstrip() for line in file.getvalue().splitlines())
    if found["claims"]:
        lines += textwrap.wrap(claims_line(found["claims"]), 100)
    return "\n".join([*lines, last])


class Template:
    """A table of Markdown as its marker describes it.

    The first line names the result, and says ``signs`` if a value shows whether it is better or
    worse than the baseline. The second has the heads of the columns, between bars; ``{map}`` is a
    measure, ``{map sd}`` a field of it, ``hold {claims holds}`` has a text of its own, and a star
    stands for the label of the row: ``N = 50 {OTHER "* (N = 50)" map}``. Each further line is a
    row: ``"LABEL" as TEXT``, or ``NAME as TEXT`` for a result as a whole, whose values follow from
    the heads; or cells between bars, each with any ``{EXPRESSION}``; or, of none of these, a
    heading of rows.
    """

    def __init__(self, said: str, results: Results) -> None:
        first, *lines = [line.strip() for line in said.splitlines() if line.strip()] or [""]
        self._name, *options = first.split() or [""]
        if not self._name or options not in ([], ["signs"]) or len(lines) < 2:
            raise BadInput(
                "a table says NAME or 'NAME signs', then a line of heads between bars, then rows"
            )
        self._signs = "signs" in options
        self._results = results
        self._heads = [_head(cell) for cell in _cells(lines[0])]
        self._lines = lines[1:]
        self._used: dict[tuple[str, str], Result] = {}
        self._measures: dict[str, None] = {}
        self._marked = False

    def text(self) -> str:
        """Return the table, and under it how many queries and seeds it is of."""
        rows = [self._row(line) for line in self._lines]
        heads = [head for head, _ in self._heads]
        marks = ["---", *("---:" for _ in heads[1:])]
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, marks, *rows))
        return f"{table}\n\n{caption}" if (caption := self._caption()) else table

    def _row(self, line: str) -> list[str]:
        if "|" in line:
            cells = [
                self._filled(cell, measure)
                for cell, (_, measure) in zip(_cells(line), self._heads, strict=False)
            ]
            if len(cells) != len(self._heads) or len(cells) != len(_cells(line)):
                raise BadInput(f"{line!r} has {len(_cells(line))} cells, not {len(self._heads)}")
            return cells
        if match := _ROW.fullmatch(line):
            name = self._filled(match[2], "") if match[2] else _plain(match[1].split('"')[1])
            return [name, *(self._value(match[1], field) for _, field in self._heads[1:])]
        if '"' in line:
            raise BadInput(f'{line!r}: a row is "LABEL", or "LABEL" as TEXT')
        return [f"**{line}**", *("" for _ in self._heads[1:])]

    def _value(self, row: str, field: str) -> str:
        if not field:
            raise BadInput(f"{row} needs cells between bars: a head says no {{MEASURE}}")
        signed = " signed" if self._signs and field.split('" ')[-1] in TITLES else ""
        words = field.replace("*", row.strip('"')) if "*" in field else f"{row} {field}"
        return self._figure(words + signed, unit=False)

    def _filled(self, cell: str, field: str) -> str:
        measure = field.split(" ")[0]

        def figure(match: re.Match[str]) -> str:
            unit = not measure or measure not in match[1].split()
            return self._figure(match[1], unit=unit)

        return _BRACES.sub(figure, cell)

    def _figure(self, expression: str, *, unit: bool) -> str:
        result, words = self._results.named(expression, self._name)
        text = result.figure(words, unit)
        self._marked |= "signed" in words
        measure = next((word for word in words[1:] if word in TITLES), None)
        if measure and words[0].startswith('"') and "paper" not in words:
            self._used[result.name, words[0].strip('"')] = result
            self._measures[measure] = None
        return text.replace("*", r"\*")

    def _caption(self) -> str:
        rows = {key: result.row(key[1]) for key, result in self._used.items()}
        if not rows:
            return ""
        queries = between([row["queries"] for row in rows.values()])
        parts = [f"{queries} test queries, ± standard error over them.", _seeds([*rows.values()])]
        spreads = [text for name in self._measures if (text := _spread(name, [*rows.values()]))]
        if spreads:
            parts.append(f"sd over seeds: {', '.join(spreads)}.")
        results = dict.fromkeys(self._used.values())
        if self._marked:
            bases = "; ".join(dict.fromkeys(baselines(result.found) for result in results))
            parts.append(
                rf"\* better, ° worse than {bases} (paired randomisation test, Holm, p < .05)."
            )
        ids = ", ".join(
            f"`{name}`" for result in results for name in result.found["comparison"].split(",")
        )
        parts.append(f"Comparison {ids}.")
        if old := [result for result in results if result.name in self._results.earlier]:
            which = "" if len(old) == len(results) else f" of {', '.join(r.name for r in old)}"
            parts.append(f"The code{which} has changed since.")
        # No line may begin with the plus of a label: Markdown takes it for an entry of a list.
        text = " ".join(parts).replace(" + ", "\0+ ")
        lines = textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)
        return lines.replace("\0", " ")


def _head(cell: str) -> tuple[str, str]:
    """Split a head into its text and its field ("" for none)."""
    match = _HEAD.fullmatch(cell)
    if not match:
        return cell, ""
    text, words = match[1].strip(), match[2].split()
    if not text:
        text = words[0] if words[0] in _FACTS else title(words[0])
        text = words[1] if words[1:] and words[1] not in ("mean", "signed") else text
    return text, " ".join(words)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _plain(label: str) -> str:
    return f"`{label}`" if "'" in label else label


def _seeds(rows: list[dict]) -> str:
    """Return the number of seeds, naming rows with one seed if others have more."""
    labels: dict[int, dict[str, None]] = {}
    for row in rows:
        labels.setdefault(row["seeds"], {})[row["label"]] = None
    most, *fewer = sorted(labels, reverse=True)
    text = f"{most} seeds" if most > 1 else "One seed"
    others = [f"{number} of {', '.join(map(_plain, labels[number]))}" for number in fewer]
    return f"{text}{' (' + '; '.join(others) + ')' if others else ''}."


def _spread(name: str, rows: list[dict]) -> str:
    values = [row["measures"][name] for row in rows if name in row["measures"]]
    sds = sorted(
        digits(name, value["sd_seeds"], like=value["mean"]).removeprefix("0")
        for value in values
        if value["sd_seeds"] is not None
    )
    if not sds:
        return ""
    sds.sort(key=float)
    heading = title(name)
    per_cent = " %" if heading.endswith(" %") else ""
    low, high = sds[0], sds[-1]
    return f"{heading.removesuffix(' %')} {low if low == high else f'{low} to {high}'}{per_cent}"
