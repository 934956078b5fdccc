"""Claims of a comparison for a person: how many hold, which do not, and which are counted apart.

A claim with a margin is one of no difference; see `ssi_core.evaluation.claims.Claim`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from ssi_core.command.text import styled
from ssi_core.evaluation.claims import APART
from ssi_core.evaluation.comparison import LEVEL, digits
from ssi_core.evaluation.measures import LOWER_IS_BETTER

if TYPE_CHECKING:
    from rich.console import Console

LIKE_WITH_LIKE = (
    "Like with like: both rows read the same words (the widest view of each: most frequent words, "
    "heaviest of a text), and hashed words are judged against the model that they are added to."
)
"""Rule of `flows.reporting.likeness`, as a page says it."""

STAND_INS = (
    'A claim "on" a row was tested on it: the same model, on the words that the other row reads.'
)
"""Sentence of a page about claims that are tested on stand-ins (`likeness.compared`)."""


def claims_line(claims: Sequence[Mapping[str, Any]]) -> str:
    """Say how many claims hold: of those on their own rows, and of those on stand-ins."""
    counted = [claim for claim in claims if claim["verdict"] not in APART]
    kind = "claims" if any(_margin(claim) for claim in counted) else "claims of order"
    direct, substituted = (
        [claim for claim in counted if bool(stand_ins(claim)) is on] for on in (False, True)
    )
    parts = [_held(direct, f"{kind} hold")]
    if substituted:
        parts = [
            _held(direct, f"{kind} hold on their own rows"),
            _held(substituted, "on stand-ins"),
        ]
    apart = [f"{number} {verdict}" for verdict in APART if (number := _count(claims, verdict))]
    return "; ".join([*parts, f"apart: {', '.join(apart)}"] if apart else parts)


def evidence(claims: Sequence[Mapping[str, Any]], titles: Mapping[str, str]) -> list[str]:
    """Return what stands under the number of claims: how they do by t, and what could be shown."""
    return [line for line in (uncorrected_line(claims), detectable_line(claims, titles)) if line]


def detectable_line(claims: Sequence[Mapping[str, Any]], titles: Mapping[str, str]) -> str:
    """Say what difference the queries would have shown; "" where no claim knows it."""
    if not (of_measure := detectable(claims)):
        return ""
    found = ", ".join(
        f"{digits(name, value, like=1)} {titles.get(name, name)}"
        for name, value in of_measure.items()
    )
    return (
        "Smallest difference that these queries show with 80 % power, at 5 % and uncorrected: "
        f"{found} (median over the claims)."
    )


def uncorrected_line(claims: Sequence[Mapping[str, Any]]) -> str:
    """Count claims of order by a t test each, as papers test them; "" where nothing is known."""
    found = [verdict for claim in claims if (verdict := by_t(claim))]
    if not found:
        return ""
    return (
        f"By a t test at 5 % each, without correction: {found.count('holds')} hold, "
        f"{found.count('reversed')} reversed, {found.count('not decided')} not decided."
    )


def by_t(claim: Mapping[str, Any]) -> str | None:
    """Return the verdict of a t test at 5 % without correction; None where there was none."""
    if claim["verdict"] in APART or claim.get("p_t") is None:
        return None
    if claim["p_t"] >= LEVEL:
        return "not decided"
    higher = claim["difference"] > 0
    return "holds" if higher != (claim["measure"] in LOWER_IS_BETTER) else "reversed"


def detectable(claims: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the median of the smallest differences that a table could show, by measure."""
    of_measure: dict[str, list[float]] = {}
    for claim in claims:
        # Comparisons that were saved before have none.
        if claim["verdict"] not in APART and claim.get("detectable") is not None:
            of_measure.setdefault(claim["measure"], []).append(claim["detectable"])
    return {name: median(values) for name, values in of_measure.items()}


def _held(claims: Sequence[Mapping[str, Any]], hold: str) -> str:
    """Say how many claims hold, of how many distinct ones, and how many do not."""
    parts = [f"{_count(claims, 'holds')} of {len(claims)} {hold}"]
    if len(_distinct(claims)) < len(claims):
        holds = len(_distinct(c for c in claims if c["verdict"] == "holds"))
        parts[0] += f" ({holds} of {len(_distinct(claims))} distinct ones)"
    for verdict in ("reversed", "not decided"):
        if number := _count(claims, verdict):
            parts.append(f"{number} {verdict}")
    return ", ".join(parts)


