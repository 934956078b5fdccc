"""Checkpoints of a training that knows which rows it changes, and of one that does not."""

import json
import shutil

import numpy as np
import pytest

from ssi_core.training import checkpoint as checkpoints
from ssi_core.training.descend import descend
from tests.killing import run_killed


class Walk:
    """Adds noise to a few rows in each sweep; its errors go up and down."""

    def __init__(self, *, marking, rows=200, changed=9):
        self.arrays = {
            "U": np.zeros((rows, 3), np.float32),
            "squares_U": np.zeros(rows, np.float32),
            "alpha": np.ones(1, np.float32),
            "states": np.zeros((1, 2), np.uint64),
        }
        self.fell, self._marking, self._few = [], marking, changed
        if marking:
            self._marks = np.zeros(rows, np.bool_)
            self.changed = self._changed

    def sweep(self, triples):
        states = self.arrays["states"]
        rng = np.random.default_rng([7, int(states[0, 0])])
        few = rng.integers(0, len(self.arrays["U"]), self._few)
        self.arrays["U"][few] += rng.standard_normal((self._few, 3)).astype(np.float32)
        self.arrays["squares_U"][few] += 1
        self.arrays["alpha"] += 0.5
        states += 1
        if self._marking:
            self._marks[few] = True
        return {"train/hinge": 1.0}

    def _changed(self):
        marks = self._marks.copy()
        self._marks[:] = False
        return {"U": marks, "squares_U": marks.copy()}

    def error(self):
        return float(np.sin(self.arrays["U"].sum()) + 2)

    def observed(self):
        return {}

    def slow(self):
        self.fell.append(1)

    def bits(self):
        return {name: array.tobytes() for name, array in self.arrays.items()}


SCHEDULE = {"epoch": 1, "budget": 40, "patience": 3, "decays": 5, "slow": Walk.slow}


class _Stopped(Exception):
    pass


@pytest.fixture(autouse=True)
def _a_save_after_each_validation(monkeypatch):
    """Save after each validation, however busy the machine is."""
    monkeypatch.setattr(checkpoints, "GRACE", 1e9)


def trained(checkpoint=None, stop=None, **walk):
    def watch(step, metrics):
        if step == stop:
            raise _Stopped

    one = Walk(**walk)
    progress = descend(one, checkpoint=checkpoint, watch=watch, **SCHEDULE)
    return one.bits(), progress


def whole(**walk):
    return trained(marking=False, **walk)


@pytest.mark.parametrize("changed", [1, 9, 150])
@pytest.mark.parametrize("marking", [False, True])
def test_a_training_that_is_stopped_again_and_again_ends_with_the_same_bits(
    marking, changed, tmp_path
):
    bits, progress = whole(changed=changed)
    assert progress.decayed > 0
    assert progress.triples > 10
    for stop in range(1, progress.triples, 2):
        with pytest.raises(_Stopped):
            trained(tmp_path / "state", stop, marking=marking, changed=changed)
    again, last = trained(tmp_path / "state", marking=marking, changed=changed)
    assert again == bits
    assert (last.best, last.best_at, last.triples) == (
        progress.best, progress.best_at, progress.triples
    )  # fmt: skip


@pytest.mark.parametrize("seldom", [2, 5])
def test_saves_that_are_left_out_change_no_bit(seldom, tmp_path, monkeypatch):
    asked = []

    def due(self, kept):
        asked.append(kept)
        return len(asked) % seldom == 0

    monkeypatch.setattr(checkpoints.Checkpoint, "due", due)
    bits, progress = whole()
    for stop in range(3, progress.triples, 7):
        with pytest.raises(_Stopped):
            trained(tmp_path / "state", stop, marking=True)
    again, last = trained(tmp_path / "state", marking=True)
    assert again == bits
    assert last.triples == progress.triples


