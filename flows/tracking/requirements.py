"""Packages that a logged model needs to rank text, read off the imports of its code.

The code is followed from `flows.serve.pyfunc_model`, whose functions run when a model is loaded and
asked. In the modules that it reaches, a package that is imported inside a function is left out: it
serves a training (scikit-learn), or a language, which declares its packages itself (`LANGUAGES`).
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

import ssi_core
from flows.tracking.origin import code
from ssi_core import cache as remembered
from ssi_core.code import parsed
from ssi_core.text.tokenizer import language_of

_SOURCES = Path(next(iter(ssi_core.__path__))).parent
_START = Path(__file__).parents[1] / "serve" / "pyfunc_model.py"


def requirements(languages: Collection[str]) -> list[str]:
    """Return the packages that a model needs as lines of pip, at the installed versions.

    Parameters
    ----------
    languages : str
        Codes of the languages that the model reads, such as "ja".
    """
    packages = {name for code in languages for name in language_of(code).packages}
    return sorted(f"{name}=={version(name)}" for name in {*_of_code(), *packages})


@cache
def _of_code() -> frozenset[str]:
    """Distributions that the code of every model needs."""
    return frozenset(map(_distribution, _packages(code())))


def _packages(digest: str) -> set[str]:
    """Packages that the code imports; they are remembered, since to read it takes a second."""
    fact = remembered.recall("packages", digest)
    if fact is None:
        fact = " ".join(sorted({name.partition(".")[0] for name in _reached()}))
        remembered.remember("packages", digest, fact)
    return set(fact.split()) - sys.stdlib_module_names - {ssi_core.__name__}


def _distribution(package: str) -> str:
    """Name of the distribution that a package is from."""
    try:
        version(package)
    except PackageNotFoundError:
        # It reads the lists of files of all distributions, which takes a second.
        return packages_distributions()[package][0]
    return package


def _reached() -> set[str]:
    """Names of all modules that the code imports, from the start to the last."""
    reached: set[str] = set()
    waiting = [name for name, _ in _imports(_START)]
    while waiting:
        name = waiting.pop()
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            module = ".".join(parts[:end])
            file = _file(module)
            if module in reached or (file is None and end > 1):
                continue
            reached.add(module)
            waiting += [
                imported
                for imported, inside in (_imports(file) if file else ())
                if not inside or imported.startswith(f"{ssi_core.__name__}.")
            ]
    return reached


def _file(module: str) -> Path | None:
    """File of a module of `ssi_core`; None for any other name."""
    if module.partition(".")[0] != ssi_core.__name__:
        return None
    path = _SOURCES.joinpath(*module.split("."))
    files = (path / "__init__.py", path.with_suffix(".py"))
    return next((file for file in files if file.is_file()), None)


def _imports(file: Path) -> Iterator[tuple[str, bool]]:
    """Yield the names that a file imports, and whether a function does it."""
    yield from _imports_of(parsed(file.read_text(encoding="utf-8")), inside=False)


def _imports_of(tree: ast.AST, *, inside: bool) -> Iterator[tuple[str, bool]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, inside
            # A name may be a module, too; any other name has no file and is passed over.
            yield from ((f"{node.module}.{alias.name}", inside) for alias in node.names)
        function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _imports_of(node, inside=inside or function)
