"""Parts that tests make, and count: a worker imports this module by its name.

A training is imported by the parts that train: the others begin without it.
"""

import os
import secrets
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from unittest import mock

import numpy as np

from ssi_core.parts import once
from ssi_core.types import BadInput

PARTS = range(8)
MANIFEST = "sealed.json"


def add(item, told):
    return item + told, os.getpid()


def fail(item, told):
    if item == told:
        raise BadInput(f"item {item}")
    return item


def die(item):
    os._exit(1)


def die_of_three(item):
    if item == 3:
        os._exit(1)
    return item


def powers(number, place, killing=None, victim=None):
    """Write powers of a random matrix, unless they are there; return their sum.

    The first who takes the part `killing` kills its own process, or another.
    """
    out = Path(place, f"part-{number}")
    if (out / MANIFEST).exists():
        return float(np.load(out / "powers.npy").sum())
    noted = Path(place, "executions")
    noted.mkdir(exist_ok=True)
    first = not any(noted.glob(f"{number}-*"))
    (noted / f"{number}-{secrets.token_hex(4)}").touch()
    if number == killing and first:
        os.kill(victim or os.getpid(), signal.SIGKILL)
    matrix = np.random.default_rng(number).standard_normal((40, 40)) / 10
    found = np.stack([np.linalg.matrix_power(matrix, n) for n in range(1, 20)])
    with once(out, MANIFEST) as (draft, _):
        np.save(draft / "powers.npy", found)
    return float(found.sum())


def executions(path):
    """Return how often each part was begun, by its number."""
    names = [file.name for file in Path(path, "executions").glob("*-*")]
    return {number: sum(name.startswith(f"{number}-") for name in names) for number in PARTS}


def contents(path):
    """Return the bytes of what the parts have written."""
    return {
        str(file.relative_to(path)): file.read_bytes() for file in sorted(path.glob("part-*/*"))
    }


def train_and_die(part, notes):
    """Train a row; the process that is first kills itself when it has kept a checkpoint."""
    from ssi_core.experiment.training import train_part

    first = not any(notes.glob("begun-*"))
    (notes / f"begun-{secrets.token_hex(4)}").touch()

    def die_with_the_checkpoint():
        while not any(part.kept.glob("*/state*/progress.json")):
            time.sleep(0.002)
        os.kill(os.getpid(), signal.SIGKILL)

    if first:
        threading.Thread(target=die_with_the_checkpoint, daemon=True).start()
    train_part(part)


def trial(part, place, killing=None):
    """Do a trial or train a row, and note that it was begun, by its name.

    The first who does the trial `killing` kills its own process when it has kept a checkpoint.
    """
    from ssi_core.experiment.spread import make
    from ssi_core.training import descend

    name = trial_name(part)
    noted = place / "executions"
    noted.mkdir(exist_ok=True)
    first = not any(noted.glob(f"{name}-*"))
    (noted / f"{name}-{secrets.token_hex(4)}").touch()
    save = descend._State.save

    def saved(*args, **how):
        save(*args, **how)
        os.kill(os.getpid(), signal.SIGKILL)

    kills = first and name == killing
    with mock.patch.object(descend._State, "save", saved if kills else save):
        return make(part)


def trial_name(part):
    """Name a trial by its row, training and triples; a row by its label."""
    from ssi_core.experiment.spread import TrialPart

    if isinstance(part, TrialPart):
        return f"{part.row.label} {part.step.number}, {part.step.before} until {part.step.triples}"
    return part.label


def begun(path):
    """Return how often each trial, and each row, was begun."""
    names = [file.name for file in (path / "executions").glob("*-*")]
    return Counter(name.rpartition("-")[0] for name in names)
