"""Two ``ssi fit`` at once on one root: the models of one alone, or a refusal that names it."""

import os
import subprocess
import sys

import pytest

from tests.corpora import topical, write_corpus
from tests.flows.machine import REPOSITORY
from tests.killing import contents
from tests.robust.killed import timeless

pytestmark = [pytest.mark.slow]

FIT = ["--query-type", "link", "--defaults", "--budget", "400"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("fits") / "corpus", *topical(60))


def start(root, corpus, out):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SSI_")}
    return subprocess.Popen(
        [sys.executable, "-m", "flows.cli", "--root", str(root), "fit", str(corpus), *FIT,
         "--out", str(out)],
        cwd=REPOSITORY, env=clean | {"NUMBA_DISABLE_JIT": "1"}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def fitted(root, corpus, *outs):
    """Fit several times at once; once more where one was told that another writes."""
    processes = [start(root, corpus, out) for out in outs]
    ends = [(process.communicate(timeout=300)[0], process.returncode) for process in processes]
    refused = 0
    for out, (said, code) in zip(outs, ends, strict=True):
        assert "Traceback" not in said
        if code:
            refused += 1
            assert (code, "is being written by process" in said) == (4, True), said
            process = start(root, corpus, out)
            said, _ = process.communicate(timeout=300)
            assert process.returncode == 0, said
    return [timeless(contents(out)) for out in outs], refused


@pytest.mark.parametrize("same", [False, True], ids=["two outputs", "one output"])
def test_two_at_once_make_what_one_makes(same, corpus, tmp_path, capsys):
    [alone], _ = fitted(tmp_path / "alone", corpus, tmp_path / "one")
    outs = (tmp_path / "a", tmp_path / ("a" if same else "b"))
    both, refused = fitted(tmp_path / "root", corpus, *outs)
    with capsys.disabled():
        print(f"\ntwo at once: {refused} of 2 told that the other writes")
    assert both == [alone, alone]
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
