"""When a process looks for garbage: seldom, as modules make objects that stay."""

from __future__ import annotations

import atexit
import gc
from functools import cache

from ssi_core import system

_YOUNG = 100_000
"""Objects after which garbage is looked for: modules make hundreds of thousands that stay."""


@cache
def collect_seldom() -> None:
    """Look for garbage seldom, and not at the end of the process; for a process of our own.

    Python looks through all objects once more when it ends, half a second after Prefect or MLflow.
    What is left then goes with the process.
    """
    gc.set_threshold(_YOUNG)
    atexit.register(gc.freeze)


def collect_now() -> None:
    """Look for garbage, and give its memory back: between stages that need much for a while."""
    gc.collect()
    system.give_back()
