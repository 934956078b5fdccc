"""Registries: what has a name and is loaded when it is used.

A registry holds what the core has, then what guests add (`ssi_core.guests`), then what other
packages add by an entry point of the group ``ssi``. The name of an entry point is the registry and
the name in it, its value the object; in ``pyproject.toml``::

    [project.entry-points.ssi]
    "models.mine" = "my_package.models:Mine"

Registries are ``models``, ``sources``, ``measures``, ``targets``, ``verbs``, ``summaries`` and
``hooks``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "ssi"
_GUESTS = ("ssi_core.guests", "ssi_core.datasets", "ssi_core.sample")

_METADATA = (".dist-info", ".egg-info", ".egg")
"""Ends of names under which the facts of an installed package lie."""

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """Names of one kind of things; a thing is imported when it is asked for.

    Parameters
    ----------
    kind : str
        Name of the registry, as entry points begin with it.
    homes : mapping
        Name -> ``"module:object"``: what the core has, in the order in which it is listed.
    """

    def __init__(self, kind: str, homes: Mapping[str, str]) -> None:
        self.kind = kind
        self._core = dict(homes)

    @property
    def added(self) -> Mapping[str, str]:
        """Name -> ``"module:object"`` of what is added; a name of the core stays its own."""
        additions = _added().get(self.kind, {})
        return {name: home for name, home in additions.items() if name not in self._core}

    @property
    def homes(self) -> Mapping[str, str]:
        """Name -> ``"module:object"``, without loading anything."""
        return {**self._core, **self.added}

    def __getitem__(self, name: str) -> T:
        home = self._core.get(name) or self.added[name]
        try:
            thing: T = load(home)
        except (ImportError, AttributeError) as error:
            if name in self._core:
                raise
            raise ImportError(
                f"{self.kind}.{name} = {home!r}, an entry point of the group {GROUP!r}: {error}. "
                "Repair its package, or uninstall it."
            ) from error
        return thing

    def __contains__(self, name: object) -> bool:
        return name in self._core or name in self.added

    def __iter__(self) -> Iterator[str]:
        return iter(self.homes)

    def __len__(self) -> int:
        return len(self.homes)


HOOKS: Registry[Callable[..., Any]] = Registry("hooks", {})
"""What guests do for functions of the core; nothing where they are missing."""
TARGETS: Registry[Any] = Registry("targets", {})
"""Engines and formats that an index is exported to, each a `guests.export.writing.Target`."""


def load(home: str) -> Any:
    """Return the object that ``"module:object"`` names."""
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)


@cache
def _added() -> Mapping[str, Mapping[str, str]]:
    """Return what guests and other packages add: registry -> name -> home."""
    additions: dict[str, dict[str, str]] = {}
    for guests in filter(find_spec, _GUESTS):
        for kind, homes in import_module(guests).REGISTRIES.items():
            additions.setdefault(kind, {}).update(homes)
    for point in _entry_points():
        kind, _, name = point.name.partition(".")
        additions.setdefault(kind, {}).setdefault(name, point.value)
    return additions


def _entry_points() -> Iterable[EntryPoint]:
    """Return the entry points of the group: their files are parsed only if one of them names it."""
    if not any(map(_may_add, sys.path)) and not any(map(_finds_more, sys.meta_path)):
        return ()
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


def _may_add(directory: str) -> bool:
    """Tell whether a directory of modules may hold entry points of the group; an archive may."""
    path = Path(directory)
    try:
        return any(_names_group(one) for one in path.iterdir() if one.suffix in _METADATA)
    except OSError:
        return path.is_file()


def _names_group(metadata: Path) -> bool:
    if metadata.suffix == ".egg":
        return True
    try:
        return f"[{GROUP}]".encode() in (metadata / "entry_points.txt").read_bytes()
    except OSError:
        return False


def _finds_more(finder: object) -> bool:
    """Tell whether a finder knows packages that lie in no directory of modules."""
    return finder is not PathFinder and hasattr(finder, "find_distributions")
