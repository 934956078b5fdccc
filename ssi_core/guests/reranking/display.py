"""Rerankers on a terminal: a table of several, what was found in a training, measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from ssi_core.guests.reranking.pairs import PairFeatures


def show_rankers(console: Console, result: Mapping[str, Any]) -> None:
    """Print a table for each measure: each fold, the mean, the printed mean, and p."""
    from ssi_core.command.text import plain_table
    from ssi_core.guests.reranking.measures import title_of

    console.print(result["title"], style="bold")
    for measure in result["measures"]:
        shown = any(measure in row.get("printed", {}) for row in result["rows"])
        head = [f"LETOR {title_of(measure)}", *result["folds"], "mean"]
        head += ["printed", "p"] if shown else ["p"]
        lines = []
        for row in result["rows"]:
            printed = row.get("printed", {}).get(measure)
            ours = [f"{fold['measures'][measure]:.4f}" for fold in row.get("folds", ())]
            mean = f"{row['means'][measure]:.4f}" if "means" in row else ""
            test = row.get("tests", {}).get(measure)
            lines.append(
                [
                    row["label"],
                    *(ours or [""] * len(result["folds"])),
                    mean,
                    *(["" if printed is None else f"{printed['mean']:.4f}"] if shown else []),
                    "" if test is None else f"{test['p_holm']:.3f}",
                ]
            )
        console.print()
        console.print(plain_table(head, lines))
    console.print(
        f"p: paired randomisation over {result['queries']:,} test queries against "
        f"{result['baseline']}, corrected by Holm over the tests of a measure",
        style="dim",
    )
    for row in result["rows"]:
        if (other := row.get("against", result["baseline"])) != result["baseline"]:
            console.print(f"{row['label']}: p is against {other}", style="dim")
        for other, tests in row.get("further_tests", {}).items():
            each = (f"{title_of(name)} {test['p_holm']:.3f}" for name, test in tests.items())
            console.print(f"{row['label']}: p against {other}: {', '.join(each)}", style="dim")
    for row in result["rows"]:
        if "left_out" in row:
            console.print(f"{row['label']}: {row['left_out']}", style="dim")
    if result["note"]:
        console.print(result["note"], style="dim")
    if missing := result["missing_values"]:
        share = missing / result["values"]
        console.print(f"missing values of the test queries: {missing:,} ({share:.1%})")
    for line in _of_references(result):
        console.print(line)


def _of_references(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on each row that no ranker should be below, and on those that are."""
    from ssi_core.guests.reranking.measures import title_of

    rows = {row["label"]: row for row in result["rows"]}
    measure = result["references"]["measure"]
    for name, reference in result["references"]["rows"].items():
        facts = [fold["facts"] for fold in rows[name]["folds"] if "feature" in fold["facts"]]
        chosen = dict.fromkeys(f"{one['feature']}, {one['direction']}" for one in facts)
        what = f" ({'; '.join(chosen)})" if chosen else ""
        below = [
            f"{label} ({rows[label]['means'][measure]:.4f}, p {test['p_holm']:.3f})"
            for label, test in reference["tests"].items()
            if label in reference["below"]
        ]
        verdict = f"below it: {', '.join(below)}" if below else "no ranker is below it"
        yield f"{name}{what}, {title_of(measure)} {reference['mean']:.4f}: {verdict}"


def show_facts(console: Console, facts: Mapping[str, Any]) -> None:
    """Print what was found in a training, a line each."""
    for name, fact in facts.items():
        console.print(f"  {name.replace('_', ' ')} {fact}")


def show_measures(console: Console, measures: Mapping[str, float], features: PairFeatures) -> None:
    """Print measures, and of how many queries a depth says nothing."""
    from ssi_core.guests.reranking.measures import gain_rank, title_of

    for name, value in measures.items():
        depth = gain_rank(name) or 0
        short = sum(rows.stop - rows.start < depth for _, rows in features.lists())
        note = f"  ({short:,} queries have fewer than {depth} documents, and count as 0)"
        console.print(f"  {title_of(name):9} {value:.4f}{note if short else ''}")
