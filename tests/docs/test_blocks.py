"""Every block that a page prints is run by a test, or stands in `not_run.toml` with the reason."""

from __future__ import annotations

import json
import re
import tomllib

import click
import pytest

from flows.cli import cli
from ssi_core.experiment import load_table
from tests.face import test_pages
from tests.flows import (
    test_collection_page,
    test_documented_commands,
    test_own_page,
    test_query_logs_page,
)
from tests.flows.commands import test_completion
from tests.flows.pages import NOT_RUN, PAGES, REPOSITORY, command_lines, commands, every_block
from tests.guests.click_logs import test_query_logs, test_ubi

RUNNERS = (
    test_documented_commands,
    test_own_page,
    test_pages,
    test_collection_page,
    test_completion,
    test_query_logs,
    test_query_logs_page,
    test_ubi,
)
MADE = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
WRITTEN = {"docs/bad-input.md"}
"""Pages whose blocks a program has printed."""
CHECKED = [page for page in PAGES if page not in WRITTEN]
BLOCKS = [(page, block) for page in CHECKED for block in every_block(page)]
KINDS = {"", "sh", "python", "toml", "json", "yaml", "text", "math", "html", "css", "js", "sql"}


def of_kind(kind):
    """Parameters of a test: each block of a kind, with its page."""
    return [
        pytest.param(page, block, id=f"{page}: {block.heading}")
        for page, block in BLOCKS
        if block.kind == kind
    ]


def shell_blocks(page):
    """Blocks of commands; examples of markers are none."""
    return [block for block in commands(page) if "<!--" not in block.text]


def run_by_tests():
    """Blocks (page, text) that a test runs, and the targets of make that the checks run."""
    sections = {section for module in RUNNERS for section in module.RUNS}
    run = {(page, block.text) for page, heading in sections for block in commands(page, heading)}
    return run | {
        (page, block.text)
        for page in CHECKED
        for block in shell_blocks(page)
        if all(words[0] == "make" and " ".join(words) in MADE for words in command_lines(block))
    }


def test_no_block_of_commands_escapes():
    run = run_by_tests()
    there = {(page, block.first) for page in CHECKED for block in shell_blocks(page)}
    excused = {(page, first) for page, reasons in NOT_RUN.items() for first in reasons}
    escaped = [
        f"{page}: {block.first}"
        for page in CHECKED
        for block in shell_blocks(page)
        if (page, block.text) not in run and (page, block.first) not in excused
    ]
    assert not escaped, "no test runs these: add them to STORIES of test_documented_commands.py"
    assert excused <= there, "remove these from not_run.toml"
    reasons = [reason for reasons in NOT_RUN.values() for reason in reasons.values()]
    assert all(reasons)
    for named in re.findall(r"[\w/-]+\.(?:py|md)", " ".join(reasons)):
        assert (REPOSITORY / named).is_file(), f"not_run.toml names {named}, which is not there"


def test_blocks_have_a_kind_that_a_test_knows():
    assert {block.kind for _, block in BLOCKS} <= KINDS
    assert {page for page, block in BLOCKS if block.kind == "python"} == {
        str(page.relative_to(REPOSITORY)) for page in test_pages.PAGES
    }


def parsed_by(command, words):
    """Let a command of the library read its words, and run nothing."""
    with command.make_context(command.name, list(words)) as context:
        if isinstance(command, click.Group):
            _, verb, rest = command.resolve_command(context, context._protected_args + context.args)
            parsed_by(verb, rest)


@pytest.mark.parametrize("page", CHECKED)
def test_options_of_every_printed_command_are_there(page, monkeypatch):
    # Whether a file is there is not asked.
    monkeypatch.setattr(click.Path, "convert", lambda self, value, *_: value)
    for block in shell_blocks(page):
        for words in command_lines(block):
            if words[0] == "ssi":
                parsed_by(cli, words[1:])


@pytest.mark.parametrize(("page", "block"), of_kind("toml"))
def test_printed_toml_is_right(page, block, tmp_path):
    values = tomllib.loads(block.text)
    if not values.keys() & {"rows", "extends", "model"}:
        return  # the map of a click log: test_query_logs.py reads logs with it
    head = "" if "name" in values else 'name = "example"\ntitle = "An example"\n'
    head += '[[rows]]\nlabel = "a row"\n' if "model" in values else ""
    (tmp_path / "table.toml").write_text(head + block.text)
    table = load_table(tmp_path / "table.toml", REPOSITORY / "flows" / "tables")
    assert all(table.views(task) for task in table.tasks)


@pytest.mark.parametrize(("page", "block"), of_kind("json"))
def test_printed_json_is_json(page, block):
    for line in block.text.splitlines():
        json.loads(line)
