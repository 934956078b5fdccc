"""Files of ssi_core that a call enters, in the order of entry: five walks, and a whole training.

    python -m benchmarks.walks
    python -m benchmarks.walks --files
    python -m benchmarks.walks --functions

A file is entered when one of its functions begins, a compiled kernel too. Each call is made once
before it is counted, so that what happens once in a process is left out. A file that is entered is
a stay in its room. Imports point down only (tests/test_layers.py), and most calls do: "back up" are
calls of what a room above has handed in, such as a judge, a model or a callback.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1] / "ssi_core"
_TABLE = """
name = "walk"
title = "A row to walk through"

[tasks.links]

[[rows]]
label = "U'U + I"
model = "bilinear"
task = "links"
view = "raw"
epoch = 5000
budget = 20000
rates = [0.1]
"""


@dataclass
class Walk:
    """What a call enters.

    Attributes
    ----------
    files : dict
        File -> functions that began in it, each once.
    calls : dict
        (file, file) -> None: which file called which, directly.
    """

    files: dict[str, dict[str, None]] = field(default_factory=dict)
    calls: dict[tuple[str, str], None] = field(default_factory=dict)

    @property
    def functions(self) -> int:
        """Number of functions."""
        return sum(map(len, self.files.values()))

    @property
    def stays(self) -> Mapping[str, int]:
        """Room -> number of its files, in the order of entry."""
        return Counter(map(room_of, self.files))

    def back_up(self, level: Mapping[str, int]) -> list[tuple[str, str]]:
        """Return the calls from a room to one above it."""
        return [
            (caller, called)
            for caller, called in self.calls
            if level.get(room_of(called), 0) > level.get(room_of(caller), 0)
        ]


def room_of(file: str) -> str:
    """Return the room of a file below ssi_core.

    >>> room_of("models/latent/lsi.py"), room_of("store.py")
    ('models', 'store')
    """
    return file.partition("/")[0].removesuffix(".py")


def walk_of(call: Callable[[], object], root: Path = ROOT) -> Walk:
    """Return the files below a directory that a call enters, with their functions.

    Bodies of modules, lambdas and comprehensions do not count, and neither do other threads.
    """
    walk = Walk()

    def below(frame: FrameType | None) -> str | None:
        file = None if frame is None else Path(frame.f_code.co_filename)
        return str(file.relative_to(root)) if file and file.is_relative_to(root) else None

    def enter(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event != "call" or code.co_name.startswith("<"):
            return
        if (file := below(frame)) is not None:
            walk.files.setdefault(file, {})[code.co_qualname] = None
            if (caller := below(frame.f_back)) is not None:
                walk.calls[caller, file] = None

    before = sys.getprofile()
    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(before)
    return walk


def walks(folder: Path) -> Iterator[tuple[str, Walk]]:
    """Yield the walks, on small data in a store of their own."""
    os.environ["SSI_ROOT"] = str(folder)
    import ssi_core as ssi
    from benchmarks.zipf.world import write_dump
    from ssi_core.experiment import load_table
    from ssi_core.experiment.training import RowPart, train_part

    def dump(seed: int) -> object:
        return ssi.read(folder / f"enwiki-{seed}-pages-articles.xml.bz2", processes=1)

    def clicks(name: str) -> object:
        return ssi.read(folder / f"{name}.csv", texts=documents)

    def trained(seed: int) -> object:
        place = folder / f"row-{seed}"
        return train_part(RowPart(table, label, path, seed, 1, place, place.with_suffix(".kept")))

    for seed in range(2):
        write_dump(folder / f"enwiki-{seed}-pages-articles.xml.bz2", 20, seed)
    texts = [f"{word} {n} {n % 9}" for n in range(60) for word in ("car", "moon")]
    documents = ssi.read(texts, links=[(n, (n + k) % 120) for n in range(120) for k in (2, 4)])
    for name, first in (("log", 0), ("other", 1)):
        rows = [f"{word} {n},{n},1" for n in range(first, 60) for word in ("car", "moon")]
        (folder / f"{name}.csv").write_text("\n".join(["query,document,clicks", *rows, ""]))
    (folder / "walk.toml").write_text(_TABLE)
    table = load_table(folder / "walk.toml")
    label = table.rows[0].label
    task = ssi.Task.of(documents, relevant="link")
    path = task.path
    model = ssi.SSI(budget=20_000, epoch=5_000)
    index = model.fit(task).index(documents)

    index.search("moon 7"), dump(0), clicks("log"), trained(0), table.rows[0].ranker()
    yield "a page of a dump", walk_of(lambda: dump(1))
    yield "a row of a click log", walk_of(lambda: clicks("other"))
    yield "index.search(text)", walk_of(lambda: index.search("moon 8"))
    yield "a setting of a table", walk_of(lambda: load_table(folder / "walk.toml").rows[0].ranker())
    yield "a trained row", walk_of(lambda: trained(1))
    yield "SSI().fit(task)", walk_of(lambda: model.fit(task))


def main() -> None:
    """Print the walks."""
    from tests.test_layers import LEVEL

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", action="store_true", help="List the files.")
    parser.add_argument("--functions", action="store_true", help="List files and functions.")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for call, walk in walks(Path(folder)):
            up = walk.back_up(LEVEL)
            print(f"{call}: {len(walk.files)} files, {walk.functions} functions")
            print("  rooms:", ", ".join(f"{room} {n}" for room, n in walk.stays.items()))
            print(f"  back up: {len(up)} of {len(walk.calls)} ways between files")
            if arguments.files or arguments.functions:
                for caller, called in up:
                    print(f"    {caller} -> {called}")
                for file, names in walk.files.items():
                    print(f"  {file}{': ' + ', '.join(names) if arguments.functions else ''}")


if __name__ == "__main__":
    main()
