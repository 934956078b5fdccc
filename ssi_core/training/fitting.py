"""Search the settings, then descend: what all models that learn from triples share.

A triple is drawn for a pair, so that as many triples as there are pairs are a pass over them. Few
pairs are passed over several times between two validations, for one that follows so soon says
little; of many pairs a validation comes before the pass is over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from ssi_core import integrity
from ssi_core.selection.grid import Trial, search
from ssi_core.training.descend import Trainee, converges, descend, working
from ssi_core.types import Watch

T = TypeVar("T", bound=Trainee)

Settings = Mapping[str, Any]

FEWEST, MOST = 10_000, 50_000
"""Triples between two validations, at least and at most."""
PASSES, WAITED = 5, 500_000
"""Passes, and triples, without improvement before the rate falls or the training ends."""


class Schedule(Protocol):
    """Hyper-parameters of a training; see `models.bilinear.bilinear.Bilinear`."""

    @property
    def rates(self) -> tuple[float, ...]: ...  # noqa: D102
    @property
    def rate_by(self) -> Literal["training", "validation"]: ...  # noqa: D102
    @property
    def epoch(self) -> int | Literal["passes"]: ...  # noqa: D102
    @property
    def budget(self) -> int: ...  # noqa: D102
    @property
    def patience(self) -> int | Literal["passes"]: ...  # noqa: D102
    @property
    def search_budget(self) -> int: ...  # noqa: D102


class Rhythm(NamedTuple):
    """Triples between two validations, and validations that a training waits."""

    epoch: int
    patience: int


def rhythm(epoch: int | Literal["passes"], patience: int | Literal["passes"], pairs: int) -> Rhythm:
    """Return what was given, and in the place of "passes" what suits a number of pairs.

    >>> rhythm("passes", "passes", 600)
    Rhythm(epoch=10000, patience=50)
    >>> rhythm("passes", "passes", 30_000)
    Rhythm(epoch=30000, patience=17)
    >>> rhythm("passes", "passes", 120_000)
    Rhythm(epoch=50000, patience=12)
    >>> rhythm(20_000, 5, 600)
    Rhythm(epoch=20000, patience=5)
    """
    triples = max(FEWEST, min(MOST, pairs)) if epoch == "passes" else epoch
    waited = -(-max(PASSES * pairs, WAITED) // triples) if patience == "passes" else patience
    return Rhythm(triples, waited)


def several(value: float | tuple[float, ...]) -> tuple[float, ...]:
    """Values to choose from: those given, or the one."""
    return value if isinstance(value, tuple) else (value,)


def fit(
    schedule: Schedule,
    grid: Mapping[str, tuple[float, ...]],
    begin: Callable[[Settings], T],
    errors: Callable[[T], tuple[float, float]],
    pairs: int,
    *,
    decays: int = 0,
    slow: Callable[[T], None] | None = None,
    measure: str = "rank_loss",
    validation_time: float | None = None,
    watch: Watch | None = None,
    checkpoint: Path | None = None,
) -> tuple[T, dict[str, Any]]:
    """Choose the rate and the settings of a grid by short trials, then train with early stopping.

    Parameters
    ----------
    schedule : Schedule
        Rates, budgets.
    grid : mapping
        Name -> values to choose from; no trial where there is no choice.
    begin : callable
        Settings, with the key "rate" among them -> a training at its start.
    errors : callable
        Training and validation error of a training as it stands.
    pairs : int
        Number of training pairs, which gives an epoch and a patience of "passes".
    decays, slow, measure, validation_time, watch, checkpoint : object
        See `descend`; what the trials chose is kept beside the checkpoint.

    Returns
    -------
    the training at its best parameters, and what was chosen and measured
    """
    kept = checkpoint and checkpoint.with_name(f"{checkpoint.name}.search")
    choice = _kept(kept)
    if choice is None:
        with working() as clock:
            settled, trials = _settle(schedule, grid, begin, errors)
        choice = {
            "settled": dict(settled),
            "trials": [asdict(trial) for trial in trials],
            "seconds": clock.seconds,
        }
        if kept and trials:
            kept.mkdir(parents=True, exist_ok=True)
            integrity.write_manifest(kept, _SEARCH, {"files": {}, **choice}, durable=False)
    trained = begin(choice["settled"])
    beat = rhythm(schedule.epoch, schedule.patience, pairs)
    progress = descend(
        trained,
        epoch=beat.epoch,
        budget=schedule.budget,
        patience=beat.patience,
        decays=decays,
        slow=slow,
        measure=measure,
        watched="val/rank_loss" if schedule.patience == "passes" else None,
        rate=choice["settled"]["rate"],
        validation_time=validation_time,
        watch=watch,
        checkpoint=checkpoint,
    )
    return trained, choice["settled"] | {
        "triples": progress.triples,
        "best_at": progress.best_at,
        f"validation_{measure}": progress.best,
        "seconds": progress.seconds,
        "search_seconds": choice["seconds"],
        "triples_per_second": progress.triples / max(progress.seconds, 1e-9),
        "trials": choice["trials"],
        **{name: n for name, n in beat._asdict().items() if getattr(schedule, name) == "passes"},
        **({"epoch": progress.epoch} if progress.epoch else {}),
        **({"decayed": progress.decayed} if progress.decayed else {}),
        **({"resumed_at": progress.resumed_at} if progress.resumed_at else {}),
        **({"reseeded_at": progress.reseeded_at} if progress.reseeded_at else {}),
    }


def _kept(search: Path | None) -> dict[str, Any] | None:
    if search is None or not (search / _SEARCH).exists():
        return None
    remedy = f"Remove {search}, and the search of the rate begins anew."
    return integrity.read_manifest(search, _SEARCH, remedy)


_SEARCH = "search.json"


def _settle(
    schedule: Schedule,
    grid: Mapping[str, tuple[float, ...]],
    begin: Callable[[Settings], T],
    errors: Callable[[T], tuple[float, float]],
) -> tuple[Settings, list[Trial]]:
    if len(schedule.rates) == 1 and all(len(values) == 1 for values in grid.values()):
        return {name: values[0] for name, values in grid.items()} | {"rate": schedule.rates[0]}, []

    def attempt(settings: Settings) -> tuple[float, float]:
        trained = begin(settings)
        with np.errstate(over="ignore", invalid="ignore"):
            if not converges(trained, trained.sweep(schedule.search_budget)):
                return float("inf"), float("inf")
            return errors(trained)

    best, trials = search(grid, schedule.rates, attempt, schedule.rate_by)
    return best.settings, trials
