"""numba, whose settings are variables (``NUMBA_...``) alone.

numba reads ``.numba_config.yaml`` of the working directory, too, where a stranger's may lie: it can
name a library to load, and change how code is compiled.
"""

from __future__ import annotations

import os

import numba
from numba.core import config

__all__ = ["numba"]

if not hasattr(config, "_config_fname"):
    raise ImportError("this numba reads its settings otherwise: its config has no _config_fname")
config._config_fname = os.devnull
config.reload_config()
