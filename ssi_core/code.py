"""Digest of code: the same after an edit of a comment, another after an edit of what is computed.

It is over the syntax trees of the modules that are named and of all that these import inside
``ssi_core`` (an import inside a function counts, one for type checkers alone does not). Of another
package the modules that are named count, and what they import of ours. Comments, docstrings, layout
and annotations but those of fields are left out; so is the version of Python, as far as it reads
the same text.

Dictionaries that split texts count as code of the tokenizer (`DATA`).

A module of `REGISTRIES` lists what others choose from. It is not followed, so that a line in it
changes no digest: name the entries that are used.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from ssi_core import cache

ROOT = Path(__file__).parents[1]
PACKAGE = "ssi_core"
REGISTRIES = frozenset({"ssi_core.models"})
DATA = {"ssi_core.text.tokenizer": "identities"}
"""Functions, by module, that tell which data beside the code their results depend on."""


def digest_of(*things: ModuleType | type | Callable[..., Any]) -> str:
    """Return 16 hexadecimal digits of the code of modules, or of those of classes and functions.

    >>> import ssi_core.types
    >>> digest_of(ssi_core.types) == digest_of(ssi_core.types.BadInput)
    True
    """
    names = (t.__name__ if isinstance(t, ModuleType) else t.__module__ for t in things)
    return digest_of_modules(names)


def digest_of_modules(names: Iterable[str], root: Path = ROOT) -> str:
    """Return the digest of modules by their dotted names.

    Parameters
    ----------
    names : iterable of str
        Of modules inside ``ssi_core``.
    root : Path
        Directory that holds ``ssi_core``.

    Raises
    ------
    ValueError
        There is no such module.
    """
    digest = hashlib.sha256()
    for name, (_, of_file) in sorted(_followed(names, root).items()):
        digest.update(f"{name} {of_file}\n".encode())
        if name in DATA:
            digest.update(f"{getattr(import_module(name), DATA[name])()}\n".encode())
    return digest.hexdigest()[:16]


def reached(names: Iterable[str], root: Path = ROOT) -> dict[str, Path]:
    """Return the files of modules and of all that they import inside ``ssi_core``, by module."""
    return {name: file for name, (file, _) in _followed(names, root).items()}


def _followed(names: Iterable[str], root: Path) -> Mapping[str, tuple[Path, str]]:
    """Return the file and the digest of each module that is reached.

    The code of this process is read once: a later edit does not change what it computes.
    """
    return (_follow_once if root == ROOT else _follow)(tuple(names), root)


def _follow(names: tuple[str, ...], root: Path) -> Mapping[str, tuple[Path, str]]:
    modules = modules_below(root)
    files: dict[str, tuple[Path, str]] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in files:
            continue
        # A user's own function may be elsewhere below the root, or in another package.
        file = modules.get(name) or root.joinpath(*name.split(".")).with_suffix(".py")
        if not file.is_file():
            file = foreign(name) or file
        if not file.is_file():
            raise ValueError(f"{name!r} is no module below {root / PACKAGE}")
        digest, imports = _read(file.read_text(encoding="utf-8"))
        files[name] = file, digest
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        for imported in imports:
            module = module_of(absolute(imported, package), modules)
            if module is not None and module not in REGISTRIES:
                waiting.append(module)
    return files


_follow_once = lru_cache(maxsize=1024)(_follow)


def foreign(name: str) -> Path | None:
    """Return the file of a module of another package, which was imported."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return None if file is None or name.split(".")[0] == PACKAGE else Path(file)


def modules_below(root: Path) -> dict[str, Path]:
    """Return the files of all modules of ours, by module."""
    modules = {}
    for folder, _, names in os.walk(root / PACKAGE):
        package = folder.removeprefix(f"{root}{os.sep}").replace(os.sep, ".")
        for name in names:
            if name.endswith(".py"):
                module = package if name == "__init__.py" else f"{package}.{name[:-3]}"
                modules[module] = Path(folder, name)
    return modules


