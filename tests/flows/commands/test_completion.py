"""What Tab completes in a shell."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flows.cli import cli
from ssi_core.command.verb import run
from tests.flows.pages import commands

RUNS = [("docs/commands.md", "Completion")]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        (["ssi", "re"], ["related", "retrain"]),
        (["ssi", "data", "fe"], ["features"]),
        (["ssi", "fit", "--bud"], ["--budget"]),
    ],
)
def test_the_documented_line_lets_bash_complete(typed, found):
    (line,) = commands(*RUNS[0])
    words = " ".join(typed)
    program = f"""{line.text}
        complete -p ssi
        COMP_WORDS=({words}) COMP_CWORD={len(typed) - 1}
        _ssi_completion ssi
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    paths = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", program], env={**os.environ, "PATH": paths},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.splitlines()[1:] == found


def test_the_help_begins_with_the_first_command_to_type(capsys):
    assert run(cli, ["--help"]) == 0
    assert capsys.readouterr().out.startswith("Usage: ssi fit articles.jsonl --links links.csv ")
