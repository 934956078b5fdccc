"""Rows that have ended, as they are counted and said."""

import pytest

from flows.training import tally
from ssi_core.types import BadInput, Inapplicable


def test_rows_that_end_are_counted_and_errors_kept(monkeypatch):
    said, broken, out = [], BadInput("broken"), Inapplicable("nothing to learn from")
    monkeypatch.setattr(tally, "progress", lambda title: lambda *step: said.append((title, *step)))
    rows = tally.Tally(4)
    for name, error in (("a", None), ("b", broken), ("c", out), ("d", None)):
        rows.ended(name, error)
    assert rows.failed == {"b": broken, "c": out}
    assert [share for _, share, _ in said] == pytest.approx([0, 1 / 4, 2 / 4, 3 / 4, 1])
    assert said[0] == ("4 rows", 0.0, "0 done, 0 failed")
    assert said[3] == ("4 rows", 0.75, "3 done, 2 failed")
