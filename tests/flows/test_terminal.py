"""What a person sees of a verb on a terminal of 80 columns: states of the screen, and no times."""

import os
import re
import sys

import pytest

from ssi_core.command.failures import DONE
from ssi_core.command.library import library
from ssi_core.command.verb import run
from tests.terminals import shown_by

BAR = re.compile("[━╸╺]{3}")
RECORD = re.compile("INFO|WARNING|DEBUG")


@pytest.fixture
def shown(tmp_path, monkeypatch):
    """What `shown_by` returns of a verb, in an empty folder with an empty home."""
    for name in ("COLUMNS", "LINES", "NO_COLOR", "SSI_ROOT"):
        monkeypatch.delenv(name, raising=False)
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "home").mkdir()
    assert run(library, ["data", "sample", "own", "--size", "120", "--out", str(work)]) == DONE

    def call(*words):
        command = [sys.executable, "-m", "flows.cli", *words]
        return shown_by(command, cwd=work, env={**os.environ, "HOME": str(tmp_path / "home")})

    return call


def lines_with(pattern, states):
    return [line for state in states for line in state.splitlines() if pattern.search(line)]


FIT = (
    *("fit", "articles.jsonl", "--links", "links.csv", "--out", "model"),
    *("--defaults", "--budget", "20000"),
)


@pytest.mark.slow
def test_a_fit_is_at_work_with_a_bar_from_its_first_moment_and_leaves_its_result(shown):
    code, states = shown(*FIT)

    assert code == 0, states[-1]
    assert {"fit", "read", "task", "compare"} <= {
        line.split()[0] for line in lines_with(BAR, states)
    }
    assert next(n for n, state in enumerate(states) if BAR.search(state)) <= 2
    assert any(re.search(r" \d:\d\d$", line) for line in lines_with(BAR, states))
    assert lines_with(RECORD, states) == []
    assert not BAR.search(states[-1])
    assert states[-1].endswith("Model model, with its index.")


@pytest.mark.slow
def test_records_of_a_verbose_fit_stand_above_its_bars_on_lines_of_their_own(shown):
    code, states = shown(*FIT, "--verbose")

    assert code == 0, states[-1]
    assert lines_with(BAR, states)
    records = lines_with(RECORD, states)
    assert any(line.startswith("INFO ssi_core") for line in records)
    assert all(RECORD.match(line) and not BAR.search(line) for line in records)
    assert lines_with(re.compile(r"\b0 B\b"), states) == []


def test_a_verb_that_fails_leaves_its_message_alone(shown):
    code, states = shown("fit", "articles.jsonl", "--links", "clicks.toml", "--out", "model")

    assert code == 3
    said = [line for line in states[-1].splitlines() if line]
    assert said[0].startswith("ssi: root")
    assert any(line.startswith("ssi: bad input:") for line in said)
    assert not lines_with(BAR, states[-1:])
