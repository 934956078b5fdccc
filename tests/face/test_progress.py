"""Progress in a notebook, on a terminal, and where nobody looks."""

import io
import sys
from types import SimpleNamespace

from ssi_core.face import progress


def report(monkeypatch):
    monkeypatch.setattr(progress, "_BETWEEN", 0)
    with progress.shown("fit") as tell:
        if tell is not None:
            tell(0.25, "a < b")
    return tell


def test_a_notebook_shows_a_bar_and_clears_it(monkeypatch):
    drawn = []
    handle = SimpleNamespace(update=drawn.append)
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=True))
    display = SimpleNamespace(HTML=str, display=lambda value, display_id: handle)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    assert report(monkeypatch) is not None
    assert drawn == ['<progress max="1" value="0.250"></progress> fit: a &lt; b', ""]


def test_a_terminal_shows_a_line_and_clears_it(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    assert report(monkeypatch) is not None
    assert terminal.getvalue() == "\r\x1b[K 25% fit: a < b\r\x1b[K"


def test_nothing_is_shown_where_nobody_looks(monkeypatch, capsys):
    assert report(monkeypatch) is None
    assert capsys.readouterr().err == ""
