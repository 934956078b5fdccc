"""A comparison for a person: a table as wide as the terminal, and the same in Markdown.

Both read the JSON object of `flows.reporting.compare.results` and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flows.reporting.slices import tables as slice_tables
from flows.reporting.verdicts import (
    LIKE_WITH_LIKE,
    STAND_INS,
    apart,
    claims_cells,
    claims_line,
    evidence,
    show_claims,
    stand_ins,
)
from ssi_core.command.text import plain_table, styled
from ssi_core.evaluation.claims import APART
from ssi_core.evaluation.comparison import LEVEL, digits, value_text
from ssi_core.evaluation.measures import LOWER_IS_BETTER, TITLES
from ssi_core.face.show import count

if TYPE_CHECKING:
    from rich.console import Console


def render(comparison: Mapping[str, Any], console: Console, *, slices: bool = False) -> None:
    """Print a comparison: ours with standard errors beside the printed values, then the claims.

    With ``slices`` also a table for each way to divide the relevant documents.
    """
    from rich.rule import Rule

    def say(text: str, style: str = "") -> None:
        console.print(styled(text, style))

    console.print(Rule(styled(str(comparison["title"]), "bold"), align="left", style="dim"))
    for table in _tables(comparison, console):
        console.print(table)
    for line in footnotes(comparison):
        say(line, "dim")
    if comparison["claims"]:
        say("")
        say(claims_line(comparison["claims"]), "bold")
        for line in evidence(comparison["claims"], TITLES):
            say(line, "dim")
        show_claims(comparison["claims"], TITLES, console)
    for title, head, lines in slice_tables(comparison) if slices else ():
        say(f"\n{title}", "bold")
        console.print(plain_table(head, lines))
    say(f"experiment {comparison['experiment']}, comparison {comparison['comparison']}", "dim")


def _tables(comparison: Mapping[str, Any], console: Console) -> list[Any]:
    """Lay a comparison out as wide as the terminal.

    A table that is too wide goes without the errors of the printed values, and then in parts, each
    of which has some of the measures and the labels of all rows.
    """
    unbounded = console.options.update(width=10 * console.width)

    def fits(table: Any) -> bool:
        return bool(console.measure(table, options=unbounded).maximum <= console.width)

    whole = _table(comparison)
    if fits(whole):
        return [whole]
    measures = list(comparison["measures"])
    tables: list[Any] = []
    for parts in range(1, len(measures) + 1):
        size = -(-len(measures) // parts)
        chunks = [measures[first : first + size] for first in range(0, len(measures), size)]
        tables = [
            _table(
                {**comparison, "measures": chunk}, printed_errors=False, costs=chunk is chunks[-1]
            )
            for chunk in chunks
        ]
        if all(map(fits, tables)):
            break
    return tables


def _table(
    comparison: Mapping[str, Any], *, printed_errors: bool = True, costs: bool = True
) -> Any:
    from rich import box
    from rich.table import Table

    head, lines = cells(comparison, printed_errors=printed_errors, costs=costs)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0, show_edge=False)
    for n, name in enumerate(head):
        table.add_column(
            name, justify="left" if n == 0 else "right", no_wrap=n > 0, overflow="fold"
        )
    best = _best(comparison)
    rows = (*comparison["summary"], *comparison["printed"])
    for row, line in zip(rows, lines, strict=True):
        styles = ["bold" if _column(name) in best.get(row["label"], ()) else "" for name in head]
        # One more blank, so that a sign does not seem to belong to the printed value before it.
        spaced = [
            f" {cell}" if _column(name) else cell for cell, name in zip(line, head, strict=True)
        ]
        table.add_row(*(styled(c, s) for c, s in zip(spaced, styles, strict=True)))
        if row.get("seeds", 1) > 1:
            spread = _spread(row, head)
            table.add_row(*(styled(cell, "dim") for cell in spread))
    return table


_NOT_MEASURED: Mapping[str, None] = {"mean": None, "se": None}


def cells(
    comparison: Mapping[str, Any], *, printed_errors: bool = True, costs: bool = True
) -> tuple[list[str], list[list[str]]]:
    """Return the head and the cells of the table, a line per row; printed values only if any.

    Rows that only the paper has come last.

    The last columns are the triples of the row's training and the minutes that the row took, means
    over its seeds, unless ``costs`` is false.
    """
    summary = comparison["summary"]
    shown = comparison["measures"]
    everything = [*summary, *comparison["printed"]]
    printed = {n for n in shown if any(n in row["paper"] for row in everything)}
    head = ["row"]
    for name in shown:
        title = TITLES[name]
        head += [title, "paper"] if name in printed else [title]
    spent = {"triples": _count, "seconds": _minutes} if costs else {}
    spent = {k: say for k, say in spent.items() if any(row[k] is not None for row in summary)}
    head += ["min" if name == "seconds" else name for name in spent]
    notes = note_numbers(comparison)
    better = better_than_baseline(comparison)
    lines = []
    for row in everything:
        mark = f" [{notes[row['label']]}]" if row["label"] in notes else ""
        line = [row["label"] + mark]
        for name in shown:
            measured = row["measures"][name] if "measures" in row else _NOT_MEASURED
            sign = better.get((row["label"], name), "")
            line.append(sign + value_text(name, measured["mean"], measured["se"]))
            if name in printed:
                paper = row["paper"]
                error = paper.get(f"{name}_se") if printed_errors else None
                line.append(value_text(name, paper.get(name), error))
        lines.append(line + [say(row.get(name)) for name, say in spent.items()])
    return head, lines


def note_numbers(comparison: Mapping[str, Any]) -> dict[str, int]:
    """Return label -> number of the footnote, for rows that have a note; equal notes share one."""
    numbers: dict[str, int] = {}
    return {
        row["label"]: numbers.setdefault(note, len(numbers) + 1)
        for row in (*comparison["summary"], *comparison["printed"])
        if (note := _note(row))
    }


def _note(row: Mapping[str, Any]) -> str:
    notes = (_twin(row), row["note"], row["paper"].get("note"))
    return "; ".join(note for note in notes if note)


_SIGNS = {"expansion": "E", "dimensions": "N"}


def _twin(row: Mapping[str, Any]) -> str:
    """Say which row a row equals on every query, and what it chose that may have made it so."""
    if not row.get("same_as"):
        return ""
    none = [_SIGNS.get(k, k) for k, v in row["chosen"].items() if v in ("0", "0.0")]
    return f"{row['label']} = {row['same_as']}" + (f" (chose {none[0]} = 0)" if none else "")


def footnotes(comparison: Mapping[str, Any]) -> list[str]:
    """Return what stands under the table: what the signs mean, and the notes of rows."""
    summary = comparison["summary"]
    queries = max(row["queries"] for row in summary)
    lines = [
        f"± standard error over {queries} queries. * better, ° worse than {baselines(comparison)} "
        f"(paired randomisation test, Holm, p < {LEVEL:g})."
    ]
    bound = comparison["bounds"].get("p_at_10") if "p_at_10" in comparison["measures"] else None
    if bound is not None:
        lines[0] += f" P@10 can reach {bound:.2f} here."
    if ranked := dict.fromkeys(row["candidates"] for row in summary if row.get("candidates")):
        lines.append(f"candidates: {'; or '.join(ranked)}.")
    if any(row["seeds"] > 1 for row in summary):
        lines.append("sd: over the seeds of a row; its values are means over them.")
    rows = (*summary, *comparison["printed"])
    notes = {n: _note(row) for row in rows if (n := note_numbers(comparison).get(row["label"]))}
    lines += [f"[{number}] {note}" for number, note in notes.items()]
    if comparison["source"]:
        lines.append(f"paper: {comparison['source']}.")
    if comparison["note"]:
        lines.append(" ".join(str(comparison["note"]).split()))
    if comparison["missing"]:
        lines.append(f"not finished: {', '.join(comparison['missing'])}.")
        why = comparison.get("reasons", {})
        lines += [f"{label}: {why[label]}" for label in comparison["missing"] if why.get(label)]
    return lines


def baselines(comparison: Mapping[str, Any]) -> str:
    """Name the rows that the others are tested against."""
    tested = [test["b"] for test in comparison["tests"] if test["family"] == "baseline"]
    labels = list(dict.fromkeys(tested)) or [comparison["baseline"]]
    return labels[0] if len(labels) == 1 else f"the baseline of its task: {', '.join(labels)}"


def markdown(comparison: Mapping[str, Any]) -> str:
    """Return a comparison as a page of Markdown."""
    parts = [f"## {comparison['title']}", _markdown_table(*cells(comparison))]
    parts.append("\n".join(f"- {_escaped(line)}" for line in footnotes(comparison)))
    if comparison["claims"]:
        counted = [claim for claim in comparison["claims"] if claim["verdict"] not in APART]
        parts.append(f"### {claims_line(comparison['claims'])}")
        parts += evidence(comparison["claims"], TITLES)
        if counted:
            parts.append(_markdown_table(*claims_cells(counted, TITLES)))
        if any(map(stand_ins, counted)):
            parts.append(STAND_INS)
        if reasons := apart(comparison["claims"]):
            listed = ("- " + _escaped(f"{why}: {'; '.join(rows)}") for why, rows in reasons)
            parts += ["Claims that are counted apart:", "\n".join(listed), LIKE_WITH_LIKE]
    for title, head, lines in slice_tables(comparison):
        parts += [f"### {title[:1].upper()}{title[1:]}", _markdown_table(head, lines)]
    return "\n\n".join(parts) + "\n"


def _markdown_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    marks = ["---", *("---:" for _ in head[1:])]
    every = [head, marks, *([_escaped(cell.strip()) for cell in line] for line in lines)]
    return "\n".join(f"| {' | '.join(line)} |" for line in every)


def _escaped(text: str) -> str:
    for sign in "|*_":
        text = text.replace(sign, f"\\{sign}")
    return text


def _minutes(seconds: float | None) -> str:
    if seconds is None:
        return ""
    minutes = seconds / 60
    return f"{minutes:.{2 if minutes < 1 else 1 if minutes < 10 else 0}f}"


def _count(number: float | None) -> str:
    return count(number) if number else ""


def _spread(row: Mapping[str, Any], head: Sequence[str]) -> list[str]:
    # The sd over seeds, under the values.
    deviations = {
        title: digits(name, row["measures"][name]["sd_seeds"], like=row["measures"][name]["mean"])
        for name, title in TITLES.items()
        if name in row["measures"]
    }
    return [f"  sd, {row['seeds']} seeds", *(deviations.get(title, "") for title in head[1:])]


def _column(title: str) -> str:
    return next((name for name, shown in TITLES.items() if shown == title), "")


def _best(comparison: Mapping[str, Any]) -> dict[str, list[str]]:
    # label -> measures in which the row is the best.
    winners: dict[str, list[str]] = {}
    for name in comparison["measures"]:
        sign = -1 if name in LOWER_IS_BETTER else 1
        rows = comparison["summary"]
        best = max(rows, key=lambda row: sign * row["measures"][name]["mean"])
        winners.setdefault(best["label"], []).append(name)
    return winners


def better_than_baseline(comparison: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """Return (label, measure) -> sign; none beside a value that is printed like the baseline's."""
    better = {}
    values = {row["label"]: row["measures"] for row in comparison["summary"]}
    for test in comparison["tests"]:
        if test["family"] != "baseline" or test["test"] != "randomisation":
            continue
        name = test["metric"].removeprefix("test/")
        gain = -test["difference"] if name in LOWER_IS_BETTER else test["difference"]
        ours, theirs = (
            value_text(name, values[test[side]][name]["mean"], None)
            if test[side] in values
            else side
            for side in ("a", "b")
        )
        if test["p_adjusted"] < LEVEL and ours != theirs:
            better[test["a"], name] = "* " if gain > 0 else "° "
    return better
