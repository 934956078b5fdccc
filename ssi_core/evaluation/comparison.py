"""Rankers side by side: each tested against a baseline, and how their values are written."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from ssi_core.evaluation.claims import TestName
from ssi_core.evaluation.measures import PERCENT
from ssi_core.evaluation.significance import (
    at_floor,
    holm,
    paired_randomisation,
    paired_t,
    rounds_of,
)
from ssi_core.types import Float64

LEVEL = 0.05
"""An adjusted p below it makes a difference one."""


def paired_tests(
    pairs: Sequence[tuple[str, str]],
    means: Mapping[str, pl.DataFrame],
    same: Mapping[str, str],
    measure: str,
    test: TestName = "randomisation",
) -> list[dict[str, Any]]:
    """Test pairs of rankers in one measure, corrected by Holm over the pairs.

    Twins are one test, and the twin of its own baseline is none.

    Parameters
    ----------
    pairs : sequence of tuple of str
        (label, label of its baseline).
    means : mapping
        Label -> frame of `claims.average_seeds`.
    same : mapping
        Label -> first label with the same values; see `claims.twins`.
    """
    distinct = {pair: (same[pair[0]], same[pair[1]]) for pair in pairs}
    family = list(dict.fromkeys(two for two in distinct.values() if two[0] != two[1]))
    rounds = rounds_of(len(family))
    values = {label: frame[measure].to_numpy() for label, frame in means.items()}

    def p_of(ours: Float64, theirs: Float64) -> float:
        if test == "t":
            return paired_t(ours, theirs)
        return paired_randomisation(ours, theirs, rounds=rounds)

    alone = {(a, b): p_of(values[a], values[b]) for a, b in family}
    adjusted = dict(zip(family, holm([alone[two] for two in family]).tolist(), strict=True))
    return [
        {
            "a": a,
            "b": b,
            "metric": f"test/{measure}",
            "difference": float(np.mean(values[a] - values[b])),
            "p": (p := alone.get(distinct[a, b], 1.0)),
            "p_adjusted": adjusted.get(distinct[a, b], 1.0),
            "bound": test == "randomisation" and at_floor(p, rounds),
            "test": test,
            "n": len(values[a]),
            "family": "baseline",
        }
        for a, b in pairs
    ]


def value_text(name: str, mean: float | None, error: float | None = None) -> str:
    """Write a value and its error, which one query has not; a rank loss in per cent, no sign.

    >>> value_text("map", 0.25, 0.01), value_text("map", 0.25, math.nan)
    ('0.250 ±.010', '0.250')
    """
    if mean is None:
        return ""
    text = digits(name, mean, like=mean)
    if error is None or math.isnan(error):
        return text
    # ±.010: the zero before the point would cost the width that labels need.
    return f"{text} ±{digits(name, error, like=mean).removeprefix('0')}"


def digits(name: str, number: float, *, like: float) -> str:
    """Write a number of a measure with as many decimals as its value ``like`` has.

    They are three, or two of a rank loss in per cent, and four of one that is tiny.

    >>> digits("map", 0.25, like=0.0), digits("rank_loss", 0.00012, like=0.5)
    ('0.250', '0.01')
    >>> digits("rank_loss", 0.00012, like=0.00049), digits("rank_loss", 0.00012, like=0.0005)
    ('0.0120', '0.01')
    """
    if name not in PERCENT:
        return f"{number:.3f}"
    return f"{100 * number:.{4 if 0 < like < 0.0005 else 2}f}"


def signed(name: str, number: float, *, like: float) -> str:
    """Write a difference with its sign, which one that is rounded to nothing has not; see `digits`.

    >>> signed("map", -0.0123, like=0.2), signed("map", -0.0004, like=0.2)
    ('-.012', '.000')
    """
    text = digits(name, abs(number), like=like)
    sign = ("-" if number < 0 else "+") if float(text) else ""
    return sign + text.removeprefix("0")
