"""Files of ssi_core that a training and a typed query enter, in the order of entry.

    python -m benchmarks.walks
    python -m benchmarks.walks --functions

A file is entered when one of its functions begins, a compiled kernel too. Each call is made once
before it is counted, so that what happens once in a process is left out.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1] / "ssi_core"
Walk = Mapping[str, Sequence[str]]
"""File -> functions that began in it."""


def walk_of(call: Callable[[], object], root: Path = ROOT) -> Walk:
    """Return the files below a directory that a call enters, with their functions.

    Bodies of modules, lambdas and comprehensions do not count.
    """
    functions: dict[str, dict[str, None]] = {}

    def enter(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call" or code.co_name.startswith("<"):
            return
        file = Path(code.co_filename)
        if file.is_relative_to(root):
            functions.setdefault(str(file.relative_to(root)), {})[code.co_qualname] = None

    before = sys.getprofile()
    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(before)
    return {file: list(names) for file, names in functions.items()}


def walks(folder: Path) -> dict[str, Walk]:
    """Return the walks of a training and of a typed query, on 120 documents in a store."""
    os.environ["SSI_ROOT"] = str(folder)
    import ssi_core as ssi

    texts = [f"{word} {n} {n % 9}" for n in range(60) for word in ("car", "moon")]
    documents = ssi.read(texts, links=[(n, (n + k) % 120) for n in range(120) for k in (2, 4)])
    task = ssi.Task.of(documents, relevant="link")
    model = ssi.SSI(budget=20_000, epoch=5_000)
    index = model.fit(task).index(documents)
    index.search("moon 7")
    return {
        "SSI().fit(task)": walk_of(lambda: model.fit(task)),
        "index.search(text)": walk_of(lambda: index.search("moon 8")),
    }


def main() -> None:
    """Print the walks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", action="store_true", help="List the functions, too.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = walks(Path(folder))
    for call, walk in found.items():
        print(f"{call}: {len(walk)} files, {sum(map(len, walk.values()))} functions")
        for file, names in walk.items():
            print(f"  {file}{': ' + ', '.join(names) if arguments.functions else ''}")


if __name__ == "__main__":
    main()
