"""A made-up collection of any size, as one more source of the command: ``ssi data ingest zipf``."""

from __future__ import annotations

from typing import cast

COMMAND = "from benchmarks.zipf import ssi; ssi()"
"""Program of a process that is the command ``ssi`` with that source."""


def ssi() -> None:
    """Run the command ``ssi`` with the source zipf beside the others."""
    from flows.cli import main
    from ssi_core.sample import REGISTRIES

    cast("dict[str, str]", REGISTRIES["sources"])["zipf"] = "benchmarks.zipf.collection:Zipf"
    main()
