"""The process that compiles kernels trains to the bits of one that finds them on disk.

What only kernels call lies in each of them, and once more by itself; which machine code runs
depends on what was compiled here. So the copies must round alike.
"""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

TRAININGS = """
import hashlib

import numpy as np

import ssi_core as ssi
from ssi_core.estimator import parse
from ssi_core.models import MODELS

SMALL = {"rates": [0.1], "epoch": 2000, "budget": 4000, "search_budget": 500, "margin": 0.3}
MAPS = SMALL | {"dimensions": 20}
ROWS = [
    ("half_transductive", MAPS | {"functional_budget": 500}),
    ("half_transductive", MAPS | {"functional_budget": 500, "tied": False, "warp": True}),
    ("bilinear", MAPS | {"diagonal": "learned", "step": "block"}),
    ("word_pairs", SMALL | {"form": "dense", "view": "sublinear:10", "step": "block"}),
]
docs = ssi.read_sample(200)
task = ssi.Task.of(docs, relevant="link", views=["sublinear:50", "sublinear:10", "raw"], words=1000)
for name, settings in ROWS:
    fitted = parse(MODELS[name], settings).fit(task.data, np.random.default_rng(7))
    digest = hashlib.sha256()
    for _, array in sorted(fitted.arrays.items()):
        digest.update(np.ascontiguousarray(array).tobytes())
    print(name, digest.hexdigest())
"""


def test_the_process_that_compiles_trains_to_the_bits_of_the_next(tmp_path):
    environment = {**os.environ, "SSI_CACHE": str(tmp_path / "cache")}
    compiling, finding = (
        subprocess.run(
            [sys.executable, "-c", TRAININGS],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(2)
    )
    assert finding == compiling
    assert len(finding.splitlines()) == 4
