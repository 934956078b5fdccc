"""Progress in a notebook, on a terminal, and where nobody looks."""

import io
import logging
import sys
from types import SimpleNamespace

from ssi_core.command.text import TerminalHandler
from ssi_core.face import progress


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


def terminal_of_40_columns(monkeypatch):
    """Take the place of standard error, which pytest sets anew for each test."""
    stream = io.StringIO()
    stream.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("COLUMNS", "40")
    return stream


def test_a_terminal_shows_a_line_and_clears_it(monkeypatch):
    terminal = terminal_of_40_columns(monkeypatch)
    assert report(monkeypatch) is not None
    assert terminal.getvalue() == "\r\x1b[K━━━╌╌╌╌╌╌╌╌╌  25% fit: a < b\r\x1b[K"


def test_a_line_tells_the_time_that_is_left_and_is_no_wider_than_the_terminal(monkeypatch):
    terminal = terminal_of_40_columns(monkeypatch)
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    with progress.shown("fit") as on_progress:
        now[0] += 30
        on_progress(0.25, "half")
        now[0] += 30
        on_progress(0.5, "a message that is wider than the terminal")
    first, second = terminal.getvalue().split(progress.CLEAR)[1:3]
    assert first.endswith("fit: half, 1:30 left")
    assert len(second) == 39


def test_a_record_of_the_log_stands_on_a_line_of_its_own(monkeypatch):
    terminal = terminal_of_40_columns(monkeypatch)
    monkeypatch.setattr(progress, "_BETWEEN", 0)
    with progress.shown("fit") as on_progress:
        on_progress(0.5, "half")
        TerminalHandler(logging.WARNING).handle(
            logging.LogRecord("ssi_core", logging.WARNING, "", 0, "a warning", None, None)
        )
    shown = terminal.getvalue()
    assert shown.endswith("half\r\x1b[KWARNING ssi_core: a warning\n\r\x1b[K")


def test_nothing_is_shown_where_nobody_looks(monkeypatch, capsys):
    assert report(monkeypatch) is None
    assert capsys.readouterr().err == ""
