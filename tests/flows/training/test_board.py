"""Progress of worker processes on a terminal of 80 columns."""

from __future__ import annotations

import io
import logging
import re
import sys
import threading

import numpy as np
import pytest

from flows.training import board
from flows.training.bars import shown_board
from flows.training.workers import Workers
from ssi_core.command.bars import Bars, _Bar
from ssi_core.command.screen import Screen
from ssi_core.command.text import TerminalHandler, count
from ssi_core.command.verb import progress
from ssi_core.face.progress import left_of

LABEL = "A row whose label is rather long, with [i]markup[/i] and \x1b[31m in it, to say the least"


class Terminal(io.StringIO):
    """What is written on it, and an event once a text has been."""

    def __init__(self, wanted=""):
        super().__init__()
        self.wanted, self.written = wanted, threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        size = super().write(text)
        if self.wanted in screen(self.getvalue()):
            self.written.set()
        return size


def screen(text):
    """What a terminal shows of a text, each frame anew: without colours and movements."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "\n")


@pytest.fixture
def terminal(monkeypatch):
    """Standard error as a terminal of so many columns."""

    def make(columns=80, wanted=""):
        there = Terminal(wanted)
        monkeypatch.setattr(sys, "stderr", there)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("LINES", "24")
        monkeypatch.setenv("TERM", "xterm")
        return there

    return make


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv(board.VARIABLE, str(tmp_path))
    return tmp_path


def test_a_watch_posts_triples_of_the_budget_and_the_validation_loss(place):
    seen = []
    watch = board.watched(lambda *point: seen.append(point), "row", 500_000)
    assert board.lines(place) == [{"name": "row", "fraction": None, "message": "begins"}]
    watch(120_000, {"train/hinge": 1.0, "val/rank_loss": 0.0162})
    message = "120k of 500k triples, validation loss 1.62 %"
    assert board.lines(place) == [{"name": "row", "fraction": 0.24, "message": message}]
    watch(600_000, {"part_1/val/rank_loss": np.float32(0.5)})
    assert board.lines(place)[0]["fraction"] == 1.0
    assert board.lines(place)[0]["message"].endswith("loss 50.00 %")
    assert [step for step, _ in seen] == [120_000, 600_000]
    unlimited = board.watched(lambda *point: None, "other", None)
    unlimited(1000, {})
    assert board.lines(place)[0] == {"name": "other", "fraction": None, "message": "1k triples"}
    board.take_off("row")
    with board.posted("stage", "at work"):
        assert [line["name"] for line in board.lines(place)] == ["other", "stage"]
    assert [line["name"] for line in board.lines(place)] == ["other"]


def test_nothing_is_written_where_nobody_looks(tmp_path, monkeypatch):
    monkeypatch.delenv(board.VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    with board.posted("stage", "at work"):
        board.post("row", 0.5, "half")
    monkeypatch.setenv(board.VARIABLE, str(tmp_path / "gone"))
    board.post("row", 0.5, "half")
    assert list(tmp_path.iterdir()) == []


def test_a_line_of_a_worker_process_is_seen_here(place):
    with Workers(1) as workers:
        workers.run("form", board.post, "row", 0.5, "half")
    assert board.lines(place) == [{"name": "row", "fraction": 0.5, "message": "half"}]


def test_a_damaged_line_is_left_out(place):
    board.post("row", 0.5, "half")
    (place / "x.json").write_text("{")
    assert len(board.lines(place)) == 1


@pytest.mark.parametrize("columns", [80, 50, 200])
def test_bars_survive_any_width_and_say_what_counts(columns, terminal):
    there = terminal(columns)
    with Bars() as shown:
        shown.show("12 rows", 0.25, "3 done, 0 failed")
        shown.show(LABEL, 0.24, "1.25M of 5M triples, validation loss 1.62 %")
        shown._bars.refresh()
    text = screen(there.getvalue())
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
        shown.keep({"second"})
        before = len(there.getvalue())
        shown._bars.refresh()
        assert "first" not in there.getvalue()[before:]
        assert "second" in there.getvalue()[before:]


def test_what_is_posted_meanwhile_is_shown_with_logs_above_it(terminal):
    there = terminal(wanted="half of it")
    logger = logging.getLogger("tests.board")
    handler = TerminalHandler(logging.WARNING)
    logger.addHandler(handler)
    logger.propagate = False
    try:
        with shown_board():
            board.post("row 1", 0.5, "half of it")
            assert there.written.wait(30)
            logger.warning("a row %s", LABEL)
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
    lines = screen(there.getvalue()).splitlines()
    # A line of its own, and not the end of a bar.
    assert any(line.startswith("WARNING tests.board: a row A row whose") for line in lines)
    assert max(map(len, lines)) <= 80
    assert "\x1b[?25h" in there.getvalue(), "the cursor is back"


def test_a_pipe_gets_no_bar(monkeypatch):
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    with shown_board():
        board.post("row", 0.5, "half")
    with progress("ingest") as on_progress:
        assert on_progress is None
    assert pipe.getvalue() == ""


def test_a_verb_of_its_own_has_the_same_bar(terminal):
    there = terminal(wanted="p[/i]ge 3")
    with progress("ingest") as on_progress:
        on_progress(0.3, "p[/i]ge 3 \x9b2J")
        assert there.written.wait(30)
    assert "ingest" in screen(there.getvalue())
    assert "\x9b" not in there.getvalue()


def test_the_time_that_is_left_counts_down_between_steps_and_begins_anew():
    bar = _Bar(None, began=0.0, first=0.0)
    assert bar.step(0.0, 10.0) is None
    assert bar.step(0.25, 25.0) == pytest.approx(75.0)
    assert bar.step(0.25, 35.0) == pytest.approx(65.0)
    assert bar.step(0.5, 60.0) == pytest.approx(60.0)
    # A training that went on from its checkpoint is as fast as what is seen of it.
    later = _Bar(None, began=0.0, first=0.8)
    assert later.step(0.8, 0.0) is None
    assert later.step(0.9, 10.0) == pytest.approx(10.0)
    # Another phase.
    assert later.step(0.0, 20.0) is None
    assert later.step(0.5, 30.0) == pytest.approx(10.0)
    assert later.step(0.5, 99.0) == 0.0


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(None, ""), (0.2, "0:00 left"), (125, "2:05 left"), (3725, "1:02:05 left")],
)
def test_time_is_said_shortly(seconds, said):
    assert left_of(seconds) == said


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
