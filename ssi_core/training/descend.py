"""The training loop: sweeps, early stopping with the best parameters restored, checkpoints.

Early stopping watches the rank loss of held-out pairs and prefers parameters close to the start
(journal paper, sections 2.3.1 and 4.5); the start itself is a candidate.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from numba.core import event
from numpy.typing import NDArray

from ssi_core import files
from ssi_core.training.best import Kept, in_bounds
from ssi_core.training.checkpoint import Checkpoint
from ssi_core.types import BadInput, Watch

log = logging.getLogger(__name__)

SAMPLERS = "states"
"""Name of the array that has the state of a sampler in each row, one a thread."""

_FEWEST = 10
"""Validations that a budget has room for where their time says how many triples are between."""


_FALL = 0.99
"""Share of its last value below which what is watched has fallen: smaller steps never end."""
_RISE = 1.5
"""Multiple of that value above which nothing is kept: few queries have a lucky mean at any time."""
_LOST = 5
"""What a validation above that multiple counts in the wait: before the rate falls few are below."""


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
    at, ``waited`` validations since, as they count, ``watched`` value of what is watched when it
    last reset these, ``seconds`` of sweeps, without validation and compilation, ``curve`` of (step,
    metrics) so far, ``resumed_at`` triples of the checkpoint that it went on from, ``reseeded_at``
    triples at which it last went on with other threads, ``decayed`` how often the rate fell,
    ``epoch`` triples between two validations; 0: not chosen yet.
    """

    triples: int = 0
    best: float = float("inf")
    best_at: int = 0
    waited: int = 0
    watched: float | None = None
    seconds: float = 0.0
    curve: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    resumed_at: int = 0
    reseeded_at: int = 0
    decayed: int = 0
    epoch: int = 0


