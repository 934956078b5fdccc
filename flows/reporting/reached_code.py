"""Digest of the definitions that a computation can reach, wherever they stand.

A definition is a function, a class or an assignment at the top of a module. Those that one uses are
followed, through imports inside ``ssi_core``, and with them goes what their module does when it is
imported. Beside what `ssi_core.code` leaves out, the digest is the same after a file moves or is
divided, after another spelling of an import or message of an error, and after an edit of what is
not used. Keys of the store need to notice more, a mark on a page does not.
"""

from __future__ import annotations

import ast
import hashlib
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from ssi_core.code import (
    DATA,
    REGISTRIES,
    ROOT,
    absolute,
    foreign,
    module_of,
    modules_below,
    parsed,
    plain,
    written,
)
from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.folds import pooled
from ssi_core.experiment import Row
from ssi_core.experiment.training import kinds_of
from ssi_core.selection.two_folds import two_folds

Definition: TypeAlias = tuple[str, str]
"""A module, and a name at its top; an empty one for what it does when it is imported."""


def reached_by(*rows: Row) -> str:
    """Return the digest of what training and measuring rows can reach."""
    return reached_digest(evaluate, pooled, two_folds, *kinds_of(*rows))


def reached_digest(*things: type | Callable[..., Any], root: Path = ROOT) -> str:
    """Return 16 hexadecimal digits of what classes and functions can reach."""
    sources = _sources(root)
    waiting = [(thing.__module__, thing.__qualname__.split(".")[0]) for thing in things]
    found: dict[Definition, str] = {}
    while waiting:
        definition = waiting.pop()
        if definition not in found:
            text, used = sources.text(definition)
            # Names alone would not tell that one is taken from another module now.
            found[definition] = "\n".join([text, *(sources.text(other)[0] for other in used)])
            waiting += [*used, (definition[0], "")]
    return hashlib.sha256("\n\n".join(sorted({*found.values()})).encode()).hexdigest()[:16]


class _Sources:
    """Definitions and imports of the modules below a directory, read once."""

    def __init__(self, root: Path) -> None:
        self._files = modules_below(root)
        self._read, self.text = cache(self._read_anew), cache(self._text_anew)

    def _read_anew(self, module: str) -> tuple[dict[str, list[ast.stmt]], dict[str, str]]:
        """Return the statements at the top of a module, by what they define, and its imports."""
        file = self._files.get(module) or foreign(module)
        if file is None:
            raise ValueError(f"{module!r} is no module that can be read")
        package = module if file.name == "__init__.py" else module.rpartition(".")[0]
        tree = plain(parsed(file.read_text(encoding="utf-8")))
        imports: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                base = absolute("." * node.level + (node.module or ""), package)
                imports |= {one.asname or one.name: f"{base}.{one.name}" for one in node.names}
            elif isinstance(node, ast.Import):
                imports |= {one.asname: one.name for one in node.names if one.asname}
        parts: dict[str, list[ast.stmt]] = defaultdict(list)
        for statement in _WithoutImports().visit(tree).body:
            for name in _defined(statement) or [""]:
                parts[name].append(statement)
        return dict(parts), {"ssi_core": "ssi_core"} | imports

    def _definitions(self, dotted: str) -> tuple[list[Definition], str]:
        """Return the definitions that a dotted name means, and what is asked of the only one."""
        module = module_of(dotted, self._files)
        if module not in self._files or module in REGISTRIES:
            return [], dotted
        parts, imports = self._read(module)
        asked = dotted[len(module) + 1 :]
        name, dot, rest = asked.partition(".")
        if name in parts:
            return [(module, name)], asked
        if name in imports and (other := f"{imports[name]}{dot}{rest}") != dotted:
            return self._definitions(other)
        return [(module, one) for one in parts], dotted

    def _text_anew(self, definition: Definition) -> tuple[str, list[Definition]]:
        """Return a definition as text, and the definitions that it uses."""
        module, name = definition
        parts, imports = self._read(module)
        used: list[Definition] = []

        def text_of(node: ast.AST) -> str | None:
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                return f"Raise({written(node.exc.func, text_of)})"
            first, dot, rest = _chain(node).partition(".")
            if first and first in parts:
                used.append((module, first))
                return f"{first}{dot}{rest}"
            if first not in imports:
                return None
            found, text = self._definitions(f"{imports[first]}{dot}{rest}")
            used.extend(found)
            return text

        data = getattr(import_module(module), DATA[module])() if module in DATA else ""
        return f"{written(parts.get(name, []), text_of)} {data}", used


_sources = cache(_Sources)


class _WithoutImports(ast.NodeTransformer):
    def visit(self, node: ast.AST) -> Any:
        """Leave imports out: what they import is followed where it is used."""
        return None if isinstance(node, ast.Import | ast.ImportFrom) else self.generic_visit(node)


def _defined(statement: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Assign):
        every = (one for target in statement.targets for one in ast.walk(target))
        return [one.id for one in every if isinstance(one, ast.Name)]
    return []


def _chain(node: ast.AST) -> str:
    """Return a name with the attributes that are asked of it, or nothing."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (base := _chain(node.value)):
        return f"{base}.{node.attr}"
    return ""
