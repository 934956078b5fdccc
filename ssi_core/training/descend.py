"""The training loop: sweeps, early stopping with the best parameters restored, checkpoints.

Early stopping watches the rank loss of held-out pairs and prefers parameters close to the start
(journal paper, sections 2.3.1 and 4.5); the start itself is a candidate.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ssi_core import files, store
from ssi_core.types import Watch

log = logging.getLogger(__name__)


class Trainee(Protocol):
    """What the loop trains."""

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Live arrays, changed in place: parameters and the state of the sampler."""
        ...

    def sweep(self, triples: int) -> Mapping[str, float]:
        """Train on so many triples; ``train/...`` metrics."""
        ...

    def error(self) -> float:
        """Validation error now."""
        ...

    def observed(self) -> Mapping[str, float]:
        """Further metrics now, for the curves alone."""
        ...


@dataclass
class Progress:
    """Where a training stands; saved with each checkpoint.

    ``triples`` drawn so far, ``best`` validation error and the ``best_at`` triples it was reached
    at, ``waited`` validations since, ``seconds`` of sweeps (validation not counted), ``curve`` of
    (step, metrics) so far, ``resumed_at`` triples of the checkpoint that it went on from.
    """

    triples: int = 0
    best: float = float("inf")
    best_at: int = 0
    waited: int = 0
    seconds: float = 0.0
    curve: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    resumed_at: int = 0


def descend(
    trainee: Trainee,
    *,
    epoch: int,
    budget: int,
    patience: int,
    watch: Watch | None = None,
    checkpoint: Path | None = None,
) -> Progress:
    """Train until the budget is spent or validation stops improving; restore the best parameters.

    Parameters
    ----------
    epoch : triples between two validations
    budget : triples at most
    patience : validations without improvement before the end
    watch : told ``train/...``, ``val/rank_loss`` and what the trainee observes at each validation,
        of which ``val/rank_loss`` alone decides anything; a call that goes on from a
        checkpoint tells it of those before, too
    checkpoint : directory that holds the state after each validation; a call that finds it there
        goes on from it, and with one thread ends with the same bits as a call without a break

    Returns
    -------
    Progress
    """
    best = {name: array.copy() for name, array in trainee.arrays.items()}
    progress = _resume(trainee, best, checkpoint)
    if progress is None:
        progress = Progress(best=trainee.error())
        progress.curve.append((0, {"val/rank_loss": progress.best}))
    for point in progress.curve:
        _tell(watch, *point)
    while progress.triples < budget and progress.waited < patience:
        triples = min(epoch, budget - progress.triples)
        started = time.perf_counter()
        metrics = dict(trainee.sweep(triples))
        progress.seconds += time.perf_counter() - started
        progress.triples += triples
        if not all(np.isfinite(value) for value in metrics.values()):
            log.warning("training diverged after %d triples; the best is kept", progress.triples)
            break
        error = trainee.error()
        if error < progress.best:
            progress.best, progress.best_at, progress.waited = error, progress.triples, 0
            _copy(trainee.arrays, best)
        else:
            progress.waited += 1
        metrics |= {"val/rank_loss": error, **trainee.observed()}
        progress.curve.append((progress.triples, metrics))
        _tell(watch, *progress.curve[-1])
        if checkpoint is not None:
            _save(checkpoint, trainee.arrays, best, progress)
    _copy(best, trainee.arrays)
    return progress


def _tell(watch: Watch | None, step: int, metrics: Mapping[str, float]) -> None:
    if watch is not None:
        watch(step, metrics)


def _copy(source: Mapping[str, NDArray[Any]], target: Mapping[str, NDArray[Any]]) -> None:
    for name, array in source.items():
        target[name][...] = array


def _save(
    checkpoint: Path,
    live: Mapping[str, NDArray[Any]],
    best: Mapping[str, NDArray[Any]],
    progress: Progress,
) -> None:
    """Write the state beside the last one, then swap: a kill leaves one of the two whole."""
    new, old = (
        checkpoint.with_name(checkpoint.name + ".new"),
        checkpoint.with_name(checkpoint.name + ".old"),
    )
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
    new.mkdir(parents=True)
    for kind, arrays in (("live", live), ("best", best)):
        for name, array in arrays.items():
            np.save(new / f"{kind}-{name}.npy", array, allow_pickle=False)
    store.write_json(new / "progress.json", asdict(progress))
    if checkpoint.exists():
        checkpoint.rename(old)
    new.rename(checkpoint)
    shutil.rmtree(old, ignore_errors=True)


def _resume(
    trainee: Trainee, best: Mapping[str, NDArray[Any]], checkpoint: Path | None
) -> Progress | None:
    if checkpoint is None:
        return None
    old = checkpoint.with_name(checkpoint.name + ".old")
    if not checkpoint.exists() and old.exists():
        old.rename(checkpoint)
    if not (checkpoint / "progress.json").exists():
        return None
    with files.reading(checkpoint, "Remove it, and the training begins anew."):
        for kind, arrays in (("live", trainee.arrays), ("best", best)):
            for name, array in arrays.items():
                array[...] = store.load_array(checkpoint / f"{kind}-{name}.npy")
        progress = Progress(**files.read_object(checkpoint / "progress.json"))
    progress.resumed_at = progress.triples
    log.info("training goes on from %d triples", progress.triples)
    return progress
