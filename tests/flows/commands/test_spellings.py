"""Old spellings of verbs and options: refused with the new one, which works when it is typed."""

import re
import shlex

import click
import pytest

from flows.cli import cli
from ssi_core.command.spellings import OPTIONS, REMOVED, VERBS, renewed
from ssi_core.command.verb import run
from tests.robust.verbs import command_of

pytestmark = pytest.mark.usefixtures("own_root")

ROWS = [(verb, old, new) for verb, names in OPTIONS.items() for old, new in names.items()]


def said(words, capsys):
    """Run a command that is refused; return the command that the message has in its place."""
    assert run(cli, words) == 2
    error = " ".join(capsys.readouterr().err.split())
    return shlex.split(re.search(r"spelling is an old one\. Type: ssi (.*)$", error)[1])


def options_of(verb):
    command = command_of(verb)
    return {
        name
        for param in command.get_params(click.Context(command))
        for name in (*param.opts, *param.secondary_opts)
    }


@pytest.mark.parametrize(("old", "new"), VERBS.items(), ids=VERBS)
def test_an_old_verb_is_refused_with_the_new_one_which_works(old, new, capsys):
    assert new.split()[1:] == [{"reproduce": "pipeline"}.get(old, old)]
    assert old not in cli.list_commands(click.Context(cli))
    typed = said([old, "--help"], capsys)
    assert typed == [*new.split(), "--help"]
    assert run(cli, typed) == 0


@pytest.mark.parametrize(("verb", "old", "new"), ROWS, ids=[" ".join(row[:2]) for row in ROWS])
def test_an_old_option_is_refused_with_the_new_one_which_is_there(verb, old, new, capsys):
    assert old not in options_of(verb)
    assert new.split()[0] in options_of(verb)
    assert said([*verb.split(), "x", old, "y"], capsys) == [*verb.split(), "x", *new.split(), "y"]


@pytest.mark.parametrize(("old", "instead"), REMOVED.items(), ids=REMOVED)
def test_what_is_gone_is_refused_with_what_does_its_work(old, instead, capsys):
    verb, *option = old.split()
    assert run(cli, [verb, "x", *(f"{name}=5" for name in option)]) == 2
    assert instead in " ".join(capsys.readouterr().err.split())


def test_both_are_renewed_at_once_behind_options_of_the_command(capsys):
    typed = ["--json", "index", "model", "--no-texts", "--task=a b"]
    new = ["data", "index", "model", "--without-texts", "--task=a b"]
    assert said(typed, capsys) == new
    assert renewed(new) == new


def test_a_word_that_never_was_a_verb_or_an_option_is_refused_as_ever(capsys):
    for words in (["sing"], ["data", "sing"], ["search", "m", "t", "--sing"]):
        assert run(cli, words) == 2
        assert "No such" in capsys.readouterr().err