def absolute(imported: str, package: str) -> str:
    """Return the name of an import; each leading dot of a relative one is a package upwards."""
    name = imported.lstrip(".")
    up = len(imported) - len(name)
    if up == 0:
        return name
    parts = package.split(".")
    return ".".join([*parts[: len(parts) + 1 - up], name])


def module_of(name: str, modules: Mapping[str, Path]) -> str | None:
    """Return the module of ours that an imported name is, or is in."""
    if name.split(".")[0] != PACKAGE:
        return None
    while name not in modules and "." in name:
        name = name.rpartition(".")[0]
    return name


@lru_cache(maxsize=1024)
def _read(source: str) -> tuple[str, tuple[str, ...]]:
    """Return the digest of the tree of a source, and the names that it imports.

    Both are remembered between processes by the digest of the whole source: to read all modules
    takes half a second.
    """
    name = f"{_THIS} {hashlib.sha256(source.encode()).hexdigest()}"
    fact = cache.recall("code", name)
    if fact is None:
        fact = " ".join(_read_anew(source))
        cache.remember("code", name, fact)
    digest, *imported = fact.split(" ")
    return digest, tuple(imported)


def _read_anew(source: str) -> tuple[str, ...]:
    tree = parsed(source)
    imports = [*_imports(tree)]
    return hashlib.sha256(written(plain(tree)).encode()).hexdigest(), *imports


_THIS = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
_PARSING = threading.Lock()


def parsed(source: str) -> ast.Module:
    """Parse a source, one thread at a time.

    CPython 3.11 counts the depth of the trees of all threads together, and raises `SystemError`
    where another thread gets its turn within a tree; another library may parse meanwhile, too.
    """
    with _PARSING:
        for _ in range(20):
            try:
                return ast.parse(source)
            except SystemError:
                time.sleep(0.01)
        return ast.parse(source)


def _imports(node: ast.AST) -> Iterator[str]:
    """Yield the dotted names of all imports but those for type checkers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            base = "." * child.level + (child.module or "")
            joint = "." if child.module else ""
            yield from (f"{base}{joint}{alias.name}" for alias in child.names)
        elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            yield from (name for other in child.orelse for name in _imports(other))
        else:
            yield from _imports(child)


def written(node: Any, text_of: Callable[[ast.AST], str | None] = lambda node: None) -> str:
    """Return a tree, a list of trees or a value as text, alike in all Pythons.

    Parameters
    ----------
    node : AST or list
        What to write.
    text_of : callable
        Returns another text of a node, or None.
    """
    if isinstance(node, list):
        return f"[{' '.join(written(one, text_of) for one in node)}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    if (text := text_of(node)) is not None:
        return text
    fields = (
        f"{name}={written(value, text_of)}"
        for name, value in ast.iter_fields(node)
        if value not in (None, []) and name not in ("ctx", "kind", "type_comment")
    )
    return f"{type(node).__name__}({' '.join(fields)})"


def plain(tree: ast.Module) -> ast.Module:
    r"""Take away from a tree what computes nothing, and return it.

    >>> written(plain(ast.parse("def f(x: int) -> int:\n  'Same.'\n  return x")).body)
    "[FunctionDef(name='f' args=arguments(args=[arg(arg='x')]) body=[Return(value=Name(id='x'))])]"
    """
    bare: ast.Module = _Plain().visit(tree)
    return bare


class _Plain(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        return self.visit(ast.Assign([node.target], node.value)) if node.value else None

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        body = (one if isinstance(one, ast.AnnAssign) else self.visit(one) for one in node.body)
        node.body = [one for one in body if one is not None]
        return node

    def visit_If(self, node: ast.If) -> Any:
        typing = ast.unparse(node.test) == "TYPE_CHECKING"
        return [*map(self.visit, node.orelse)] if typing else self.generic_visit(node)
