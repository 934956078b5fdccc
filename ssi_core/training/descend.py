"""The training loop: sweeps, early stopping with the best parameters restored, checkpoints.

Early stopping watches the rank loss of held-out pairs and prefers parameters close to the start
(journal paper, sections 2.3.1 and 4.5); the start itself is a candidate.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ssi_core import files, integrity
from ssi_core.arrays import load_array
from ssi_core.training.clock import working
from ssi_core.types import BadInput, Watch

MANIFEST = "progress.json"
"""Of a checkpoint: how far the training is, and the digests of its arrays."""

log = logging.getLogger(__name__)

SAMPLERS = "states"
"""Name of the array that has the state of a sampler in each row, one a thread."""

PASSING = "theta"
"""Name of a large array that only the next sweep reads: in a checkpoint, but no part of the best.

It may lie in a file, and is not held in memory once more."""


class Diverged(BadInput):
    """Parameters, errors or losses of a training grew beyond all bounds."""


class Trainee(Protocol):
    """A model in training, as the loop sees it."""

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """Live arrays, changed in place: parameters and the state of the sampler."""
        ...

    def reseed(self, triples: int) -> None:
        """Seed the samplers anew: what was drawn so far was drawn by other threads."""
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


T = TypeVar("T", bound=Trainee)


@dataclass
class Progress:
    """State of a training; saved with each checkpoint.

    ``triples`` drawn so far, ``best`` validation error and the ``best_at`` triples it was reached
    at, ``waited`` validations since, ``seconds`` of sweeps, without validation and compilation,
    ``curve`` of (step, metrics) so far, ``resumed_at`` triples of the checkpoint that it went on
    from, ``reseeded_at`` triples at which it last went on with other threads, ``decayed`` how often
    the rate fell.
    """

    triples: int = 0
    best: float = float("inf")
    best_at: int = 0
    waited: int = 0
    seconds: float = 0.0
    curve: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    resumed_at: int = 0
    reseeded_at: int = 0
    decayed: int = 0


def descend(
    trainee: T,
    *,
    epoch: int,
    budget: int,
    patience: int,
    decays: int = 0,
    slow: Callable[[T], None] | None = None,
    measure: str = "rank_loss",
    rate: float | None = None,
    watch: Watch | None = None,
    checkpoint: Path | None = None,
) -> Progress:
    """Train until the budget is spent or validation stops improving; restore the best parameters.

    Parameters
    ----------
    epoch : int
        Triples between two validations.
    budget : int
        Triples at most.
    patience : int
        Validations without improvement before the end, or before the rate falls.
    decays : int
        How often the rate falls before the end; the training then goes on from its best.
    slow : callable or None
        Lower the rate of a trainee; with ``decays`` alone.
    measure : str
        What the validation error of a trainee is called.
    rate : float or None
        Learning rate, which the message of `Diverged` names.
    watch : callable or None
        Told ``train/...``, the validation error (``val/rank_loss``) and what the trainee observes
        at each validation, of which that error alone decides anything; a call that goes on from a
        checkpoint tells it of those before, too.
    checkpoint : Path or None
        Directory that holds the state after each validation; a call that finds it there goes on
        from it, and with one thread ends with the same bits as a call without a break; with other
        threads than before it goes on with samplers that are seeded anew.

    Returns
    -------
    Progress

    Raises
    ------
    Diverged
        The numbers grew beyond all bounds; nothing of the training is of use.
    """
    best = {name: array.copy() for name, array in trainee.arrays.items() if name != PASSING}
    error_name = f"val/{measure}"
    progress = _resume(trainee, best, checkpoint)
    if progress is None:
        progress = Progress(best=_error(trainee))
        _check(trainee, {error_name: progress.best}, 0, rate)
        progress.curve.append((0, {error_name: progress.best}))
    for point in progress.curve:
        _tell(watch, *point)
    for _ in range(progress.decayed):
        assert slow is not None
        slow(trainee)
    while progress.triples < budget:
        if progress.waited >= patience:
            if slow is None or progress.decayed >= decays:
                break
            _copy({n: array for n, array in best.items() if n != SAMPLERS}, trainee.arrays)
            slow(trainee)
            progress.waited, progress.decayed = 0, progress.decayed + 1
        triples = min(epoch, budget - progress.triples)
        with working() as clock:
            metrics = dict(_swept(trainee, triples))
        progress.seconds += clock.seconds
        progress.triples += triples
        error = _error(trainee)
        metrics[error_name] = error
        _check(trainee, metrics, progress.triples, rate)
        if error < progress.best:
            progress.best, progress.best_at, progress.waited = error, progress.triples, 0
            _copy(trainee.arrays, best)
        else:
            progress.waited += 1
        metrics |= trainee.observed()
        progress.curve.append((progress.triples, metrics))
        _tell(watch, *progress.curve[-1])
        if checkpoint is not None:
            _save(checkpoint, trainee.arrays, best, progress)
    _copy(best, trainee.arrays)
    if progress.best_at == 0 and watch is not None:
        log.warning("the start stayed the best: the rate may be too large, or the budget small")
    return progress


# A training that diverges is looked for after each sweep, and is no warning before.
_QUIET: Mapping[str, Any] = {"over": "ignore", "invalid": "ignore"}


def _swept(trainee: Trainee, triples: int) -> Mapping[str, float]:
    with np.errstate(**_QUIET):
        return trainee.sweep(triples)


def _error(trainee: Trainee) -> float:
    with np.errstate(**_QUIET):
        return trainee.error()


_LARGEST = 1e12
"""Of numbers beyond it float32 keeps no product: a training that has them learns no more."""


def converges(trainee: Trainee, metrics: Mapping[str, float]) -> bool:
    """Tell whether the numbers of a training, and what it measured, stay within bounds."""
    numbers = [
        array
        for name, array in trainee.arrays.items()
        if name != PASSING and array.dtype.kind == "f" and array.size
    ]
    # NaN is neither below nor above a bound.
    return all(abs(value) < _LARGEST for value in metrics.values()) and all(
        array.max() < _LARGEST and array.min() > -_LARGEST for array in numbers
    )


def _check(
    trainee: Trainee, metrics: Mapping[str, float], triples: int, rate: float | None
) -> None:
    if not converges(trainee, metrics):
        at = "" if rate is None else f" (rate {rate:g})"
        raise Diverged(
            f"training: diverged at triple {triples}{at}: its numbers grow beyond all bounds. "
            "Use a smaller rate, or a smaller start (init_std, alpha)."
        )


def _tell(watch: Watch | None, step: int, metrics: Mapping[str, float]) -> None:
    if watch is not None:
        watch(step, metrics)


def later(watch: Watch | None, triples: int) -> Watch | None:
    """Return a watch whose steps go on from some triples."""
    return None if watch is None else lambda step, metrics: watch(triples + step, metrics)


def _copy(source: Mapping[str, NDArray[Any]], target: Mapping[str, NDArray[Any]]) -> None:
    for name in source.keys() & target.keys():
        target[name][...] = source[name]


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
    integrity.seal_directory(new, MANIFEST, asdict(progress), durable=False)
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
    if not (checkpoint / MANIFEST).exists():
        return None
    remedy = f"Remove {checkpoint}, and the training begins anew."
    facts = integrity.read_manifest(checkpoint, MANIFEST, remedy)
    integrity.check_directory(checkpoint, MANIFEST, facts.pop("files"), remedy)
    with files.reading(checkpoint, remedy):
        progress = Progress(**facts)
        for kind, arrays in (("live", trainee.arrays), ("best", best)):
            for name, array in arrays.items():
                kept = load_array(checkpoint / f"{kind}-{name}.npy")
                if name == SAMPLERS and kept.shape != array.shape:
                    progress.reseeded_at = progress.triples
                elif kept.shape != array.shape:
                    raise ValueError(f"{name} has the shape {kept.shape}, expected {array.shape}")
                else:
                    array[...] = kept
    progress.resumed_at = progress.triples
    log.info("training goes on from %d triples", progress.triples)
    if progress.reseeded_at == progress.triples:
        trainee.reseed(progress.triples)
        log.warning("with other threads than before, so that its bits do not repeat")
    return progress
