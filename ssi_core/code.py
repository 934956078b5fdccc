"""Digest of code: the same after an edit of a comment, another after an edit of what is computed.

It is over the tokens of the modules that are named and of all that these import inside ``ssi_core``
(an import inside a function counts, one for type checkers alone does not). Of another package the
modules that are named count, and what they import of ours. Comments, docstrings,
blank lines, the depth of an indent and the way to end a line are left out; so is the version of
Python, as far as it reads the same text.

Dictionaries that split texts count as code of the tokenizer (`DATA`).

A module of `REGISTRIES` lists what others choose from. It is not followed, so that a line in it
changes no digest: name the entries that are used.
"""

from __future__ import annotations

import ast
import hashlib
import io
import os
import sys
import threading
import time
import token
import tokenize
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
    modules = _modules(root)
    files: dict[str, tuple[Path, str]] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in files:
            continue
        # A user's own function may be elsewhere below the root, or in another package.
        file = modules.get(name) or root.joinpath(*name.split(".")).with_suffix(".py")
        if not file.is_file():
            file = _foreign(name) or file
        if not file.is_file():
            raise ValueError(f"{name!r} is no module below {root / PACKAGE}")
        digest, imports = _read(file.read_text(encoding="utf-8"))
        files[name] = file, digest
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        for imported in imports:
            module = _module(_absolute(imported, package), modules)
            if module is not None and module not in REGISTRIES:
                waiting.append(module)
    return files


_follow_once = lru_cache(maxsize=1024)(_follow)


def _foreign(name: str) -> Path | None:
    """Return the file of a module of another package, which was imported."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return None if file is None or name.split(".")[0] == PACKAGE else Path(file)


def _modules(root: Path) -> dict[str, Path]:
    """Return the files of all modules of ours, by module."""
    modules = {}
    for folder, _, names in os.walk(root / PACKAGE):
        package = folder.removeprefix(f"{root}{os.sep}").replace(os.sep, ".")
        for name in names:
            if name.endswith(".py"):
                module = package if name == "__init__.py" else f"{package}.{name[:-3]}"
                modules[module] = Path(folder, name)
    return modules


def _absolute(imported: str, package: str) -> str:
    """Return the name of an import; each leading dot of a relative one is a package upwards."""
    name = imported.lstrip(".")
    up = len(imported) - len(name)
    if up == 0:
        return name
    parts = package.split(".")
    return ".".join([*parts[: len(parts) + 1 - up], name])


def _module(name: str, modules: Mapping[str, Path]) -> str | None:
    """Return the module of ours that an imported name is, or is in."""
    if name.split(".")[0] != PACKAGE:
        return None
    while name not in modules and "." in name:
        name = name.rpartition(".")[0]
    return name


@lru_cache(maxsize=1024)
def _read(source: str) -> tuple[str, tuple[str, ...]]:
    """Return the digest of the tokens of a source, and the names that it imports.

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
    digest = hashlib.sha256()
    for text in tokens(source):
        digest.update(text.encode() + b"\0")
    return digest.hexdigest(), *_imports(parsed(source))


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


_INVISIBLE = {token.COMMENT, token.NL, token.ENCODING, token.ENDMARKER}
_MARKS = {token.NEWLINE: "\n", token.INDENT: "\t", token.DEDENT: "\b"}


def tokens(source: str) -> list[str]:
    r"""Return the tokens of a source without comments and docstrings, alike in all Pythons.

    >>> tokens("x = 1  # one")
    ['x', '=', '1', '\n']
    """
    words: list[str] = []
    statement: list[str] = []
    for text in _texts(source):
        statement.append(text)
        if text in ("\t", "\b"):
            words.append(text)
            statement.clear()
        elif text == "\n":
            if not all(map(_is_plain_string, statement[:-1])):
                words += statement
            statement.clear()
    return words + statement


def _is_plain_string(text: str) -> bool:
    """Tell a string, which does nothing as a statement, from one that computes its parts."""
    quote = min((position for mark in "'\"" if (position := text.find(mark)) >= 0), default=-1)
    prefix = text[:quote].lower() if quote >= 0 else None
    return prefix is not None and (prefix == "" or prefix.isalpha()) and "f" not in prefix


def _texts(source: str) -> Iterator[str]:
    """Yield the texts of tokens; an f-string is one of them, as it is before Python 3.12."""
    lines = list(io.StringIO(source))
    begin = getattr(token, "FSTRING_START", None)
    end = getattr(token, "FSTRING_END", None)
    depth, start = 0, (0, 0)
    for one in tokenize.generate_tokens(iter(lines).__next__):
        if begin is not None and one.type == begin:
            start = start if depth else one.start
            depth += 1
        elif end is not None and one.type == end:
            depth -= 1
            if depth == 0:
                yield _between(lines, start, one.end)
        elif depth == 0 and one.type not in _INVISIBLE:
            yield _MARKS.get(one.type, one.string)


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """Return the text from one place to another, each a line from 1 and a column."""
    first, last = start[0] - 1, end[0] - 1
    if first == last:
        return lines[first][start[1] : end[1]]
    return "".join([lines[first][start[1] :], *lines[first + 1 : last], lines[last][: end[1]]])
