"""The ``ssi`` command: that of the workflow in a checkout of the project, else of the library."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from ssi_core.garbage import economise

_CHECKOUT = Path(__file__).parents[1]


def main() -> None:
    """Run the command; a checkout is a directory with ``prefect.yaml`` and ``flows``."""
    economise()
    if (_CHECKOUT / "prefect.yaml").is_file() and (_CHECKOUT / "flows" / "cli.py").is_file():
        # An installed library reaches no further than itself.
        sys.path.insert(0, str(_CHECKOUT))
        import_module("flows.cli").main()
    else:
        import_module("ssi_core.command.library").main()


if __name__ == "__main__":
    main()
