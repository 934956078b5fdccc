"""Keep the files of the working directory out of Prefect's settings.

Prefect reads ``prefect.toml``, ``pyproject.toml`` and ``.env`` of the directory in which a command
runs. A logging configuration that one of them names may call any function, so that a folder of
somebody else's texts could run a command. In processes that import ``flows``, Prefect takes its
settings from environment variables alone (`flows.environment`). A server or worker, which imports
Prefect first, starts in `NOWHERE`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType

NOWHERE = "/"
"""Directory for processes of ours that read files of their working directory; it has none."""

_SOURCES = "prefect.settings.sources"


def install() -> None:
    """Close the files to Prefect, now or when it is imported."""
    if _SOURCES in sys.modules:
        _close(sys.modules[_SOURCES])
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finder of modules; its base class would load a tenth of what `ssi --help` takes."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _SOURCES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _close(module)


def _close(sources: ModuleType) -> None:
    """Let the sources of Prefect's settings find no files."""

    def nothing(*_: object, **__: object) -> dict[str, object]:
        return {}

    def profiles() -> Path:
        return Path(os.environ.get("PREFECT_PROFILES_PATH") or sources.DEFAULT_PROFILES_PATH)

    for owner, name, function in (
        (sources.TomlConfigSettingsSourceBase, "_read_files", nothing),
        (sources.FilteredDotEnvSettingsSource, "_read_env_files", nothing),
        (sources, "_get_profiles_path", profiles),
    ):
        if not hasattr(owner, name):
            raise ImportError(f"this Prefect reads its settings otherwise: {owner} has no {name}")
        setattr(owner, name, function)
