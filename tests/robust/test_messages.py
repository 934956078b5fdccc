"""Every bad input, through the command: exit code, message, nothing left behind, no traceback."""

import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from ssi_core.command.library import library
from ssi_core.command.verb import run
from ssi_core.types import Refused
from tests.robust import cases, machine

MOUNTS = machine.mounts()
PAGE = (Path(__file__).parents[2] / "docs" / "bad-input.md").read_text(encoding="utf-8")
SHOWN = {
    what: (command, int(code), " ".join(printed.split()))
    for what, code, command, printed in re.findall(
        r"^\*\*(.+)\*\*, exit code (\d):\n\n    \$ ssi (.+)\n((?:    .+\n)+)", PAGE, re.MULTILINE
    )
}
"""What the page shows: name of a case -> command, exit code, what is printed."""


@pytest.mark.parametrize("case", cases.CASES, ids=lambda case: f"{case.theme}-{case}")
def test_a_bad_input_is_answered_in_words(case, here):
    if "small" in case.command and not MOUNTS:
        pytest.skip("this process may not mount a small disk")
    answer = cases.ask(case, here)
    assert answer.code == case.code, answer.log
    assert case.said in answer.printed
    assert "Traceback" not in answer.log
    if case.code in (cases.BAD, cases.REFUSED):
        assert len(answer.printed.splitlines()) == 1
        assert not (here / "new").exists()
    # Whole parts, from which the next run goes on, are kept for want of room alone.
    kept = [".new.work"] if case.code == cases.REFUSED else []
    assert set(cases.hidden(here)) <= set(kept)
    if (here / "left.json").exists():
        left = json.loads((here / "left.json").read_text())
        half = (".partial", ".old", "artefact.json")
        assert [path for path in left if path.endswith(half)] == []
    if str(case) in SHOWN:
        command, code, printed = SHOWN[str(case)]
        assert (command, code) == (case.command, answer.code)
        assert printed in " ".join(answer.printed.split())


def test_what_the_page_shows_is_tested():
    assert len(SHOWN) == PAGE.count(", exit code")
    named = Counter(map(str, cases.CASES))
    assert {named[what] for what in SHOWN} == {1}


def test_two_runs_do_not_write_one_comparison(here):
    from flows.tracking.database import written_alone

    with (
        written_alone("demo-1"),
        written_alone("demo-2"),
        pytest.raises(Refused, match=f"demo-1 is being written by process {os.getpid()}"),
        written_alone("demo-1"),
    ):
        raise AssertionError("a second run was let in")
    with written_alone("demo-1"):
        pass


def test_a_run_that_fails_leaves_what_was_whole(here):
    whole = {path: path.read_bytes() for path in (here / "corpus").rglob("*") if path.is_file()}
    (here / "dump.xml.bz2").write_bytes((here / "dump.xml.bz2").read_bytes()[:-40])
    again = "data ingest wikipedia dump.xml.bz2 --out corpus --force --processes 1"
    case = cases.Case("", "", again, cases.nothing, cases.BAD, "")
    assert cases.ask(case, here).code == cases.BAD
    found = {path: path.read_bytes() for path in (here / "corpus").rglob("*") if path.is_file()}
    assert found == whole
    assert cases.hidden(here) == []


def test_a_fit_names_what_was_typed_and_no_place_of_the_store(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    Path("two.csv").write_text("id,text\n1,car wheel\n2,moon sun\n")
    assert run(library, ["fit", "two.csv", "--out", "model"]) == 3
    said = capsys.readouterr().err
    assert "bad input: two.csv: its documents (2) are too few" in said
    assert ".ssi" not in said
    Path("q.csv").write_text("id,text\nq1,car\n")
    Path("r.csv").write_text("query,document,grade\nq1,99,1\n")
    words = ["fit", "two.csv", "--queries", "q.csv", "--qrels", "r.csv", "--out", "model"]
    assert run(library, words) == 3
    assert "names nothing of two.csv: '99', where two.csv has '1', '2'" in capsys.readouterr().err
