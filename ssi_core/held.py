"""Say what a directory holds where something else was expected, and how that is made of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ssi_core.remedies import typed_call

_MANIFESTS = {"artefact.json": "", "model.json": "model", "reranker.json": "reranker"}
"""File that tells of a directory -> what that holds; "": the file says it."""
_MADE: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "collection": ("data ingest table", ("file",)),
    "task": ("data features", ("collection",)),
    "model": ("fit", ("collection", "task", "file")),
    "index": ("data index", ()),
}
"""What can be made -> the verb that makes it, and what that makes it of."""


def held_in(path: Path) -> str:
    """Return what a path holds, such as "model" or "file"; "" where nothing tells."""
    for manifest, kind in _MANIFESTS.items():
        with suppress(OSError, ValueError, KeyError, TypeError):
            facts = json.loads((path / manifest).read_text(encoding="utf-8"))
            return kind or str(facts["kind"])
    return "file" if path.is_file() else ""


def lacking(path: Path, what: str) -> str:
    """Say that a path does not hold something, what it holds, and what to do."""
    if not path.exists():
        return f"{path}: there is no such directory. Check the path."
    held = held_in(path)
    verb, sources = _MADE.get(what, ("", ()))
    make = "Check the path."
    if held in sources:
        make = f"Make {article(what)} of it: {typed_call(verb, path)}"
    elif verb:
        make = f"Make one: {typed_call(verb)}"
    is_ = f"is a file, and no {what}" if held == "file" else f"holds {article(held)}, and no {what}"
    return f"{path} {is_ if held else f'holds no {what}'}. {make}"


def article(kind: str) -> str:
    """Return a kind with its indefinite article."""
    return f"an {kind}" if kind.startswith(("a", "e", "i", "o")) else f"a {kind}"
