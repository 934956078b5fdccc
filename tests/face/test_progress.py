"""Progress in a notebook, on a terminal, and where nobody looks."""

import sys
import time
from types import SimpleNamespace

import pytest

from ssi_core.face import progress
from ssi_core.face.estimator import _watch
from tests.terminals import stripped


def report(monkeypatch):
    monkeypatch.setattr(progress, "_BETWEEN", 0)
    with progress.shown("fit") as on_progress:
        if on_progress is not None:
            on_progress(0.25, "a < b")
    return on_progress


def test_a_notebook_shows_a_bar_and_clears_it(monkeypatch):
    drawn = []
    handle = SimpleNamespace(update=drawn.append)
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=True))
    display = SimpleNamespace(HTML=str, display=lambda value, display_id: handle)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    assert report(monkeypatch) is not None
    assert drawn == ['<progress max="1" value="0.250"></progress> fit: a &lt; b', ""]


def test_a_terminal_shows_a_bar_for_a_stage_and_for_what_it_does(terminal, monkeypatch):
    there = terminal()
    with progress.stage("task"):
        assert report(monkeypatch) is not None
    frames = stripped(there.getvalue()).splitlines()
    assert any(frame.startswith("task ") and "━━━" in frame for frame in frames)
    assert there.getvalue().endswith("\x1b[2K\x1b[?25h\r"), "all of it is gone, the cursor back"


def test_a_training_says_how_far_and_how_fast_it_is(monkeypatch):
    clock = iter((100.0, 100.0, 350.0))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    said = []
    watch = _watch([], lambda fraction, message: said.append((fraction, message)), 100_000)
    watch(0, {"val/map_error": 0.5})
    watch(25_000, {"train/hinge": 0.1, "val/map_error": 0.25})
    assert said[0] == (0.0, "0 triples, validation map error 0.5000")
    assert said[1][0] == 0.25
    assert said[1][1] == "25k triples (100/s), validation map error 0.2500"


def test_a_stage_leaves_no_output_in_a_notebook(monkeypatch):
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=True))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setattr(progress, "_notebook", lambda: pytest.fail("an output is made"))
    with progress.stage("task"):
        pass


def test_nothing_is_shown_where_nobody_looks(monkeypatch, capsys):
    assert report(monkeypatch) is None
    assert capsys.readouterr().err == ""
