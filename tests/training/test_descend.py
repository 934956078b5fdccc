"""The training loop with a trainee whose errors are written down."""

import numpy as np
import pytest
from numba.core import event

from ssi_core.training import descend as module
from ssi_core.training.descend import Diverged, descend


class Scripted:
    """Its one parameter counts sweeps; its validation errors are a list."""

    def __init__(self, errors, hinges=None, spoilt=None):
        self.arrays = {"x": np.zeros(1), "y": np.zeros(2, np.float32)}
        self.spoilt = spoilt
        self.errors, self.hinges = errors, hinges or [1.0] * len(errors)
        self.swept = []

    def sweep(self, triples):
        self.swept.append(triples)
        self.arrays["x"] += 1
        if self.spoilt and len(self.swept) == self.spoilt[0]:
            self.arrays["y"][1] = self.spoilt[1]
        return {"train/hinge": self.hinges[int(self.arrays["x"][0])]}

    def error(self):
        return self.errors[int(self.arrays["x"][0])]

    def observed(self):
        return {}


def test_stops_after_patience_and_restores_the_best():
    trainee = Scripted([0.5, 0.4, 0.2, 0.3, 0.25, 0.1])
    progress = descend(trainee, epoch=10, budget=100, patience=2)
    assert trainee.swept == [10, 10, 10, 10]
    assert (progress.best, progress.best_at, progress.triples) == (0.2, 20, 40)
    assert trainee.arrays["x"][0] == 2


def test_the_last_epoch_is_what_the_budget_leaves():
    trainee = Scripted([0.5, 0.4, 0.3, 0.2])
    progress = descend(trainee, epoch=10, budget=25, patience=9)
    assert trainee.swept == [10, 10, 5]
    assert progress.triples == 25


