"""A comparison for a person: a table of at most 100 columns, and the same in Markdown.

Both read the JSON object of `flows.compare.results` and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flows.slices import tables as slice_tables

if TYPE_CHECKING:
    from rich.console import Console

_TITLES = {
    "rank_loss": "rank loss %",
    "map": "MAP",
    "mrr": "MRR",
    "p_at_1": "P@1",
    "p_at_10": "P@10",
    "ndcg_at_10": "nDCG@10",
}
_LEVEL = 0.05


def render(comparison: Mapping[str, Any], console: Console, *, slices: bool = False) -> None:
    """Print a comparison: ours with standard errors beside the printed values, then the claims.

    With ``slices`` also a table for each way to divide the relevant documents.
    """
    from rich.rule import Rule
    from rich.text import Text

    def say(text: str, style: str = "") -> None:
        console.print(Text(text, style=style))

    console.print(Rule(Text(str(comparison["title"]), style="bold"), align="left", style="dim"))
    console.print(_table(comparison))
    for line in footnotes(comparison):
        say(line, "dim")
    if comparison["claims"]:
        say("")
        say(claims_line(comparison), "bold")
        console.print(_claims_table(comparison))
    for title, head, lines in slice_tables(comparison) if slices else ():
        say(f"\nby {title}: rank loss in per cent, MAP", "bold")
        console.print(_plain_table(head, lines))
    say(f"experiment {comparison['experiment']}, comparison {comparison['comparison']}", "dim")


def _table(comparison: Mapping[str, Any]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    head, lines = cells(comparison)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=0, show_edge=False)
    for n, name in enumerate(head):
        table.add_column(
            name, justify="left" if n == 0 else "right", no_wrap=n > 0, overflow="fold"
        )
    best = _best(comparison)
    for row, line in zip(comparison["summary"], lines, strict=True):
        styles = ["bold" if _column(name) in best.get(row["label"], ()) else "" for name in head]
        # One more blank, so that a sign does not seem to belong to the printed value before it.
        spaced = [
            f" {cell}" if _column(name) else cell for cell, name in zip(line, head, strict=True)
        ]
        table.add_row(*(Text(c, style=s) for c, s in zip(spaced, styles, strict=True)))
        if row["seeds"] > 1:
            spread = _spread(row, head)
            table.add_row(*(Text(cell, style="dim") for cell in spread))
    return table


def cells(comparison: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the cells of the table, a line per row; printed values only if any."""
    summary = comparison["summary"]
    shown = comparison["measures"]
    printed = {n for n in shown if any(n in row["paper"] for row in summary)}
    head = ["row"]
    for name in shown:
        title = _TITLES[name]
        head += [title, "paper"] if name in printed else [title]
    if any(row["seconds"] is not None for row in summary):
        head.append("time")
    notes = note_numbers(comparison)
    better = _better_than_baseline(comparison)
    lines = []
    for row in summary:
        mark = f" [{notes[row['label']]}]" if row["label"] in notes else ""
        line = [row["label"] + mark]
        for name in shown:
            found = row["measures"][name]
            sign = better.get((row["label"], name), "")
            line.append(sign + _value(name, found["mean"], found["se"]))
            if name in printed:
                paper = row["paper"]
                line.append(_value(name, paper.get(name), paper.get(f"{name}_se")))
        if head[-1] == "time":
            line.append(_duration(row["seconds"]))
        lines.append(line)
    return head, lines


def note_numbers(comparison: Mapping[str, Any]) -> dict[str, int]:
    """Return label -> number of the footnote, for rows that have a note."""
    noted = [r["label"] for r in comparison["summary"] if r["note"] or r["paper"].get("note")]
    return {label: n for n, label in enumerate(noted, 1)}


def footnotes(comparison: Mapping[str, Any]) -> list[str]:
    """Return what stands under the table: what the signs mean, and the notes of rows."""
    summary = comparison["summary"]
    queries = max(row["queries"] for row in summary)
    lines = [
        f"± standard error over {queries} queries. * better, ° worse than {comparison['baseline']} "
        f"(paired randomisation test, Holm, p < {_LEVEL:g})."
    ]
    bound = comparison["bounds"].get("p_at_10") if "p_at_10" in comparison["measures"] else None
    if bound is not None:
        lines[0] += f" P@10 can reach {bound:.2f} here."
    if any(row["seeds"] > 1 for row in summary):
        lines.append("sd: over the seeds of a row; its values are means over them.")
    numbers = note_numbers(comparison)
    for row in summary:
        said = [n for n in (row["note"], row["paper"].get("note")) if n]
        if said:
            lines.append(f"[{numbers[row['label']]}] {'; '.join(said)}")
    if comparison["source"]:
        lines.append(f"paper: {comparison['source']}.")
    if comparison["note"]:
        lines.append(" ".join(str(comparison["note"]).split()))
    if comparison["missing"]:
        lines.append(f"not finished: {', '.join(comparison['missing'])}.")
    return lines


