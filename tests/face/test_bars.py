"""Bars on a terminal: their width, their time, and one display for whoever shows something."""

import io

import pytest

from ssi_core.command.verb import progress
from ssi_core.face.bars import Bar, Bars, bars
from ssi_core.face.screen import Screen
from ssi_core.face.show import count, duration
from tests.terminals import stripped

LABEL = "A row whose label is rather long, with [i]markup[/i] and \x1b[31m in it, to say the least"


@pytest.mark.parametrize("columns", [80, 50, 200])
def test_bars_survive_any_width_and_say_what_counts(columns, terminal):
    there = terminal(columns)
    with Bars() as shown:
        shown.show("12 rows", 0.25, "3 done, 0 failed")
        shown.show(LABEL, 0.24, "1.25M of 5M triples, validation loss 1.62 %")
        shown._bars.refresh()
    text = stripped(there.getvalue())
    widths = {len(line) for line in text.splitlines()}
    assert max(widths) <= min(columns, 160)
    if columns >= 80:
        assert "1.25M of 5M triples, validation loss 1.62 %" in text
        assert "3 done, 0 failed" in text
        assert "━━━" in text
        assert ("…" in text) == (columns == 80)
    assert "\x1b[31m in" not in there.getvalue()
    if columns == 200:
        assert "[i]markup[/i] and \\u001b[31m in it" in text


def test_a_bar_goes_when_its_work_is_over(terminal):
    there = terminal()
    with Bars() as shown:
        shown.show("first", 1.0, "done")
        shown.show("second", None, "begins")
        shown.remove("first")
        before = len(there.getvalue())
        shown._bars.refresh()
        assert "first" not in there.getvalue()[before:]
        assert "second" in there.getvalue()[before:]


def test_a_verb_of_its_own_has_the_same_bar(terminal):
    there = terminal(wanted="p[/i]ge 3")
    with progress("ingest") as tell:
        tell(0.3, "p[/i]ge 3 \x9b2J")
        assert there.written.wait(30)
    assert "ingest" in stripped(there.getvalue())
    assert "\x9b" not in there.getvalue()


def test_the_time_that_is_left_counts_down_between_steps_and_begins_anew():
    bar = Bar(None, began=0.0, phase=0.0)
    bar.step(0.0, 10.0)
    assert bar.clock(10.0) == "0:10", "nobody knows what is left"
    bar.step(0.25, 25.0)
    assert bar.clock(25.0) == "1:15 left"
    assert bar.clock(35.0) == "1:05 left"
    assert bar.clock(101.0) == "1:41", "it takes longer"
    # A training that went on from its checkpoint is as fast as what is seen of it.
    later = Bar(None, began=0.0, phase=0.0, first=0.8)
    later.step(0.8, 0.0)
    later.step(0.9, 10.0)
    assert later.clock(10.0) == "0:10 left"
    # Another phase, of which a moment says nothing.
    later.step(0.0, 20.0)
    later.step(0.1, 21.0)
    assert later.clock(21.0) == "0:21"
    later.step(0.5, 30.0)
    assert later.clock(30.0) == "0:10 left"
    later.step(None, 31.0)
    assert later.clock(40.0) == "0:40"


@pytest.mark.parametrize(("seconds", "said"), [(0.2, "0:00"), (125, "2:05"), (3725, "1:02:05")])
def test_time_is_said_shortly(seconds, said):
    assert duration(seconds) == said


def test_a_work_within_one_of_the_same_name_has_its_line_and_gives_it_back(terminal):
    there = terminal()
    with progress("fit") as outer, bars() as display:
        outer(0.5, "outside")
        with progress("fit") as inner, progress("task"):
            inner(0.7, "inside")
            display._bars.refresh()
        before = len(there.getvalue())
        display._bars.refresh()
    frames = [frame.split() for frame in stripped(there.getvalue()[:before]).splitlines()]
    assert any(frame[:2] == ["fit", "inside"] for frame in frames)
    assert any(frame[:1] == ["task"] for frame in frames)
    last = stripped(there.getvalue()[before:])
    assert "fit" in last
    assert "inside" not in last
    assert "task" not in last


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0"), (950, "950"), (50_000, "50k"), (1_250_000, "1.25M"), (3e9, "3G")]
)
def test_numbers_are_said_shortly(number, said):
    assert count(number) == said


@pytest.mark.parametrize(("columns", "width"), [(80, 80), (140, 140), (400, 160)])
def test_a_wide_terminal_is_used_within_a_bound(columns, width, terminal):
    assert Screen(terminal(columns)).width == width


def test_a_pipe_has_100_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert Screen(io.StringIO()).width == 100