def test_seconds_are_those_of_sweeps_without_compilation(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(event, "timer", lambda: now[0])

    class Compiling(Scripted):
        def sweep(self, triples):
            with event.trigger_event("numba:compile"):
                now[0] += 100 if not self.swept else 0
            now[0] += 2
            return super().sweep(triples)

        def error(self):
            now[0] += 30
            return super().error()

    progress = descend(Compiling([0.5, 0.4, 0.3]), epoch=10, budget=20, patience=9)
    assert progress.seconds == 4


def test_the_start_is_a_candidate():
    trainee = Scripted([0.1, 0.4, 0.3])
    assert descend(trainee, epoch=1, budget=2, patience=9).best_at == 0
    assert trainee.arrays["x"][0] == 0


@pytest.mark.parametrize("what", ["hinge", "error", np.nan, -np.inf, 1e20])
def test_a_training_that_diverges_says_where_and_with_which_rate(what, tmp_path):
    hinges, errors = [1.0, 1.0, 1.0, 1.0], [0.5, 0.4, 0.3, 0.2]
    if isinstance(what, str):
        (hinges if what == "hinge" else errors)[2] = np.nan
    trainee = Scripted(errors, hinges, spoilt=None if isinstance(what, str) else (2, what))
    with pytest.raises(Diverged, match=r"diverged at triple 20 \(rate 0.3\).*smaller rate"):
        descend(trainee, epoch=10, budget=30, patience=9, rate=0.3, checkpoint=tmp_path / "state")


class Slowed(Scripted):
    """Counts how often its rate fell, and where it then was."""

    def __init__(self, errors):
        super().__init__(errors)
        self.arrays["states"] = np.zeros(1)
        self.fell = []

    def sweep(self, triples):
        self.arrays["states"] += 1
        return super().sweep(triples)

    def slow(self):
        self.fell.append(int(self.arrays["x"][0]))


def test_the_rate_falls_where_the_training_would_end_and_it_goes_on_from_its_best():
    trainee = Slowed([0.5, 0.2, 0.3, 0.1, 0.4, 0.4])
    progress = descend(trainee, epoch=10, budget=100, patience=1, decays=2, slow=Slowed.slow)
    # Best after 1 sweep, worse after 2; from there again, at once worse; a second time.
    assert trainee.fell == [1, 1]
    assert progress.decayed == 2
    assert progress.triples == 40
    assert trainee.arrays["x"][0] == 1


def test_a_lower_rate_is_waited_for_half_as_long():
    schedule = {"epoch": 10, "budget": 200, "patience": 5, "slow": Slowed.slow}
    ends = [
        descend(Slowed([0.5, 0.2] + 20 * [0.3]), decays=decays, **schedule).triples
        for decays in (0, 1, 2)
    ]
    # One validation is better, five are not; three are not at the next rate, and at the last.
    assert ends == [60, 90, 120]


def test_a_slower_training_draws_other_triples_than_before():
    trainee = Slowed([0.5, 0.2, 0.3, 0.1, 0.4, 0.4])
    seen = []

    def slow(one):
        seen.append(float(one.arrays["states"][0]))

    descend(trainee, epoch=10, budget=100, patience=1, decays=1, slow=slow)
    assert seen == [2.0]


def test_a_break_does_not_change_a_training_whose_rate_fell(tmp_path):
    errors = [0.5, 0.2, 0.3, 0.1, 0.4, 0.4]
    settings = {"epoch": 10, "patience": 1, "decays": 2, "slow": Slowed.slow}
    descend(Slowed(errors), budget=20, checkpoint=tmp_path / "c", **settings)
    again = Slowed(errors)
    progress = descend(again, budget=100, checkpoint=tmp_path / "c", **settings)
    whole = descend(Slowed(errors), budget=100, **settings)
    assert (progress.triples, progress.best, progress.decayed) == (
        whole.triples, whole.best, whole.decayed
    )  # fmt: skip
    third = Slowed(errors)
    descend(third, budget=100, checkpoint=tmp_path / "c", **settings)
    assert len(third.fell) == 2


class Watched(Scripted):
    """Observes losses that are a list, too."""

    def __init__(self, errors, losses):
        super().__init__(errors)
        self.losses = losses

    def observed(self):
        return {"val/rank_loss": self.losses[int(self.arrays["x"][0])]}


STALLED = [0.5, 0.2, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3]


def test_a_loss_that_falls_by_a_hundredth_is_waited_for_and_the_best_error_kept():
    losses = [1.0, 0.9, 0.8, 0.7, 0.699, 0.698, 0.1, 0.1, 0.1]
    trainee = Watched(STALLED, losses)
    schedule = {"epoch": 10, "budget": 80, "patience": 2}
    progress = descend(trainee, watched="val/rank_loss", **schedule)
    # The loss falls until the third sweep, and too little then.
    assert (progress.triples, progress.best_at, progress.watched) == (50, 10, 0.7)
    assert trainee.arrays["x"][0] == 1
    assert descend(Watched(STALLED, losses), **schedule).triples == 30


def test_a_loss_that_falls_slowly_for_long_is_waited_for():
    losses = [0.996**n for n in range(9)]
    progress = descend(
        Watched(STALLED, losses), epoch=1, budget=8, patience=4, watched="val/rank_loss"
    )
    assert progress.triples == 8


def test_a_better_error_is_not_kept_where_the_loss_is_half_above_its_lowest():
    errors, losses = [1.0, 0.9, 0.7, 0.8, 0.6], [1.0, 0.5, 0.76, 0.74, 0.75]
    schedule = {"epoch": 10, "budget": 40, "patience": 9}
    progress = descend(Watched(errors, losses), watched="val/rank_loss", **schedule)

    assert (progress.best, progress.best_at) == (0.6, 40)
    progress = descend(
        Watched(errors[:4], losses), watched="val/rank_loss", **schedule | {"budget": 30}
    )
    assert (progress.best, progress.best_at) == (0.8, 30)
    assert descend(Watched(errors, losses), **schedule | {"budget": 20}).best == 0.7


def test_a_loss_half_above_its_lowest_counts_as_five_validations():
    losses = [1.0, 0.4, 0.61, 0.59, 0.59, 0.61, 0.61]
    schedule = {"epoch": 10, "budget": 60, "patience": 12}
    progress = descend(Watched(STALLED, losses), watched="val/rank_loss", **schedule)
    # None at first, then 5, 6, 7 and 12.
    assert (progress.triples, progress.best_at) == (50, 10)
    assert descend(Watched(STALLED, losses), **schedule).triples == 60


def test_a_break_does_not_change_what_is_waited_for(tmp_path):
    losses = [1.0, 0.9, 0.8, 0.7, 0.699, 0.698, 0.697, 0.1, 0.1]
    schedule = {"epoch": 10, "patience": 2, "watched": "val/rank_loss"}
    for budget in (10, 20, 30, 40, 80):
        progress = descend(
            Watched(STALLED, losses), budget=budget, checkpoint=tmp_path / "c", **schedule
        )
    assert progress.triples == 50


def timed(monkeypatch, sweep, validation):
    """A trainee on a clock of its own: seconds of ten triples, and of a validation."""
    now = [0.0]
    monkeypatch.setattr(module.time, "perf_counter", lambda: now[0])

    class Timed(Scripted):
        def sweep(self, triples):
            now[0] += sweep * triples / 10
            self.arrays["x"] += triples / 10 - 1
            return super().sweep(triples)

        def error(self):
            now[0] += validation
            return super().error()

    return Timed([1 / (1 + n) for n in range(201)])


@pytest.mark.parametrize(("validation", "times"), [(0.01, 1), (1.0, 9), (1.5, 14), (100.0, 20)])
def test_epochs_by_the_time_of_a_validation(validation, times, monkeypatch):
    """At a tenth of the time, a validation of a second needs nine seconds of sweeps."""
    one = timed(monkeypatch, 1.0, validation)
    progress = descend(one, epoch=10, budget=2000, patience=99, validation_time=0.1)
    assert progress.epoch == 10 * times
    assert [step for step, _ in progress.curve[:3]] == [0, 10 * times, 20 * times]
    assert progress.triples == 2000
    same = timed(monkeypatch, 1.0, validation)
    again = descend(same, epoch=progress.epoch, budget=2000, patience=99)
    assert [step for step, _ in again.curve] == [step for step, _ in progress.curve]
    assert again.best == progress.best
    assert again.epoch == 0


def test_what_was_chosen_by_time_is_kept_by_a_checkpoint(monkeypatch, tmp_path):
    def stop(step, metrics):
        if step == 180:
            raise KeyboardInterrupt

    state = tmp_path / "state"
    schedule = {"epoch": 10, "budget": 2000, "patience": 99, "validation_time": 0.1}
    one = timed(monkeypatch, 1.0, 1.0)
    with pytest.raises(KeyboardInterrupt):
        descend(one, watch=stop, checkpoint=state, **schedule)
    slower = timed(monkeypatch, 1.0, 50.0)
    progress = descend(slower, checkpoint=state, **schedule)
    assert progress.epoch == 90
    assert progress.resumed_at == 180
    assert {step % 90 for step, _ in progress.curve[:-1]} == {0}