def claims_line(comparison: Mapping[str, Any]) -> str:
    """Say how many claims hold."""
    verdicts = [claim["verdict"] for claim in comparison["claims"]]
    counts = [f"{verdicts.count(v)} {v}" for v in ("reversed", "not decided") if v in verdicts]
    holds = f"{verdicts.count('holds')} of {len(verdicts)} claims of order hold"
    return ", ".join([holds, *counts])


def claims_cells(comparison: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return the head and the cells of the claims, a line per pair of rows."""
    names = [n for n in _TITLES if any(c["measure"] == n for c in comparison["claims"])]
    names += sorted({c["measure"] for c in comparison["claims"]} - set(names))
    pairs: dict[tuple[str, str], dict[str, str]] = {}
    for claim in comparison["claims"]:
        said = f"{claim['verdict']}, {_probability(claim['p_adjusted'])}"
        pairs.setdefault((claim["above"], claim["below"]), {})[claim["measure"]] = said
    head = ["claim", *(_TITLES.get(n, n).removesuffix(" %") for n in names)]
    lines = [
        [f"{above} above {below}", *(own.get(n, "") for n in names)]
        for (above, below), own in pairs.items()
    ]
    return head, lines


def _plain_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    for n, name in enumerate(head):
        table.add_column(name, justify="left" if n == 0 else "right", no_wrap=n > 0)
    for line in lines:
        table.add_row(*(Text(cell) for cell in line))
    return table


def _claims_table(comparison: Mapping[str, Any]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    head, lines = claims_cells(comparison)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    for n, name in enumerate(head):
        table.add_column(name, no_wrap=n > 0, overflow="fold")
    colours = {"holds": "green", "reversed": "red", "not decided": "yellow"}
    for line in lines:
        styles = [colours.get(cell.split(",")[0], "") for cell in line]
        table.add_row(*(Text(c, style=s) for c, s in zip(line, styles, strict=True)))
    return table


def markdown(comparison: Mapping[str, Any]) -> str:
    """Return a comparison as a page of Markdown."""
    parts = [f"## {comparison['title']}", _markdown_table(*cells(comparison))]
    parts.append("\n".join(f"- {_escaped(line)}" for line in footnotes(comparison)))
    if comparison["claims"]:
        parts += [f"### {claims_line(comparison)}", _markdown_table(*claims_cells(comparison))]
    for title, head, lines in slice_tables(comparison):
        parts += [f"### By {title}", _markdown_table(head, lines)]
    return "\n\n".join(parts) + "\n"


def _markdown_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    marks = ["---", *("---:" for _ in head[1:])]
    every = [head, marks, *([_escaped(cell.strip()) for cell in line] for line in lines)]
    return "\n".join(f"| {' | '.join(line)} |" for line in every)


def _escaped(text: str) -> str:
    for sign in "|*_":
        text = text.replace(sign, f"\\{sign}")
    return text


def _value(name: str, mean: float | None, error: float | None) -> str:
    # A rank loss in per cent, everything else with three decimals.
    if mean is None:
        return ""
    text = f"{100 * mean:.2f}" if name == "rank_loss" else f"{mean:.3f}"
    if error is None:
        return text
    # ±.010: the zero before the point would cost the width that labels need.
    spread = f"{100 * error:.2f}" if name == "rank_loss" else f"{error:.3f}".removeprefix("0")
    return f"{text} ±{spread}"


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def _probability(p: float) -> str:
    return "p < .001" if p < 0.001 else f"p = {p:.3f}".replace("0.", ".", 1)


def _spread(row: Mapping[str, Any], head: Sequence[str]) -> list[str]:
    # The sd over seeds, under the values.
    own = {
        title: _value(name, row["measures"][name]["sd_seeds"], None)
        for name, title in _TITLES.items()
        if name in row["measures"]
    }
    return [f"  sd, {row['seeds']} seeds", *(own.get(title, "") for title in head[1:])]


def _column(title: str) -> str:
    return next((name for name, shown in _TITLES.items() if shown == title), "")


def _best(comparison: Mapping[str, Any]) -> dict[str, list[str]]:
    # label -> measures in which the row is the best.
    found: dict[str, list[str]] = {}
    for name in comparison["measures"]:
        sign = -1 if name == "rank_loss" else 1
        rows = comparison["summary"]
        best = max(rows, key=lambda row: sign * row["measures"][name]["mean"])
        found.setdefault(best["label"], []).append(name)
    return found


def _better_than_baseline(comparison: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    # (label, measure) -> sign.
    found = {}
    for test in comparison["tests"]:
        if test["family"] != "baseline" or test["test"] != "randomisation":
            continue
        name = test["metric"].removeprefix("test/")
        gain = -test["difference"] if name == "rank_loss" else test["difference"]
        if test["p_adjusted"] < _LEVEL:
            found[test["a"], name] = "* " if gain > 0 else "° "
    return found
