"""Curves of hashers over the length of the code, and sign tests against self-taught hashing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import bdtr

from ssi_core.evaluation.significance import holm
from ssi_core.guests.codes.base import FittedHasher, Hasher
from ssi_core.guests.codes.labelled import LabelledTexts
from ssi_core.guests.codes.measures import TITLES, average_precision, ball_measures
from ssi_core.guests.codes.words import Words
from ssi_core.recorder import RowRecorder
from ssi_core.types import Float64, Int32, Progress

TESTED = ("precision", "recall", "accuracy")
"""Measures of which the differences are tested."""


Recorded = Callable[[Hasher], AbstractContextManager[RowRecorder | None]]
"""``recorded(hasher)``: opens the run of a hasher."""


@dataclass(frozen=True)
class Curve:
    """Measures of a hasher for each length of the code.

    Attributes
    ----------
    values : dict
        Length -> measure -> float64 (test texts,).
    facts : dict
        Facts of the training of the longest code.
    seconds : float
        CPU time of training and encoding.
    """

    values: dict[int, dict[str, Float64]]
    facts: dict[str, Any]
    seconds: float


@dataclass(frozen=True)
class Labelled:
    """Rows of texts, CSR (n, D), and their classes, int32 (n,)."""

    rows: sparse.csr_array
    labels: Int32


def compare(
    texts: LabelledTexts,
    hashers: Sequence[Hasher],
    *,
    lengths: Sequence[int] = (4, 8, 16, 32, 64),
    radius: int = 1,
    tested_bits: int = 16,
    baseline: str = "sth",
    recorded: Recorded | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measure the ball of each test text among the training texts, for each hasher and length.

    Parameters
    ----------
    texts : LabelledTexts
        Training and test texts with their classes.
    hashers : sequence of Hasher
        Hyper-parameters; their ``bits`` are not read.
    lengths : sequence of int
        Lengths of codes.
    radius : int
        Radius of the ball.
    tested_bits : int
        Length at which the hashers are tested against ``baseline``; no tests where it is not among
        the lengths.
    baseline : str
        Name of the hasher that the others are tested against.
    recorded : Recorded, optional
        Opens a run for each hasher.
    progress : Progress, optional
        Told the share that is done.

    Returns
    -------
    dict
        JSON values: the collection, and for each hasher its curve, facts and tests.
    """
    words = Words.of(texts.train.texts)
    train, test = (Labelled(words.rows(s.texts), s.labels) for s in (texts.train, texts.test))
    curves: dict[str, Curve] = {}
    runs: dict[str, str] = {}
    for number, hasher in enumerate(hashers):
        if progress is not None:
            progress(number / len(hashers), hasher.name)
        with nullcontext() if recorded is None else recorded(hasher) as run:
            curve = curve_of(hasher, train, test, sorted(lengths), radius)
            curves[hasher.name] = curve
            if run is not None:
                runs[hasher.name] = run.run_id
                for bits, values in curve.values.items():
                    run.watch(bits, {f"test/{n}": float(v.mean()) for n, v in values.items()})
                run.measured({"usage/cpu_seconds": curve.seconds})
                run.facts(curve.facts)
    tests = _tests(curves, baseline, tested_bits)
    return {
        "collection": texts.name,
        "classes": len(texts.classes),
        "train": len(texts.train),
        "test": len(texts.test),
        "words": len(words.stems),
        "radius": radius,
        "lengths": sorted(lengths),
        "tested_bits": tested_bits,
        "baseline": baseline,
        "measures": list(TITLES),
        "rows": [
            {
                "hasher": hasher.name,
                "parameters": _settings(hasher),
                "curve": {
                    str(bits): {name: float(one.mean()) for name, one in values.items()}
                    for bits, values in curves[hasher.name].values.items()
                },
                "facts": curves[hasher.name].facts,
                "cpu_seconds": round(curves[hasher.name].seconds, 1),
                **({"tests": tests[hasher.name]} if hasher.name in tests else {}),
                **({"run_id": runs[hasher.name]} if hasher.name in runs else {}),
            }
            for hasher in hashers
        ],
    }


def sign_test(a: Float64, b: Float64) -> dict[str, Any]:
    """Return the wins of each side, and p of the two-sided sign test; equal values are left out.

    Under the null hypothesis each of the n decided texts is a fair coin:
    ``p = min(1, 2 P(X <= min(wins, losses)))`` with X binomial of n and 1/2.

    Parameters
    ----------
    a, b : float64 (texts,)
        Values of two hashers on the same texts.
    """
    wins, losses = int(np.sum(a > b)), int(np.sum(a < b))
    n = wins + losses
    p = 1.0 if not n else min(1.0, 2 * float(bdtr(min(wins, losses), n, 0.5)))
    return {"wins": wins, "losses": losses, "p": p}


def _settings(hasher: Hasher) -> dict[str, Any]:
    return {name: value for name, value in vars(hasher).items() if name != "bits"}


def curve_of(
    hasher: Hasher, train: Labelled, test: Labelled, lengths: Sequence[int], radius: int = 1
) -> Curve:
    """Train a hasher on some texts, and measure its codes of others, for each length."""
    began = time.process_time()
    longest = replace(hasher, bits=lengths[-1]).fit(train.rows, train.labels)
    codes = {}
    for bits in lengths:
        fitted = longest if bits == lengths[-1] else _shorter(longest, bits, train)
        codes[bits] = fitted.codes, fitted.encode(test.rows)
    seconds = time.process_time() - began
    values = {
        bits: {
            **ball_measures(known, train.labels, asked, test.labels, radius),
            "map": average_precision(known, train.labels, asked, test.labels),
        }
        for bits, (known, asked) in codes.items()
    }
    return Curve(values, longest.facts, seconds)


def _shorter(longest: FittedHasher, bits: int, train: Labelled) -> FittedHasher:
    if longest.hasher.nested:
        return longest.shortened(bits)
    return replace(longest.hasher, bits=bits).fit(train.rows, train.labels)


def _tests(curves: Mapping[str, Curve], baseline: str, bits: int) -> dict[str, dict[str, Any]]:
    """Return hasher -> measure -> wins, losses, p, and p corrected by Holm over the hashers."""
    if baseline not in curves or bits not in curves[baseline].values:
        return {}
    others = [name for name in curves if name != baseline]
    tests: dict[str, dict[str, Any]] = {name: {} for name in others}
    for measure in TESTED:
        base = curves[baseline].values[bits][measure]
        results = [sign_test(curves[name].values[bits][measure], base) for name in others]
        adjusted = holm([one["p"] for one in results]) if results else ()
        for name, one, p in zip(others, results, adjusted, strict=True):
            tests[name][measure] = {**one, "p_holm": float(p)}
    return tests
