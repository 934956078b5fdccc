"""Later clicks predicted from raw events and from profiles: AUC for each document, wins, tests.

A linear model (logistic regression with a squared penalty) for each document says which users click
on it later. Weight of the penalty and number of clusters are chosen by the mean AUC on the
validation users, for each row by itself.

Source: X. Shi and others, A compression framework for generating user profiles (2010), 4.2, which
has such a model for each ad, and prints AUC and wins by the number of conversions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from ssi_core.evaluation.significance import holm, paired_randomisation, rounds_of
from ssi_core.extras import module
from ssi_core.guests.profiles.features import Part, features
from ssi_core.guests.profiles.measures import auc
from ssi_core.guests.profiles.profiler import FittedProfiler, Profiler
from ssi_core.guests.profiles.sides import Divided, Side
from ssi_core.recorder import RowRecorder
from ssi_core.types import BadInput, Float64, Int64, Progress

ROWS: Mapping[str, tuple[Part, ...]] = {
    "raw events": ("raw",),
    "raw events, profile": ("raw", "cluster", "against_all", "against_cluster"),
    "raw events, tokens against all": ("raw", "against_all"),
    "profile": ("cluster", "against_all", "against_cluster"),
    "number of actions": ("actions",),
}
"""Rows, and the features of each; the first is the baseline, the second the paper's."""
BANDS: Mapping[str, tuple[int, float]] = {
    "10 or more": (10, np.inf),
    "10 to 99": (10, 99),
    "100 or more": (100, np.inf),
}
"""Numbers of test users who clicked on a document."""
PRINTED: Mapping[str, Mapping[str, float]] = {
    "10 or more": {"targets": 155, "wins": 0.62, "auc": 0.57, "base_auc": 0.56},
    "10 to 99": {"targets": 112, "wins": 0.68, "auc": 0.55, "base_auc": 0.53},
    "100 or more": {"targets": 43, "wins": 0.47, "auc": 0.60, "base_auc": 0.60},
}
"""The paper's table: ads, share of wins, AUC with profiles and of raw events."""

_LEAST = 10
_WITH_CLUSTERS = {"cluster", "against_cluster"}


Recorded = Callable[[str, Mapping[str, Any]], AbstractContextManager[RowRecorder | None]]
"""``recorded(label, parameters)``: opens the run of a row."""


@dataclass(frozen=True)
class Choice:
    """Settings of a row.

    Attributes
    ----------
    clusters : int
        Clusters of users.
    C : float
        Weight of the loss against the penalty.
    """

    clusters: int
    C: float


