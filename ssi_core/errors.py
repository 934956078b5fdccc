"""Look through an error, at those that led to it."""

from __future__ import annotations

from collections.abc import Iterator


def chain_of(error: BaseException) -> Iterator[BaseException]:
    """List an error and those that led to it, each once: a chain can lead back into itself."""
    known: set[int] = set()
    seen: BaseException | None = error
    while seen is not None and id(seen) not in known:
        known.add(id(seen))
        yield seen
        seen = seen.__cause__ or seen.__context__
