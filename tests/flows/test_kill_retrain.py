"""``kill -9`` of ``ssi retrain`` at random moments, then the same command again.

``SSI_KILLS`` kills in all (default 3); ``SSI_KILLS_SEED`` draws the moments.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.corpora import topical, write_corpus

REPOSITORY = Path(__file__).parents[2]
KILLS = int(os.environ.get("SSI_KILLS", "3"))
SEED = int(os.environ.get("SSI_KILLS_SEED", "1"))

TABLE = """
name = "killed-retrainings"
title = "One row"

[[rows]]
label = "U'V + I"
model = "bilinear"
dimensions = 20
rates = [0.1]
budget = 200000
epoch = 20000
patience = 100
search_budget = 100
"""

pytestmark = [pytest.mark.slow, pytest.mark.kill]


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """Start a retraining of a registered model, in one root."""
    place = tmp_path_factory.mktemp("killed")
    corpus = write_corpus(place / "corpus", *topical())
    (place / "table.toml").write_text(TABLE)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SSI_", "PREFECT_"))}

    def begin(name, *verb):
        words = verb or ("retrain", str(place / "table.toml"), "--corpus", str(corpus))
        command = [sys.executable, "-m", "flows.cli", *words, "--name", name, "--json"]
        return subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=clean | {"SSI_ROOT": str(place / "root")},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    return begin


def answer(process):
    out, log = process.communicate(timeout=900)
    assert process.returncode == 0, log[-2000:]
    return json.loads(out)


def test_a_killed_night_leaves_the_registry_whole(start):
    began = time.monotonic()
    whole = answer(start("undisturbed"))
    seconds = time.monotonic() - began
    assert (whole["outcome"], whole["version"]) == ("promote", "1")
    draw = random.Random(SEED)
    for n in range(KILLS):
        # The first seconds load libraries; what matters comes late.
        moment = seconds * draw.uniform(0.3, 1.0)
        name = f"killed-{n}"
        process = start(name)
        time.sleep(moment)
        killed = process.poll() is None
        if killed:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        before = answer(start(name, "champions"))
        print(f"{moment:.1f} of {seconds:.1f} s: killed {killed}, then {before['champion']}")
        assert before["champion"] in (None, "1")
        found = answer(start(name))
        assert (found["outcome"], found["version"]) == ("promote", "1")
        changes = answer(start(name, "champions"))["changes"]
        assert [(change["version"], change["done"]) for change in changes] == [("1", True)]
