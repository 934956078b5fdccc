"""Stages of the work, and the ends of their parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Done(Generic[Part, Result]):
    """A part that has ended, and what it returned or the error that it ended with."""

    part: Part
    outcome: Result | Exception

    def result(self) -> Result:
        """Return what the part returned, or raise its error."""
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


@dataclass(frozen=True)
class Stage(Generic[Part, Result]):
    """Stage of the work: all that its parts share.

    Attributes
    ----------
    name : str
        Name of the stage, as a person reads it: a log and Dask's pages show it.
    make : callable
        Function of a module, or a `functools.partial` of one.
    path : Path
        Directory in which parts write.
    inputs : sequence of Path
        Files that parts read, which must be the same everywhere.
    code : sequence
        Modules, classes and functions that parts use beside ``make``: what a registry names.
    """

    name: str
    make: Callable[[Part], Result]
    path: Path
    inputs: Sequence[Path] = ()
    code: Sequence[ModuleType | type | Callable[..., Any]] = ()
