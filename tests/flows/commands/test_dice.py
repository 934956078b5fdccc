"""Hashed views and DICE neighbours from the command line."""

import json

import pytest

from flows.cli import cli
from ssi_core.command.verb import run
from tests.flows.project import SUBJECTS

VIEWS = "raw,cfh:k=3,words=12,ngrams=1,weighting=sublinear:10,sublinear:5,cfh:k=2,words=12,ngrams=2"


@pytest.fixture(scope="module")
def task(project):
    made = ["data", "features", project / "corpus", "--out", project / "hashed", "--words", "all"]
    assert run(cli, [*map(str, made), "--views", VIEWS]) == 0
    return project / "hashed"


@pytest.fixture
def ssi(ssi, tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    return ssi


def test_views_are_split_where_a_name_begins(task):
    said = json.loads((task / "artefact.json").read_text())["configuration"]["views"]
    assert said == [
        "counts",
        "cfh:k=2,words=12,ngrams=2",
        "cfh:k=3,words=12,ngrams=1,weighting=sublinear:10",
        "raw",
        "sublinear:5",
    ]


def test_words_of_the_same_documents_for_each_word(ssi, task):
    asked = ("lab", "neighbours", task, "engine", "moon", "--dice", "-k", 3)
    code, found, _ = ssi(*asked)
    assert code == 0
    assert [hit["asked"] for hit in found["results"]] == ["engine"] * 3 + ["moon"] * 3
    assert {h["title"] for h in found["results"][:3]} <= set(SUBJECTS[0].split())
    assert all(0 < hit["score"] <= 1 for hit in found["results"])
    again = ssi(*asked, "--frequent", 2)[1]["results"]
    assert len({hit["title"] for hit in again}) <= 2


def test_words_of_the_same_documents_for_a_run_of_words(ssi, task):
    subject = SUBJECTS[1].split()
    codes = {
        f"{a} {b}": ssi("lab", "neighbours", task, f"{a} {b}", "--dice")
        for a in subject
        for b in subject
    }
    found = {run: said["results"] for run, (code, said, _) in codes.items() if code == 0}
    assert len(found) > 3
    assert {hit["title"] for hits in found.values() for hit in hits} <= set(subject)
    assert all(len(hits) == 2 for hits in found.values())


def test_a_person_reads_a_list_for_each_word(task, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path))
    assert run(cli, ["lab", "neighbours", str(task), "engine", "moon", "--dice", "-k", "2"]) == 0
    lines = capsys.readouterr()[0].splitlines()
    assert [lines[0], lines[4]] == ["engine", "moon"]
    assert len(lines) == 8


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("xyzzy", "not every word of it is in the vocabulary"),
        ("engine xyzzy", "not every word of it is in the vocabulary"),
        ("", "not every word"),
        ("car moon", "fewer than 5 documents"),
        ("car car car", "--views cfh:k=5,words=30000,ngrams=3"),
    ],
)
def test_what_is_not_known_is_said(ssi, task, word, said):
    code, _, log = ssi("lab", "neighbours", task, word, "--dice")
    assert code == 3
    assert said in log