def compare(
    divided: Divided,
    profiler: Profiler,
    *,
    name: str = "",
    clusters: Sequence[int] = (10, 30, 100),
    weights: Sequence[float] = (1e-5, 1e-4, 1e-3, 1e-2),
    choosing: int = 100,
    recorded: Recorded | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Predict later clicks from each kind of features.

    Parameters
    ----------
    divided : Divided
        Users on three sides.
    profiler : Profiler
        Hyper-parameters of profiles; ``clusters`` is not read.
    name : str
        Name of the collection.
    clusters : sequence of int
        Numbers of clusters to choose from.
    weights : sequence of float
        Values of C to choose from.
    choosing : int
        Most documents that choose, drawn by the profiler's seed from those with ten or more
        validation users.
    recorded : Recorded, optional
        Opens a run for each row.
    progress : Progress, optional
        Told the share that is done.

    Returns
    -------
    dict
        JSON values: the data, what codes cost, and for each row choice, AUC, wins and tests.

    Raises
    ------
    BadInput
        No document has ten validation users, or ten test users.
    """
    drawn = _drawn(divided.valid, choosing, profiler.seed)
    tested = _tried(divided.test, _LEAST)
    if not len(drawn) or not len(tested):
        raise BadInput(
            f"{name}: no document was clicked later by {_LEAST} validation users, or by {_LEAST} "
            "test users. Give a longer log."
        )
    fitted = {k: replace(profiler, clusters=k).fit(divided.train.counts) for k in clusters}
    conversions = divided.test.clicked[:, tested].sum(axis=0)
    values: dict[str, Float64] = {}
    rows = []
    for number, (label, parts) in enumerate(ROWS.items()):
        began = time.process_time()

        def on_progress(share: float, what: str, before: int = number, label: str = label) -> None:
            if progress is not None:
                progress((before + share) / len(ROWS), f"{label}: {what}")

        with nullcontext() if recorded is None else recorded(label, vars(profiler)) as run:
            choice, curve = _chosen(divided, fitted, parts, drawn, weights, on_progress)
            model = fitted[choice.clusters]
            values[label] = _areas(
                features(model, divided.train.counts, parts), divided.train,
                features(model, divided.test.counts, parts), divided.test,
                tested, choice.C, lambda share: on_progress(0.5 + share / 2, "test"),
            )  # fmt: skip
            row: dict[str, Any] = {"label": label, "features": list(parts), "chosen": vars(choice)}
            row["validation"] = curve
            row["bands"] = _bands(values[label], conversions)
            row["cpu_seconds"] = round(time.process_time() - began, 1)
            if run is not None:
                row["run_id"] = run.run_id
                run.measured(
                    {f"test/auc_{_metric(band)}": one["auc"] for band, one in row["bands"].items()}
                )
                run.facts({"chosen": vars(choice)})
        rows.append(row)
    _add_tests(rows, values, conversions)
    return {
        "collection": name,
        "users": {side: len(getattr(divided, side)) for side in ("train", "valid", "test")},
        "tokens": len(divided.tokens),
        "targets": len(divided.targets),
        "tested": len(tested),
        "chosen_by": len(drawn),
        "skipped": divided.skipped,
        "profiler": {key: value for key, value in vars(profiler).items() if key != "clusters"},
        "codes": {str(k): model.describe(divided.test.counts) for k, model in fitted.items()},
        "baseline": next(iter(ROWS)),
        "printed": {band: dict(one) for band, one in PRINTED.items()},
        "rows": rows,
    }


def _metric(band: str) -> str:
    return band.replace(" ", "_")


def _tried(side: Side, least: int) -> Int64:
    """Return the targets that so many users of a side clicked, and not all of them."""
    clicked = side.clicked.sum(axis=0)
    return np.flatnonzero((clicked >= least) & (clicked < len(side)))


def _drawn(side: Side, most: int, seed: int) -> Int64:
    known = _tried(side, _LEAST)
    if len(known) <= most:
        return known
    return np.sort(np.random.default_rng(seed).choice(known, most, replace=False))


def _chosen(
    divided: Divided,
    fitted: Mapping[int, FittedProfiler],
    parts: tuple[Part, ...],
    drawn: Int64,
    weights: Sequence[float],
    on_progress: Callable[[float, str], None],
) -> tuple[Choice, list[dict[str, float]]]:
    """Return the settings of the highest mean AUC on validation, and those of all."""
    numbers = list(fitted) if _WITH_CLUSTERS & set(parts) else list(fitted)[:1]
    curve: list[dict[str, float]] = []
    for number, (k, C) in enumerate(product(numbers, weights)):
        on_progress(number / (len(numbers) * len(weights)) / 2, f"{k} clusters, C {C:g}")
        train = features(fitted[k], divided.train.counts, parts)
        valid = features(fitted[k], divided.valid.counts, parts)
        areas = _areas(train, divided.train, valid, divided.valid, drawn, C)
        curve.append({"clusters": k, "C": C, "auc": float(areas.mean())})
    best = max(curve, key=lambda one: one["auc"])
    return Choice(int(best["clusters"]), best["C"]), curve


def _areas(
    train: sparse.csr_array,
    learnt: Side,
    rows: sparse.csr_array,
    side: Side,
    targets: Int64,
    C: float,
    on_progress: Callable[[float], None] | None = None,
) -> Float64:
    """Return the AUC of the model of each target on a side, float64 (targets,)."""
    areas = np.empty(len(targets))
    for number, target in enumerate(targets):
        if on_progress is not None and number % 20 == 0:
            on_progress(number / len(targets))
        clicked = learnt.clicked[:, target]
        scores = np.zeros(len(side))
        if not clicked.all():
            linear = module("sklearn.linear_model", "sklearn")
            model = linear.LogisticRegression(C=C, solver="lbfgs", max_iter=2000)
            model.fit(train, clicked)
            scores = rows @ model.coef_[0]
        areas[number] = auc(scores, side.clicked[:, target])
    return areas


def _bands(areas: Float64, conversions: Int64) -> dict[str, dict[str, float]]:
    """Return the mean AUC and its standard error over the targets of each band."""
    bands = {}
    for band, (least, most) in BANDS.items():
        some = areas[(conversions >= least) & (conversions <= most)]
        if len(some):
            error = some.std(ddof=1) / np.sqrt(len(some)) if len(some) > 1 else 0.0
            bands[band] = {"targets": len(some), "auc": float(some.mean()), "se": float(error)}
    return bands


def _add_tests(
    rows: list[dict[str, Any]], values: Mapping[str, Float64], conversions: Int64
) -> None:
    """Add wins over the baseline, and p of a paired randomisation over targets, by Holm."""
    base = values[rows[0]["label"]]
    rounds = rounds_of((len(rows) - 1) * len(BANDS))
    pending: list[tuple[dict[str, Any], float]] = []
    for row in rows[1:]:
        for band, (least, most) in BANDS.items():
            if band not in row["bands"]:
                continue
            some = (conversions >= least) & (conversions <= most)
            ours, theirs = values[row["label"]][some], base[some]
            p = paired_randomisation(ours, theirs, rounds=rounds)
            row["bands"][band] |= {
                "wins": float(np.mean(ours > theirs)),
                "ties": float(np.mean(ours == theirs)),
                "difference": float(np.mean(ours - theirs)),
                "p": p,
            }
            pending.append((row["bands"][band], p))
    for (cell, _), adjusted in zip(pending, holm([p for _, p in pending]), strict=True):
        cell["p_holm"] = float(adjusted)
