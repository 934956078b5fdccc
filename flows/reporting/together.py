"""Several comparisons of one table, on different collections, as one: its claims on all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from flows.reporting.compare import Loaded, load
from flows.reporting.folds import BETWEEN
from flows.reporting.pooling import random_effects
from flows.reporting.result_file import settings_digest
from flows.reporting.verdicts import probability
from ssi_core.command.text import plain_table, styled
from ssi_core.evaluation.claims import Claim, outcome_of
from ssi_core.evaluation.comparison import LEVEL, digits, signed, value_text
from ssi_core.evaluation.measures import TITLES
from ssi_core.evaluation.significance import (
    at_floor,
    holm,
    paired_t,
    rounds_of,
    smallest_detectable,
    stratified_randomisation,
)
from ssi_core.types import BadInput, Float64

if TYPE_CHECKING:
    from rich.console import Console


def together(experiment: str, comparisons: Sequence[str]) -> dict[str, Any]:
    """Return comparisons of a table on several collections as one JSON object.

    ``summary``: a row of the table each, with the mean of each measure over the collections, each
    of which counts the same, and its standard error. ``claims``: the claims of order of the table.
    Of each ``difference``, ``p`` and ``p_adjusted`` are about these collections
    (`stratified_randomisation`, Holm over the claims), ``another`` about any other
    (`random_effects`, Holm as well; null where the rows are equal on one of the collections),
    ``detectable`` is the difference that these queries would have found with a power of 80 %, and
    ``each`` has the differences one by one.

    Raises
    ------
    BadInput
        A comparison is not there, there are fewer than two, two are of the same collections, or
        they have no claim of order in common.
    """
    if len(comparisons) < 2 or len(set(comparisons)) < len(comparisons):
        raise BadInput(
            f"{', '.join(comparisons)}: expected two or more different comparisons of "
            f"{experiment!r}, each with --together. 'ssi compare {experiment} --list' lists them."
        )
    loaded = [load(experiment, comparison) for comparison in comparisons]
    _check_collections(loaded)
    labels = [row.label for row in loaded[0].rows if all(row.label in one.means for one in loaded)]
    names = [
        name for name in loaded[0].table.measures if all(name in _columns(one) for one in loaded)
    ]
    return {
        "experiment": experiment,
        "title": loaded[0].table.title,
        "comparisons": [
            {"comparison": one.comparison, "queries": len(next(iter(one.means.values())))}
            for one in loaded
        ],
        "measures": names,
        "summary": [
            {"label": label, "measures": {name: _mean(loaded, label, name) for name in names}}
            for label in labels
        ],
        "claims": _claims(loaded, labels, names),
    }


def _check_collections(loaded: Sequence[Loaded]) -> None:
    """Refuse other settings, and the same queries twice, which would count as more evidence."""
    seen: dict[str, str] = {}
    settings = settings_digest(loaded[0].table)
    for one in loaded:
        if settings_digest(one.table) != settings:
            raise BadInput(
                f"comparisons {loaded[0].comparison!r} and {one.comparison!r} were computed with "
                f"different settings of {one.experiment!r}. Compute the older one again."
            )
        tasks = {t for run in one.runs for t in run.data.get("task", "").split(BETWEEN)}
        if shared := sorted(tasks & seen.keys()):
            raise BadInput(
                f"comparisons {seen[shared[0]]!r} and {one.comparison!r} are of the same "
                "collections. Name one of each collection."
            )
        seen |= dict.fromkeys(tasks, one.comparison)


def _columns(loaded: Loaded) -> list[str]:
    return next(iter(loaded.means.values())).columns


def _values(loaded: Loaded, label: str, measure: str) -> Float64:
    return loaded.means[label][measure].to_numpy()


def _error(values: Float64) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _mean(loaded: Sequence[Loaded], label: str, measure: str) -> dict[str, float]:
    values = [_values(one, label, measure) for one in loaded]
    error = np.sqrt(sum(_error(each) ** 2 for each in values)) / len(values)
    return {"mean": float(np.mean([each.mean() for each in values])), "se": float(error)}


def _claims(
    loaded: Sequence[Loaded], labels: Sequence[str], names: Sequence[str]
) -> list[dict[str, Any]]:
    """Test the claims of order that all comparisons have, on rows that are like with like."""
    from flows.reporting.likeness import compared, unlikeness  # loads the models

    rows = [row for row in loaded[0].rows if row.label in labels]
    claims = [
        claim for claim in loaded[0].table.claims if claim.margin is None and claim.measure in names
    ]
    tested: dict[Claim, tuple[str, str]] = {}
    for claim in claims:
        pair = compared(*claim.rows, rows)
        if (
            pair
            and not unlikeness(*pair)
            and not _twins(loaded, pair[0].label, pair[1].label, claim.measure)
        ):
            tested[claim] = (pair[0].label, pair[1].label)
    if not tested:
        raise BadInput(
            f"experiment {loaded[0].experiment!r}: these comparisons have no claim of order in "
            "common, about rows that are like with like. Leave --together out, to see one alone."
        )
    found = [
        _tested(loaded, claim, *pair, rounds=rounds_of(len(tested)))
        for claim, pair in tested.items()
    ]
    for claim, one, p in zip(tested, found, holm([one["p"] for one in found]), strict=True):
        one |= {"p_adjusted": float(p), "verdict": outcome_of(claim, one["difference"], p, LEVEL)}
    pooled = [(claim, o["another"]) for claim, o in zip(tested, found, strict=True) if o["another"]]
    for (claim, other), p in zip(pooled, holm([other["p"] for _, other in pooled]), strict=True):
        other |= {"p_adjusted": float(p), "verdict": outcome_of(claim, other["mean"], p, LEVEL)}
    return found


def _twins(loaded: Sequence[Loaded], above: str, below: str, measure: str) -> bool:
    """Tell whether two rows have the same values on every query of every collection."""
    return all(
        np.allclose(_values(one, above, measure), _values(one, below, measure), rtol=0, atol=1e-12)
        for one in loaded
    )


def _tested(
    loaded: Sequence[Loaded], claim: Claim, above: str, below: str, *, rounds: int
) -> dict[str, Any]:
    pairs = [
        tuple(_values(one, label, claim.measure) for label in (above, below)) for one in loaded
    ]
    differences = [a - b for a, b in pairs]
    means = [float(each.mean()) for each in differences]
    errors = [_error(each) for each in differences]
    p = stratified_randomisation([(a, b) for a, b in pairs], rounds=rounds)
    alone = [smallest_detectable(a, b) for a, b in pairs]
    return {
        "above": claim.above,
        "below": claim.below,
        "measure": claim.measure,
        "rows": [above, below],
        "difference": float(np.mean(means)),
        "se": float(np.sqrt(np.sum(np.square(errors))) / len(errors)),
        "detectable": float(np.sqrt(np.sum(np.square(alone))) / len(alone)),
        "p": p,
        "bound": at_floor(p, rounds),
        # Equal rows on a collection, or one query, give no error that it could be weighed by.
        "another": asdict(random_effects(means, errors)) if _weighable(errors) else None,
        "each": [
            {
                "comparison": one.comparison,
                "difference": mean,
                "se": error,
                "p_t": paired_t(a, b),
                "detectable": least,
            }
            for one, mean, error, (a, b), least in zip(
                loaded, means, errors, pairs, alone, strict=True
            )
        ],
    }


def _weighable(errors: Sequence[float]) -> bool:
    return all(error > 0 for error in errors)


def render_together(found: Mapping[str, Any], console: Console) -> None:
    """Print comparisons as one: the rows, then the claims on these and on other collections."""
    queries = " + ".join(str(one["queries"]) for one in found["comparisons"])
    console.print(styled(f"{found['title']}, on {len(found['comparisons'])} collections", "bold"))
    head = ["row", *(TITLES.get(name, name) for name in found["measures"])]
    lines = [
        [row["label"], *(value_text(n, of["mean"], of["se"]) for n, of in row["measures"].items())]
        for row in found["summary"]
    ]
    console.print(plain_table(head, lines))
    console.print(
        styled(
            f"{queries} queries; a collection counts the same with few and with many of them.",
            "dim",
        )
    )
    console.print()
    for measure in found["measures"]:
        if lines := [_line(claim) for claim in found["claims"] if claim["measure"] == measure]:
            console.print(plain_table([f"{TITLES.get(measure, measure)}: claim", *CLAIMS], lines))
            console.print()
    for kind, of in (
        ("these", found["claims"]),
        ("any other", [c["another"] for c in found["claims"] if c["another"]]),
    ):
        counts = ", ".join(
            f"{sum(one['verdict'] == verdict for one in of)} {verdict}"
            for verdict in ("holds", "reversed", "not decided")
        )
        console.print(
            styled(f"on {kind} collection{'s' if kind == 'these' else ''}: {counts}", "bold")
        )
    console.print(
        styled(
            "differ: mean difference. shown: the smallest one that these queries show with 80 % "
            "power, at 5 % and uncorrected. p: randomisation within each collection, Holm over all "
            "claims. any other: 95 % interval of what is expected of a collection (Hartung and "
            "Knapp). one more: 95 % interval of the true difference on one more.",
            "dim",
        )
    )


CLAIMS = ["differ", "shown", "verdict", "p", "any other", "one more"]
"""Columns of the claims."""


def _line(claim: Mapping[str, Any]) -> list[str]:
    measure, like = claim["measure"], claim["difference"]

    def interval(low: float | None, high: float | None) -> str:
        if low is None or high is None:
            return ""
        return f"{signed(measure, low, like=like)} to {signed(measure, high, like=like)}"

    other = claim["another"] or dict.fromkeys(("low", "high", "next_low", "next_high"))
    p = probability(claim["p_adjusted"], claim["bound"]).removeprefix("p ").removeprefix("= ")
    return [
        f"{claim['above']} above {claim['below']}",
        signed(measure, claim["difference"], like=like),
        digits(measure, claim["detectable"], like=like).removeprefix("0"),
        claim["verdict"],
        p,
        interval(other["low"], other["high"]),
        interval(other["next_low"], other["next_high"]),
    ]
