"""What a command says on standard error before it works."""

import logging
from types import SimpleNamespace

import pytest

from ssi_core.command.process import announce


@pytest.mark.parametrize(("verbose", "level"), [(False, logging.WARNING), (True, logging.DEBUG)])
def test_messages_that_inform_come_with_verbose_alone(verbose, level, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for name in ("ssi_core", "flows"):
        monkeypatch.setattr(logging.getLogger(name), "handlers", [])
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
    announce(SimpleNamespace(root=None, verbose=verbose))

    assert [handler.level for handler in logging.getLogger("ssi_core").handlers] == [level]
