"""Sources, read in one call."""

from pathlib import Path

import pytest

from ssi_core.corpus.sources import SOURCES, source_named

needs_logs = pytest.mark.skipif("clicks" not in SOURCES, reason="a guest reads it")


def ingest(name, paths=(), out=None, *, force=False, progress=None, part_bytes=None, **settings):
    """Read files with the source of a name; ``part_bytes`` bounds the parts of a dump."""
    source = source_named(name)
    if part_bytes is not None:
        source = type(source.__name__, (source,), {"part_bytes": part_bytes})
    if paths:
        settings["paths"] = (paths,) if isinstance(paths, str | Path) else tuple(paths)
    return source(**settings).read(out, force=force, progress=progress)