def descend(
    trainee: T,
    *,
    epoch: int,
    budget: int,
    patience: int,
    decays: int = 0,
    slow: Callable[[T], None] | None = None,
    measure: str = "rank_loss",
    watched: str | None = None,
    rate: float | None = None,
    validation_time: float | None = None,
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
        Validations without improvement before the end, or before the rate falls; half as many once
        it has fallen.
    decays : int
        How often the rate falls before the end; the training then goes on from its best.
    slow : callable or None
        Lower the rate of a trainee; with ``decays`` alone.
    measure : str
        What the validation error of a trainee is called.
    watched : str or None
        Name of a metric whose fall, by a hundredth, is an improvement that is waited for, too. What
        is kept is the best by the validation error all the same, unless this metric is then half
        above its lowest value: such a validation counts as five in the wait.
    rate : float or None
        Learning rate, which the message of `Diverged` names.
    validation_time : float or None
        Share of the time that validation may take, above 0 and below 1: the triples between two
        validations are chosen once, before the first, as a multiple of ``epoch``, by the seconds of
        a validation and of an epoch; ten validations are left room for. `Progress.epoch` says what
        was chosen: with that ``epoch`` and no share, a training ends with the same bits.
    watch : callable or None
        Told ``train/...``, the validation error (``val/rank_loss``) and what the trainee observes
        at each validation, of which that error alone decides anything; a call that goes on from a
        checkpoint tells it of those before, too.
    checkpoint : Path or None
        Directory that holds the state after a validation: after each, as long as to write it takes
        no more than `checkpoint.SHARE` of the time. A call that finds it there
        goes on from it, and with one thread ends with the same bits as a call without a break; with
        other threads than before it goes on with samplers that are seeded anew.

    Returns
    -------
    Progress

    Raises
    ------
    Diverged
        The numbers grew beyond all bounds; nothing of the training is of use.
    """
    kept, error_name = Kept(trainee), f"val/{measure}"
    saved = None if checkpoint is None else Checkpoint(checkpoint)
    progress = _resume(trainee, kept, saved)
    if progress is None:
        progress = Progress(best=_error(trainee))
        _check(kept, {error_name: progress.best}, 0, rate)
        progress.curve.append((0, {error_name: progress.best}))
    for point in progress.curve:
        _tell(watch, *point)
    for _ in range(progress.decayed):
        assert slow is not None
        slow(trainee)
    state = _State(progress, kept, saved)
    while progress.triples < budget:
        if progress.waited >= (-(-patience // 2) if progress.decayed else patience):
            if slow is None or progress.decayed >= decays:
                break
            kept.restore(but={SAMPLERS})
            slow(trainee)
            progress.waited, progress.decayed = 0, progress.decayed + 1
        metrics = _epoch(trainee, kept, progress, epoch, budget, validation_time)
        kept.look()
        error = _error(trainee)
        metrics[error_name] = error
        _check(kept, metrics, progress.triples, rate)
        metrics |= trainee.observed()
        least = progress.watched
        lost = least is not None and metrics[str(watched)] > _RISE * least
        progress.waited += _LOST if lost else 1
        if error < progress.best and not lost:
            progress.best, progress.best_at, progress.waited = error, progress.triples, 0
            kept.improve()
        if watched is not None and (least is None or metrics[watched] < _FALL * least):
            progress.watched, progress.waited = metrics[watched], 0
        progress.curve.append((progress.triples, metrics))
        with state.whatever_happens():
            _tell(watch, *progress.curve[-1])
        state.save()
    kept.restore()
    return progress


def _epoch(
    trainee: Trainee, kept: Kept, progress: Progress, epoch: int, budget: int, share: float | None
) -> dict[str, float]:
    """Train until the next validation; measures of the last sweep."""
    left = budget - progress.triples
    if share is None or progress.epoch:
        return _sweep(trainee, progress, min(progress.epoch or epoch, left))
    # The first validation may have computed what later ones find.
    with working() as clock:
        _error(trainee)
        kept.converges(_LARGEST)
    before = progress.seconds
    metrics = _sweep(trainee, progress, min(epoch, left))
    seconds = clock.seconds * (1 - share) / share
    times = math.ceil(seconds / max(progress.seconds - before, 1e-9))
    progress.epoch = epoch * max(1, min(times, budget // (_FEWEST * epoch)))
    further = min(progress.epoch - epoch, budget - progress.triples)
    return _sweep(trainee, progress, further) if further > 0 else metrics


def _sweep(trainee: Trainee, progress: Progress, triples: int) -> dict[str, float]:
    with working() as clock, np.errstate(**_QUIET):
        metrics = dict(trainee.sweep(triples))
    progress.seconds += clock.seconds
    progress.triples += triples
    return metrics


@dataclass
class _State:
    """The state of a training and its checkpoint, which is written where it is due."""

    progress: Progress
    kept: Kept
    checkpoint: Checkpoint | None
    saved_at: int = -1

    def save(self, *, anyway: bool = False) -> None:
        """Write the state, unless it was written, if that is due."""
        if self.checkpoint is None or self.saved_at == self.progress.triples:
            return
        if anyway or self.checkpoint.due(self.kept):
            self.checkpoint.save(self.kept, self.progress.best_at, asdict(self.progress))
            self.saved_at = self.progress.triples

    @contextmanager
    def whatever_happens(self) -> Iterator[None]:
        """Write the state when a watch ends the training."""
        try:
            yield
        except BaseException:
            self.save(anyway=True)
            raise


# A training that diverges is looked for after each sweep, and is no warning before.
_QUIET: Mapping[str, Any] = {"over": "ignore", "invalid": "ignore"}


def _error(trainee: Trainee) -> float:
    with np.errstate(**_QUIET):
        return trainee.error()


_LARGEST = 1e12
"""Of numbers beyond it float32 keeps no product: a training that has them learns no more."""


def converges(trainee: Trainee, metrics: Mapping[str, float]) -> bool:
    """Tell whether the numbers of a training, and what it measured, stay within bounds."""
    return _measured_in_bounds(metrics) and in_bounds(trainee.arrays, _LARGEST, {})


def _measured_in_bounds(metrics: Mapping[str, float]) -> bool:
    return all(abs(value) < _LARGEST for value in metrics.values())


def _check(kept: Kept, metrics: Mapping[str, float], triples: int, rate: float | None) -> None:
    if not (_measured_in_bounds(metrics) and kept.converges(_LARGEST)):
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


def _resume(trainee: Trainee, kept: Kept, checkpoint: Checkpoint | None) -> Progress | None:
    facts = None if checkpoint is None else checkpoint.open()
    if checkpoint is None or facts is None:
        return None
    with files.reading(checkpoint.directory, checkpoint.remedy):
        progress = Progress(**facts)
        for name, shape in checkpoint.read(kept):
            if name != SAMPLERS:
                expected = trainee.arrays[name].shape
                raise ValueError(f"{name} has the shape {shape}, expected {expected}")
            progress.reseeded_at = progress.triples
    progress.resumed_at = progress.triples
    log.info("training goes on from %d triples", progress.triples)
    if progress.reseeded_at == progress.triples:
        trainee.reseed(progress.triples)
        log.warning("with other threads than before, so that its bits do not repeat")
    return progress


class Clock:
    """Seconds that a block of code has worked; 0 until it ends."""

    seconds = 0.0


@contextmanager
def working() -> Iterator[Clock]:
    """Measure a block of code without the compilation of numba's kernels in it."""
    clock, compiling = Clock(), event.TimingListener()
    started = time.perf_counter()
    with event.install_listener("numba:compile", compiling):
        yield clock
    elapsed = time.perf_counter() - started
    clock.seconds = elapsed - (compiling.duration if compiling.done else 0.0)
