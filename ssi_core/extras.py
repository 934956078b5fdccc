"""Packages that an extra of ssi installs, imported where they are used."""

from __future__ import annotations

import importlib
from typing import Any

from ssi_core.types import Refused


def module(name: str, extra: str) -> Any:
    """Return a module of a package that is there with an extra.

    Raises
    ------
    Refused
        The package is not installed; the message has the command that installs it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        raise Refused(f"{package} is not installed: pip install 'ssi[{extra}]'.") from error
