"""What a command says on standard error before it works."""

import logging
from types import SimpleNamespace

import click
import pytest

from flows.cli import cli
from ssi_core.command.process import announce


@pytest.mark.parametrize(("verbose", "level"), [(False, logging.WARNING), (True, logging.DEBUG)])
def test_messages_that_inform_come_with_verbose_alone(verbose, level, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for name in ("ssi_core", "flows"):
        monkeypatch.setattr(logging.getLogger(name), "handlers", [])
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
    announce(SimpleNamespace(root=None, verbose=verbose))

    assert [handler.level for handler in logging.getLogger("ssi_core").handlers] == [level]


@pytest.mark.parametrize(("words", "ends"), [("up", False), ("serve", False), ("ops ui", False),
                                             ("fit", True), ("demo", True)])  # fmt: skip
def test_a_verb_that_ends_shows_that_it_is_at_work(words, ends):
    verb = cli
    for word in words.split():
        verb = verb.get_command(click.Context(verb), word)
    assert verb.ends is ends
