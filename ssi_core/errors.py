"""Look through an error: at those that led to it, at what is wrong with settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """List an error and those that led to it, each once: a chain can lead back into itself."""
    known: set[int] = set()
    seen: BaseException | None = error
    while seen is not None and id(seen) not in known:
        known.add(id(seen))
        yield seen
        seen = seen.__cause__ or seen.__context__


def faults(error: ValidationError) -> str:
    """Say what is wrong in one line: the fields and what was expected of them."""
    parts = []
    for fault in error.errors():
        name = ".".join(str(part) for part in fault["loc"][:1])
        message = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "missing":
            parts.append(f"{name} is missing")
            continue
        shown = f"{name}={fault['input']!r}: " if name else ""
        parts.append(f"{shown}{message}")
    return "; ".join(dict.fromkeys(parts))
