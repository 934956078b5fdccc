"""Print the part of a lock file that the project needs to run: without test tools and linters.

    python deploy/runtime.py workflow japanese postgres cluster > runtime.lock

Run it with the Python that has all of requirements.lock installed, at the root of the project. The
arguments are extras of pyproject.toml. Versions and hashes are those of requirements.lock, which
stays the only lock.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def wanted(project: Path, extras: Iterable[str]) -> set[str]:
    """Return the packages that the project and some of its extras need, and what those need."""
    declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    lines = [*declared["dependencies"]]
    for extra in extras:
        lines += declared["optional-dependencies"][extra]
    found: set[tuple[str, str]] = set()
    left = [pair for line in lines for pair in _pairs(line, "")]
    while left:
        name, extra = pair = left.pop()
        if pair in found:
            continue
        found.add(pair)
        for line in metadata.requires(name) or ():
            left += _pairs(line, extra)
    return {name for name, _ in found}


def _pairs(line: str, extra: str) -> Iterator[tuple[str, str]]:
    """Return the package of a requirement, alone and with each of its extras."""
    requirement = Requirement(line)
    if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
        for one in ("", *requirement.extras):
            yield canonicalize_name(requirement.name), one


def subset(lock: str, names: set[str]) -> str:
    """Return the entries of a lock file that have one of these names, with their hashes."""
    entries = re.split(r"^(?=[a-z0-9])", lock, flags=re.MULTILINE)
    return "".join(entry for entry in entries if entry.partition("==")[0] in names)


if __name__ == "__main__":
    names = wanted(Path("pyproject.toml"), sys.argv[1:])
    sys.stdout.write(subset(Path("requirements.lock").read_text(encoding="utf-8"), names))
