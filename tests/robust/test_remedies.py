"""Remedies name verbs, options, arguments and calls that exist, in every message of the source."""

import ast
import inspect
import re
from functools import cache
from pathlib import Path

import click
import pytest

import ssi_core as ssi
from flows.cli import cli
from ssi_core.corpus.sources import SOURCES
from ssi_core.remedies import CALLS, SETTINGS
from tests.robust.verbs import command_of, verbs

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "ssi_core").rglob("*.py"), *(ROOT / "flows").rglob("*.py")])
VERBS = set(verbs())
GROUPS = {" ".join(verb.split()[:n]) for verb in VERBS for n in (1, 2)} - VERBS
FOREIGN = {
    "--memory-limit", "--nthreads", "--nworkers", "--no-prompt", "--all", "--host", "--watched",
    "--workers", "--artifacts-destination", "--type", "--error-unmatch", "--porcelain", "--no-",
}  # fmt: skip
"""Options of other programs."""
FUNCTIONS = {
    "model.index": ssi.SSI.index, "index.search": ssi.Index.search,
    "ssi.Task.of": ssi.Task.of, "ssi.fit": ssi.fit, "ssi.read": ssi.read,
}  # fmt: skip


@cache
def options_of(verb):
    command = command_of(verb)
    params = command.get_params(click.Context(command))
    return {flag for param in params for flag in (*param.opts, *param.secondary_opts)}


def arguments_of(function):
    return set(inspect.signature(function).parameters)


ANYWHERE = (
    arguments_of(ssi.read) | arguments_of(ssi.fit) | arguments_of(ssi.Index.export)
).union(*(SOURCES[name].model_fields for name in SOURCES))  # fmt: skip


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_is_an_option_of_its_verb_and_an_argument_in_python(name):
    setting = SETTINGS[name]
    assert f"--{name}" in options_of(setting.verb)
    if setting.argument:
        function = setting.call.partition("(")[0]
        known = ANYWHERE if function == "{}" else arguments_of(FUNCTIONS[function])
        assert setting.argument in known
    if setting.also:
        assert any(f"--{setting.also}" in options_of(verb) for verb in VERBS)


@pytest.mark.parametrize("verb", CALLS)
def test_a_step_is_a_verb_and_a_call_in_python(verb):
    call = CALLS[verb]
    assert set(re.findall(r"--[a-z-]+", call.rest)) <= options_of(verb)
    assert callable(FUNCTIONS[call.function])


def called(nodes, *names):
    """Yield the calls of some functions."""
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            yield node


def texts(nodes):
    """Yield the texts of a file without its docstrings, with # for what is put into them."""
    others = {id(one) for node in nodes if isinstance(node, ast.JoinedStr)
              for one in ast.walk(node) if one is not node}  # fmt: skip
    others |= {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if id(node) in others:
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(
                one.value if isinstance(one, ast.Constant) else "#" for one in node.values
            )


@cache
def flags():
    """All options that there are."""
    return {flag for verb in VERBS for flag in options_of(verb)} | {"--help", "--version"} | FOREIGN


def verb_of(words):
    """Return the longest beginning of some words that is a verb or a group."""
    for n in range(len(words), 0, -1):
        if (name := " ".join(words[:n])) in VERBS | GROUPS:
            return name
    return None


def unknown(text):
    """Yield what a text names of the command that does not exist."""
    for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]+", text):
        if flag not in flags():
            yield flag
    for typed in re.findall(r"(?:'|\(|Type: )ssi ([a-z][^'()`]*)", text):
        verb = verb_of(re.findall(r"^[a-z-]+(?: [a-z-]+)*", typed)[0].split())
        if verb is None:
            yield f"ssi {typed}"
        elif verb in VERBS:
            wrong = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", typed)) - options_of(verb)
            yield from (f"ssi {verb} {flag}" for flag in wrong - {"--help"})


def test_every_remedy_in_a_message_is_one_that_exists():
    wrong = {}
    for path in FILES:
        nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        found = [
            name
            for call in called(nodes, "typed", "typed_call")
            for name, known in ((call.args[0], SETTINGS if call.func.id == "typed" else CALLS),)
            if isinstance(name, ast.Constant) and name.value not in known
        ]
        found += [
            one.arg
            for call in called(nodes, "typed_call")
            for one in call.keywords
            if one.arg != "of" and one.arg not in SETTINGS
        ]
        if path.name != "spellings.py":  # old ones
            found += [name for text in texts(nodes) for name in unknown(text)]
        if found:
            wrong[str(path.relative_to(ROOT))] = found
    assert wrong == {}


def test_a_remedy_that_does_not_exist_is_found():
    assert [*unknown("Say so: --colunm text=NAME. Make one: 'ssi data featurs'.")] == [
        "--colunm"
    ] + ["ssi data featurs"] * ("data" not in GROUPS)
    assert [*unknown("Read it: 'ssi search MODEL --to x' or (ssi nosuch)")] == [
        "ssi search --to",
        "ssi nosuch",
    ]


def test_the_command_has_the_verbs_that_are_walked():
    assert {"fit", "search", "data ingest table"} <= VERBS
    assert isinstance(cli, click.Group)
