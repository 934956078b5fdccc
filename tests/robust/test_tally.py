"""What the table of `make hostile` takes for a failure."""

import itertools
import signal

import pytest

from ssi_core.types import BadInput
from tests.robust import tally
from tests.robust.tally import Hangs, Table, alarm, attempt


@pytest.fixture
def table(monkeypatch):
    made = Table("made", tally.STRANGERS.outcomes, tally.STRANGERS.wrong, ("a", "b", "c"))
    monkeypatch.setattr(tally, "STRANGERS", made)
    return made


def test_wrong_outcomes_and_what_was_not_tried_are_failures(table):
    table.add("a", "refused")
    table.add("b", "raw")
    assert list(table.failures(whole=False)) == ["b: 1 raw"]
    assert list(table.failures(whole=True)) == ["b: 1 raw", "c: nothing was tried"]


def test_the_outcome_is_what_leaves_the_block(table, tmp_path):
    for error, outcome in ((BadInput, "refused"), (KeyError, "raw"), (Hangs, "crashed")):
        with pytest.raises(error), attempt("a"):
            raise error
        assert table.counts["a"][outcome] == 1
    with attempt("b") as seen:
        seen.status(413)
    for code, outcome in ((1, "raw"), (-11, "crashed")):
        with pytest.raises(AssertionError, match=outcome), attempt("b") as seen:
            seen.code(code)
    assert table.counts["b"] == {"refused": 1, "raw": 1, "crashed": 1}
    (tmp_path / "ran").touch()
    with pytest.raises(AssertionError, match="was run"), attempt("c", ran=tmp_path / "ran"):
        pass
    assert table.counts["c"] == {"run": 1}


def test_an_alarm_counts_what_is_computed_and_not_what_others_compute_meanwhile():
    with alarm(20):
        computing, lasting = map(signal.getitimer, (signal.ITIMER_PROF, signal.ITIMER_REAL))
    assert 0 < computing[0] < 21 < lasting[0]
    assert signal.getitimer(signal.ITIMER_PROF) == signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    with pytest.raises(Hangs), alarm(0.01):
        any(False for _ in itertools.repeat(0))
