"""Contestants in turn, medians over rounds, ratios within a round."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from statistics import median
from typing import Any, NamedTuple

PACKAGES = ("numpy", "numba", "polars", "lxml", "scikit-learn", "torch", "ir-measures")


class Contestant(NamedTuple):
    """One call does ``units`` of work."""

    run: Callable[[], object]
    units: float


@dataclass(frozen=True)
class Row:
    """A line of the table.

    Attributes
    ----------
    benchmark : what is compared with what
    unit : of the two speeds
    ours, peer : median speeds; None where the peer is missing
    ratio : median over the rounds of ours / peer
    floor, goal : least ratios; None where there is none
    note : what else is to be said, such as the peer that is missing
    """

    benchmark: str
    unit: str
    ours: float | None = None
    peer: float | None = None
    ratio: float | None = None
    floor: float | None = None
    goal: float | None = None
    note: str = ""


class PeerMissing(Exception):
    """A peer is not installed."""


def peer(module: str) -> Any:
    """Import a peer, or raise `PeerMissing` with its name."""
    try:
        return import_module(module)
    except ImportError as error:
        raise PeerMissing(f"{module} is not installed") from error


def cpu_seconds() -> float:
    """CPU time of this process, all its threads, and the children that it has waited for."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def speeds(
    contestants: Mapping[str, Contestant],
    rounds: int = 9,
    clock: Callable[[], float] = cpu_seconds,
    *,
    warm: bool = True,
) -> dict[str, list[float]]:
    """Units a second of each contestant, once a round; the first call of each is not counted.

    The order turns from round to round, so that none always follows the same other.
    """
    if warm:
        for contestant in contestants.values():
            contestant.run()
    found: dict[str, list[float]] = {name: [] for name in contestants}
    order = list(contestants)
    for _ in range(rounds):
        for name in order:
            start = clock()
            contestants[name].run()
            found[name].append(contestants[name].units / (clock() - start))
        order.append(order.pop(0))
    return found


def row(
    benchmark: str,
    unit: str,
    ours: list[float],
    theirs: list[float],
    *,
    floor: float | None = None,
    goal: float | None = None,
    note: str = "",
) -> Row:
    """Medians of speeds, and of their ratios within a round."""
    ratio = median(a / b for a, b in zip(ours, theirs, strict=True))
    return Row(benchmark, unit, median(ours), median(theirs), ratio, floor, goal, note)


def surroundings() -> dict[str, str]:
    """Versions, processor and load of the machine now."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "missing"
    found["cores"] = str(len(os.sched_getaffinity(0)))
    found["load"] = " ".join(f"{load:.2f}" for load in os.getloadavg())
    return found
