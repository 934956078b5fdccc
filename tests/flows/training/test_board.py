"""Progress of worker processes on a terminal of 80 columns."""

from __future__ import annotations

import io
import logging
import sys

import numpy as np
import pytest

from flows.training import board
from flows.training.bars import shown_board
from flows.training.workers import Workers
from ssi_core.command.text import TerminalHandler
from ssi_core.command.verb import progress
from tests.terminals import stripped

LABEL = "A row whose label is rather long, with [i]markup[/i] and \x1b[31m in it, to say the least"


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
    watch(600_000, {"val/part_1/rank_loss": np.float32(0.5)})
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
    lines = stripped(there.getvalue()).splitlines()
    # A line of its own, and not the end of a bar.
    assert any(line.startswith("WARNING tests.board: a row A row whose") for line in lines)
    assert max(map(len, lines)) <= 80
    assert "\x1b[?25h" in there.getvalue(), "the cursor is back"


def test_records_of_worker_processes_stand_above_the_bars(terminal):
    there = terminal(wanted="WARNING")
    with shown_board():
        with Workers(1) as workers:
            workers.run("form", logging.getLogger("ssi_core.x").warning, "a row %s", "fails")
        board.post("row 1", 0.5, "half of it")
        assert there.written.wait(30)
    assert "WARNING ssi_core.x: a row fails" in stripped(there.getvalue()).splitlines()


def test_a_pipe_gets_no_bar(monkeypatch):
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    with shown_board():
        board.post("row", 0.5, "half")
    with progress("ingest") as on_progress:
        assert on_progress is None
    assert pipe.getvalue() == ""