def test_only_changed_rows_are_written_and_an_unchanged_best_is_not_written_again(tmp_path):
    with pytest.raises(_Stopped):
        trained(tmp_path / "state", 12, marking=True, changed=1, rows=20_000)
    state = json.loads((tmp_path / "state" / "progress.json").read_text())
    log = state["state"]["logs"]["U"]
    files = {path.name: path for path in (tmp_path / "state").glob("*.npy")}
    named = [
        file for one in state["state"]["logs"].values() for part in one["parts"] for file in part
    ]
    assert sorted(files) == sorted(named)
    assert len(log["parts"][0]) == 1
    assert {len(part) for part in log["parts"][1:]} == {2}
    assert 0 < log["best"] <= len(log["parts"])
    assert sum(files[file].stat().st_size for part in log["parts"] for file in part) < 3 * (
        files[log["parts"][0][0]].stat().st_size
    )


def test_what_the_log_of_an_array_keeps_is_bounded(tmp_path, monkeypatch):
    sizes = []
    save = checkpoints.Checkpoint.save

    def measured(self, kept, *rest):
        save(self, kept, *rest)
        sizes.append(sum(np.load(path).nbytes for path in self.directory.glob("U-*.npy")))

    monkeypatch.setattr(checkpoints.Checkpoint, "save", measured)
    trained(tmp_path / "state", marking=True)
    assert len(sizes) > 10
    assert max(sizes) <= 3 * 200 * 3 * 4


CODE = """
from pathlib import Path
from ssi_core.training import checkpoint
from tests.training.test_checkpoint import trained
checkpoint.GRACE = 1e9
trained(Path({state!r}), marking=True)
"""


@pytest.mark.parametrize(
    ("name", "nths"),
    [
        ("open* *.npy", [1, 3, 12, 23, 31]),
        ("write *.npy", [1, 2, 20]),
        ("open* *.json*", [1, 2, 7]),
        ("rename *", [1, 2, 5]),
        ("unlink *", [1, 2, 9]),
    ],
)
def test_a_kill_while_a_checkpoint_is_written_leaves_one_that_gives_the_same_bits(
    name, nths, tmp_path
):
    bits, _ = whole()
    for nth in nths:
        state = tmp_path / f"state-{nth}"
        run_killed(CODE.format(state=str(state)), state, name, nth)
        assert trained(state, marking=True)[0] == bits


def test_an_array_of_another_shape_is_refused(tmp_path):
    with pytest.raises(_Stopped):
        trained(tmp_path / "state", 3, marking=True)
    with pytest.raises(ValueError, match="U has the shape"):
        trained(tmp_path / "state", marking=True, rows=50)


def test_other_threads_go_on_and_their_checkpoints_are_read_again(tmp_path):
    with pytest.raises(_Stopped):
        trained(tmp_path / "state", 3, marking=True)

    class Two(Walk):
        def __init__(self):
            super().__init__(marking=True)
            self.arrays["states"] = np.zeros((2, 2), np.uint64)
            self.reseeded = []

        def reseed(self, triples):
            self.reseeded.append(triples)

    def stop(step, metrics):
        if step == 5:
            raise _Stopped

    two = Two()
    with pytest.raises(_Stopped):
        descend(two, checkpoint=tmp_path / "state", watch=stop, **SCHEDULE)
    assert two.reseeded == [3]
    states = two.arrays["states"].copy()
    three = Two()
    shutil.copytree(tmp_path / "state", tmp_path / "copy")
    with pytest.raises(_Stopped):
        descend(three, checkpoint=tmp_path / "copy", watch=stop, **SCHEDULE)
    assert three.reseeded == []
    np.testing.assert_array_equal(three.arrays["states"], states)


def test_saves_stay_within_their_share_of_the_time(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(checkpoints, "GRACE", 0.5)
    monkeypatch.setattr(checkpoints.time, "perf_counter", lambda: now[0])
    one = checkpoints.Checkpoint(tmp_path / "state")

    def save_of(seconds):
        def seal(facts):
            now[0] += seconds

        monkeypatch.setattr(one, "_seal", seal)

    from ssi_core.training.best import Kept

    kept = Kept(Walk(marking=True))
    save_of(2.0)
    assert one.due(kept)  # a small state, whose time is not known
    one.save(kept, 0, {})
    times = []
    for _ in range(1000):
        now[0] += 1
        if one.due(kept):
            times.append(now[0])
            one.save(kept, 0, {})
    spent = 2.0 * (1 + len(times))
    assert len(times) >= 5
    assert spent <= checkpoints.GRACE + checkpoints.SHARE * now[0] + 2.0
