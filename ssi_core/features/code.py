"""Digest of what makes tasks: an edit of the code makes another key, as does another dictionary."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ssi_core.text import tokenizer

_HERE = Path(__file__).parent
_ROOT = _HERE.parent
_FOLLOWED = ("features", "text", "kernels")


@cache
def digest() -> str:
    """Digest of this room, of what it imports of text and kernels, and of their dictionaries."""
    digest = hashlib.sha256()
    for file in sorted(_files()):
        digest.update(str(file.relative_to(_ROOT)).encode())
        digest.update(file.read_bytes())
    for language in sorted(tokenizer.LANGUAGES):
        digest.update(f"{language} {tokenizer.identity(language)}".encode())
    return digest.hexdigest()[:16]


def _files() -> set[Path]:
    found: set[Path] = set()
    waiting = set(_HERE.glob("*.py"))
    while waiting:
        found |= waiting
        waiting = {other for file in waiting for other in _imports(file)} - found
    return found


def _imports(file: Path) -> Iterator[Path]:
    """Files of the followed rooms that a file imports."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            # What is imported may be a module itself.
            names = [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
        for name in names:
            package, *parts = name.split(".")
            if package == "ssi_core" and parts and parts[0] in _FOLLOWED:
                path = _ROOT.joinpath(*parts)
                yield from filter(Path.exists, (path.with_suffix(".py"), path / "__init__.py"))
