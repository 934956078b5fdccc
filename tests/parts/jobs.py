"""Parts that tests make, and count: a worker imports this module by its name."""

import os
import secrets
import signal
import threading
import time
from pathlib import Path

import numpy as np

from ssi_core.experiment.training import train_part
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


def powers(number, place, halting=None):
    """Write powers of a random matrix, unless they are there; return their sum.

    The first who takes the part `halting` writes its process into a file and waits to be killed.
    """
    out = Path(place, f"part-{number}")
    if (out / MANIFEST).exists():
        return float(np.load(out / "powers.npy").sum())
    noted = Path(place, "executions")
    noted.mkdir(exist_ok=True)
    first = not any(noted.glob(f"{number}-*"))
    (noted / f"{number}-{secrets.token_hex(4)}").touch()
    if number == halting and first:
        halted = noted / "halted.new"
        halted.write_text(str(os.getpid()))
        halted.rename(noted / "halted")
        time.sleep(120)
    matrix = np.random.default_rng(number).standard_normal((40, 40)) / 10
    found = np.stack([np.linalg.matrix_power(matrix, n) for n in range(1, 20)])
    with once(out, MANIFEST) as (draft, _):
        np.save(draft / "powers.npy", found)
    return float(found.sum())


def executions(place):
    """Return how often each part was begun, by its number."""
    names = [file.name for file in Path(place, "executions").glob("*-*")]
    return {number: sum(name.startswith(f"{number}-") for name in names) for number in PARTS}


def contents(place):
    """Return the bytes of what the parts have written."""
    return {
        str(file.relative_to(place)): file.read_bytes() for file in sorted(place.glob("part-*/*"))
    }


def train_and_die(part, notes):
    """Train a row; the process that is first kills itself when it has kept a checkpoint."""
    first = not any(notes.glob("begun-*"))
    (notes / f"begun-{secrets.token_hex(4)}").touch()

    def die_with_the_checkpoint():
        while not any(part.kept.glob("*/state*/progress.json")):
            time.sleep(0.002)
        os.kill(os.getpid(), signal.SIGKILL)

    if first:
        threading.Thread(target=die_with_the_checkpoint, daemon=True).start()
    train_part(part)
