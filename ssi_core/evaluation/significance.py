"""Paired tests of two rankers over the same queries, and the correction for many tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ssi_core.types import Float64

Alternative: TypeAlias = Literal["two-sided", "greater", "less"]

_LEAST_ROUNDS = 10_000
_ROUNDS_AT_ONCE = 512
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)


def rounds_of(tests: int) -> int:
    """Return the rounds with which a randomisation can decide each of a family of tests.

    No p is below 1 / (1 + rounds), and Holm multiplies the smallest one by the number of tests:
    with a hundred rounds a test the adjusted p can still be below .01.
    """
    return max(_LEAST_ROUNDS, 100 * tests)


def at_floor(p: float, rounds: int) -> bool:
    """Tell whether a p is the smallest that so many rounds give: an upper bound of the true one."""
    return p <= 1 / (1 + rounds)


def paired_randomisation(
    a: ArrayLike,
    b: ArrayLike,
    *,
    rounds: int = _LEAST_ROUNDS,
    seed: int = 0,
    alternative: Alternative = "two-sided",
) -> float:
    """Return p of the randomisation test on the mean of ``a - b`` (Smucker et al. 2007).

    Under the null hypothesis the sign of each query's difference is a fair coin. p is
    ``(1 + rounds at least as extreme) / (1 + rounds)``, never 0, the same for the same seed.

    Parameters
    ----------
    a, b : array
        A value per query, the same queries in the same order.
    rounds : int
        Random assignments of signs.
    seed : int
        Random seed of the signs.
    alternative : Alternative
        "greater" means that a is larger than b on the mean.
    """
    difference = _differences(a, b, alternative)
    total = difference.sum()
    # Sums that are equal but for rounding count as equal.
    slack = 1e-12 * np.abs(difference).sum()
    random = np.random.default_rng(seed)
    # A byte flips eight queries: their sum is looked up, for each byte there can be.
    size = -(-len(difference) // 8)
    eights = np.pad(difference, (0, 8 * size - len(difference))).reshape(size, 8)
    flipped = _BITS @ eights.T
    position = np.arange(size)
    extreme = 0
    for first in range(0, rounds, _ROUNDS_AT_ONCE):
        here = min(_ROUNDS_AT_ONCE, rounds - first)
        packed = random.integers(0, 256, (here, size), np.uint8)
        sums = total - 2 * flipped[packed, position].sum(axis=1)
        extreme += int(np.sum(_at_least(sums, total, alternative, slack)))
    return (1 + extreme) / (1 + rounds)


def paired_t(a: ArrayLike, b: ArrayLike, *, alternative: Alternative = "two-sided") -> float:
    """Return p of Student's paired t test.

    Differences that are all alike have no spread: p is 1 if they are 0, else 0 (for "greater" and
    "less" only in that direction). With one query nothing is known: p is 1.
    """
    from scipy.special import stdtr  # scipy.stats would take a CPU second to load

    difference = _differences(a, b, alternative)
    n = len(difference)
    mean, spread = difference.mean(), difference.std(ddof=1) if n > 1 else 0.0
    if n < 2 or (spread == 0 and mean == 0):
        return 1.0
    t = mean / (spread / np.sqrt(n)) if spread > 0 else np.copysign(np.inf, mean)
    if alternative == "two-sided":
        return float(2 * stdtr(n - 1, -abs(t)))
    return float(stdtr(n - 1, -t if alternative == "greater" else t))


def paired_equivalence(a: ArrayLike, b: ArrayLike, margin: float) -> float:
    """Return p of two one-sided paired t tests (Schuirmann 1987): no difference but for a margin.

    The null hypothesis is ``|mean(a - b)| >= margin``; with the standard error s of the mean d,

        p = max(P(T > (d + margin) / s), P(T < (d - margin) / s)),   T of n - 1 degrees.

    p is below alpha where the interval of confidence ``1 - 2 alpha`` lies inside of the margin.

    Parameters
    ----------
    a, b : array
        A value per query, the same queries in the same order.
    margin : float
        The largest difference that is none, fixed before the values are seen.
    """
    left = _with_margin(a, margin)
    return max(
        paired_t(left + margin, b, alternative="greater"),
        paired_t(left - margin, b, alternative="less"),
    )


def paired_beyond(a: ArrayLike, b: ArrayLike, margin: float) -> float:
    """Return p of the opposite of `paired_equivalence`: a difference of more than the margin.

    The null hypothesis is ``|mean(a - b)| <= margin``: twice the smaller p of a one-sided paired t
    test on each side.
    """
    left = _with_margin(a, margin)
    above = paired_t(left - margin, b, alternative="greater")
    below = paired_t(left + margin, b, alternative="less")
    return min(1.0, 2 * min(above, below))


def _with_margin(a: ArrayLike, margin: float) -> Float64:
    if not 0 < margin < np.inf:
        raise ValueError(f"margin={margin}, expected a number above 0")
    return np.asarray(a, dtype=np.float64)


def stratified_randomisation(
    pairs: Sequence[tuple[ArrayLike, ArrayLike]], *, rounds: int = _LEAST_ROUNDS, seed: int = 0
) -> float:
    """Return p of the randomisation test on a difference over several collections.

    The statistic is the mean over collections of the mean difference of each,

        d = 1/k sum_c 1/n_c sum_i (a_ci - b_ci),

    so that a collection counts the same with few and with many queries. The signs of queries are
    flipped within each. What is tested is about these collections, not about another one.

    Parameters
    ----------
    pairs : sequence of pairs of arrays
        For each collection two values per query, the same queries in the same order.
    rounds, seed : int
        As of `paired_randomisation`.
    """
    if not pairs:
        raise ValueError("pairs: none came, expected one for each collection")
    shares = [_differences(a, b, "two-sided") / len(np.asarray(a)) for a, b in pairs]
    together = np.concatenate(shares) / len(pairs)
    return paired_randomisation(together, np.zeros(len(together)), rounds=rounds, seed=seed)


def smallest_detectable(
    a: ArrayLike, b: ArrayLike, *, level: float = 0.05, power: float = 0.8
) -> float:
    """Return the difference of means that a paired test would probably have found.

    With the standard error s of the n differences and quantiles t of Student's distribution,

        (t_{n-1}(1 - level / 2) + t_{n-1}(power)) s.

    A true difference of that size is found with the given power by a two-sided t test at the level,
    without a correction for several tests. NaN with one query; 0 where all differences are alike.

    Parameters
    ----------
    a, b : array
        A value per query, the same queries in the same order.
    level : float
        Significance level of the test.
    power : float
        Probability that the difference is found.
    """
    from scipy.special import stdtrit

    difference = _differences(a, b, "two-sided")
    n = len(difference)
    if n < 2:
        return float("nan")
    error = difference.std(ddof=1) / np.sqrt(n)
    return float((stdtrit(n - 1, 1 - level / 2) + stdtrit(n - 1, power)) * error)


def is_clearly_higher(a: ArrayLike, b: ArrayLike) -> bool:
    """Tell whether a mean is higher by more than the standard error of the paired difference.

    The rule by which one setting takes the place of another: few queries choose little.

    Parameters
    ----------
    a, b : float (queries,)
        Values of the same queries, aligned.

    >>> is_clearly_higher([1.0, 0.5, 1.0], [0.5, 0.5, 0.4])
    True
    >>> is_clearly_higher([1.0, 0.0], [0.0, 0.9])
    False
    """
    gains = np.asarray(a, np.float64) - np.asarray(b, np.float64)
    return bool(gains.mean() > gains.std() / np.sqrt(len(gains)))


def holm(p_values: ArrayLike) -> Float64:
    """Return p-values adjusted for their number (Holm 1979), in the given order.

    The i-th smallest of m is multiplied by m - i + 1, made monotone and capped at 1.

    >>> holm([0.01, 0.04, 0.03]).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(adjusted, 1.0)


def _differences(a: ArrayLike, b: ArrayLike, alternative: Alternative) -> Float64:
    if alternative not in (known := get_args(Alternative)):
        raise ValueError(f"alternative={alternative!r}, expected one of {', '.join(known)}")
    left, right = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if left.ndim != 1 or left.shape != right.shape or len(left) == 0:
        raise ValueError(f"a, b: shapes {left.shape}, {right.shape}, expected one value a query")
    return left - right


def _at_least(
    sums: Float64, total: float, alternative: Alternative, slack: float
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if alternative == "greater":
        return sums >= total - slack
    if alternative == "less":
        return sums <= total + slack
    return np.abs(sums) >= abs(total) - slack
