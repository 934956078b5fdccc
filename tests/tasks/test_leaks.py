"""Each rule of leakage is taken out of a copy, and its test is seen to fail there."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATCHES = Path(__file__).parent / "leaks"
FAILING = {
    "titles": "test_titles_that_are_asked_stand_in_no_field_of_their_document",
    "repeated_titles": "test_titles_that_are_asked_stand_in_no_field_of_their_document",
    "redirects": "test_titles_that_are_asked_stand_in_no_field_of_their_document",
    "wordings": "test_held_out_wordings_stand_in_no_field",
    "links": "test_anchors_of_held_out_links_stand_in_no_field",
    "anchors": "test_no_training_reads_the_words_of_links",
}
"""Patch -> the test that it makes fail."""


def test_every_patch_names_its_test():
    assert {path.stem for path in PATCHES.glob("*.patch")} == FAILING.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", FAILING)
def test_a_rule_that_is_taken_out_is_missed(tmp_path, name):
    for part in ("ssi_core", "tests/tasks", "tests/conftest.py", "tests/corpora.py",
                 "tests/fielded.py", "tests/terminals.py", "tests/trains.py",
                 "tests/robust/tally.py",
                 "pyproject.toml"):  # fmt: skip
        source, target = ROOT / part, tmp_path / part
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    patch = str(PATCHES / f"{name}.patch")
    subprocess.run(["git", "apply", patch], cwd=tmp_path, check=True, capture_output=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
               f"tests/tasks/test_fields.py::{FAILING[name]}"]  # fmt: skip
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "1 failed" in ended.stdout
    assert "AssertionError" in ended.stdout