def counts(claims: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return how many claims have each verdict, on their own rows and on stand-ins.

    Claims that are counted apart are in neither.
    """
    groups: dict[str, dict[str, int]] = {
        where: {"claims": 0, "holds": 0, "reversed": 0, "not decided": 0}
        for where in ("own rows", "stand-ins")
    }
    for claim in claims:
        if claim["verdict"] not in APART:
            group = groups["stand-ins" if stand_ins(claim) else "own rows"]
            group["claims"] += 1
            group[claim["verdict"]] += 1
    return groups


def stand_ins(claim: Mapping[str, Any]) -> list[str]:
    """Return the rows that a claim was tested on in place of its own."""
    return [row for row in claim["rows"] if row not in (claim["above"], claim["below"])]


def _count(claims: Sequence[Mapping[str, Any]], verdict: str) -> int:
    return sum(claim["verdict"] == verdict for claim in claims)


def _distinct(claims: Iterable[Mapping[str, Any]]) -> set[tuple[str, ...]]:
    return {(*claim["systems"], claim["measure"], _margin(claim)) for claim in claims}


def _margin(claim: Mapping[str, Any]) -> str:
    """Write the margin of a claim of no difference; "" for one of order."""
    return f"±{claim['margin']:g}" if claim.get("margin") is not None else ""


def claims_cells(
    claims: Sequence[Mapping[str, Any]], titles: Mapping[str, str]
) -> tuple[list[str], list[list[str]]]:
    """Return the head and the cells of claims, a line per pair of rows.

    Parameters
    ----------
    titles : mapping
        Measure -> heading of its column.
    """
    names = [n for n in titles if any(c["measure"] == n for c in claims)]
    names += sorted({c["measure"] for c in claims} - set(names))
    pairs: dict[str, dict[str, str]] = {}
    for claim in claims:
        verdict = f"{claim['verdict']}, {probability(claim['p_adjusted'], claim['bound'])}"
        if margin := _margin(claim):
            verdict += f" ({claim['difference']:+.4f} of {margin})"
        pairs.setdefault(_pair(claim), {})[claim["measure"]] = verdict
    head = ["claim", *(titles.get(n, n).removesuffix(" %") for n in names)]
    return head, [[pair, *(cells.get(n, "") for n in names)] for pair, cells in pairs.items()]


def _pair(claim: Mapping[str, Any]) -> str:
    """Write the rows of a claim, and those that it was tested on in their place."""
    relation = "no different from" if _margin(claim) else "above"
    pair = f"{claim['above']} {relation} {claim['below']}"
    return f"{pair}, on {', '.join(rows)}" if (rows := stand_ins(claim)) else pair


def apart(claims: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Return why claims are counted apart, with their number, and the pairs of rows they are of."""
    groups: dict[tuple[str, str], list[str]] = {}
    for claim in claims:
        if claim["verdict"] in APART:
            pair = ", ".join(sorted(claim["rows"]))
            groups.setdefault((claim["verdict"], claim["reason"]), []).append(pair)
    return [
        (f"{len(pairs)} {verdict}: {reason}", list(dict.fromkeys(pairs)))
        for (verdict, reason), pairs in groups.items()
    ]


def probability(p: float, bound: bool = False) -> str:
    """Write a p-value; one that is only bounded from above says "<", and is rounded up."""
    if p < 0.001:
        return "p < .001"
    if bound:
        return f"p < {math.ceil(1000 * p) / 1000:.3f}".replace("0.", ".", 1)
    return f"p = {p:.3f}".replace("0.", ".", 1)


_SHOWN = 20
"""Pairs of rows whose claims a terminal shows."""


_ROOM = 36
"""Columns that the rows of a claim need beside its verdicts; with fewer they have lines."""

_COLOURS = {"reversed": "red", "not decided": "yellow"}


def show_claims(
    claims: Sequence[Mapping[str, Any]], titles: Mapping[str, str], console: Console
) -> None:
    """Print why claims are counted apart, then those that do not hold, reversed ones first."""
    open_claims = sorted(
        (claim for claim in claims if claim["verdict"] in _COLOURS),
        key=lambda claim: list(_COLOURS).index(claim["verdict"]),
    )
    _show_apart(claims, console)
    if any(map(stand_ins, claims)):
        console.print(styled(STAND_INS, "dim"))
    if not open_claims:
        return
    head, lines = claims_cells(open_claims, titles)
    head[0] = "claims that do not hold"
    shown = lines[:_SHOWN]
    verdicts = sum(max(map(len, column)) + 2 for column in list(zip(head, *shown, strict=True))[1:])
    if console.width - verdicts < _ROOM:
        _show_lines(head, shown, console)
    else:
        _show_table(head, shown, console)
    more = f"{len(lines) - _SHOWN} more pairs of rows; all " if len(lines) > _SHOWN else "All "
    footer = f"{more}claims: --json, and comparison.md of the summary in MLflow."
    console.print(styled(footer, "dim"))


def _show_table(head: Sequence[str], lines: Sequence[Sequence[str]], console: Console) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    for n, name in enumerate(head):
        table.add_column(name, no_wrap=n > 0, overflow="fold")
    for line in lines:
        table.add_row(*(styled(cell, _colour(cell)) for cell in line))
    console.print(table)


def _show_lines(head: Sequence[str], lines: Sequence[Sequence[str]], console: Console) -> None:
    """Print a claim a line, and its verdicts below it: there is no room beside it."""
    console.print(f"{head[0]}:")
    for pair, *cells in lines:
        console.print(styled(pair, ""))
        shown = [f"{name} {cell}" for name, cell in zip(head[1:], cells, strict=True) if cell]
        worst = next((c for v, c in _COLOURS.items() if any(f" {v}," in one for one in shown)), "")
        console.print(styled(f"  {'; '.join(shown)}", worst))


def _colour(cell: str) -> str:
    return _COLOURS.get(cell.split(",")[0], "")


def _show_apart(claims: Sequence[Mapping[str, Any]], console: Console) -> None:
    """Print how many claims are counted apart, and for which reasons."""
    reasons = [
        f"{why} ({len(pairs)} pair{'s' if len(pairs) > 1 else ''} of rows)."
        for why, pairs in apart(claims)
    ]
    for line in [*reasons, LIKE_WITH_LIKE] if reasons else ():
        console.print(styled(line, "dim"))
