"""Run every stage of the pipeline out of memory, disk, file size and open files, on purpose.

    python -m benchmarks.limits --documents 30000 --json FILE

The collection is made up (`benchmarks.zipf`). Every stage is a command as a user gives it, on one
core, in a place of its own. It runs once without limits, and then with

- memory: RLIMIT_DATA, 0.7 of what the stage says that it takes, beside what the process holds;
- a small disk: a tmpfs of 0.7 of the bytes that the stage says; and one of half of the bytes that
  it writes, which it takes for a large one, as if others filled it up meanwhile;
- file size: RLIMIT_FSIZE, half of the largest file that the stage writes;
- open files: RLIMIT_NOFILE, 40.

After each, the same command is given again in the same place without the limit: it *goes on* where
that ends well, and writes as much as without limits. A directory that is there after a failure is
said. *Need* is the smallest RLIMIT_DATA at which the stage runs when nothing is refused, found by
bisection, less what the process held before.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from numpy.random import default_rng

from benchmarks.timing import surroundings
from benchmarks.wikipedia import _QUERY, TABLE, _root, bytes_of
from benchmarks.zipf import COMMAND
from benchmarks.zipf.world import write_dump
from ssi_core.experiment import load_table
from ssi_core.resources import amount
from ssi_core.tasks.task import open_task

# A machine on which every stage seems to fit.
_LARGE = (
    "from ssi_core import resources; resources.memory_available = lambda: 1 << 60; "
    "resources.disk_free = lambda place: 1 << 60; " + COMMAND
)
# One that is full, and says what the process holds.
_HOLDS = (
    "import psutil, sys; from ssi_core import resources; "
    "resources.memory_available = lambda: "
    "print('held', psutil.Process().memory_info().data, file=sys.stderr) or 0; " + COMMAND
)
_CFH = "cfh:k=5,words=30000,ngrams=1"
_INDEXED = "U'V + I N=100"
_FILES, _SHARE, _TRIPLES, _NEAR = 40, 0.7, 10, 0.05
_LONGEST, _HANGS = 600, 124
_LEAST = 100_000_000
_UNITS = {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_SIZE = r"(\d[\d.]*) ([kMGT]?B)"
_LINE = "{:26} {:14} {:>8} {:>4} {:9} {:>9} {:>8} {:>6}  {}"
_HEAD = ("stage", "out of", "limit", "code", "goes on", "estimate", "need", "ratio", "said")


@dataclass(frozen=True)
class Stage:
    """A command; ``{place}`` in its arguments is where it writes all that it writes."""

    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class Ended:
    """Exit code of a command, and what it wrote to standard error."""

    code: int
    log: str

    @property
    def said(self) -> str:
        """Its error: the line that begins with ``ssi:``, or the last one."""
        lines = [line for line in self.log.splitlines() if line.strip()]
        named = [line for line in lines if line.startswith("ssi: ") and "ssi: root" not in line]
        return (named or lines or [""])[-1] if self.code else ""

    def stated(self, what: str) -> int:
        """Bytes of memory or disk that the stage says at most; 0: it says nothing."""
        sizes = re.findall(rf"{_SIZE} of {what}", self.log)
        return max((int(float(n) * _UNITS[unit]) for n, unit in sizes), default=0)

    @property
    def held(self) -> int:
        """Bytes that the process had when the stage was refused; 0: it says nothing."""
        found = re.search(r"^held (\d+)", self.log, re.MULTILINE)
        return int(found[1]) if found else 0


@dataclass(frozen=True)
class Trial:
    """A stage that ran out of something; sizes are in bytes, but a number of open files is none.

    ``estimate`` and ``need`` are 0 where the stage says nothing, or nothing was measured; ``left``
    says that a directory was there though the command had failed.
    """

    stage: str
    out_of: str
    limit: int
    code: int
    said: str
    goes_on: bool
    left: bool
    estimate: int = 0
    need: int = 0


def run(
    stage: Stage, path: Path, program: str = COMMAND, *, seconds: float = _LONGEST, **limits: int
) -> Ended:
    """Run a stage in a place under limits of `resource`, by name; on one core.

    After ``seconds`` it is killed.
    """

    def bounded() -> None:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
        for name, limit in limits.items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))

    arguments = [argument.format(place=path) for argument in stage.arguments]
    command = (sys.executable, "-c", program, *arguments, "--root", str(path / "root"))
    try:
        done = subprocess.run(
            (*command, "--threads", "1", "--verbose"),
            capture_output=True,
            text=True,
            preexec_fn=bounded,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired:
        return Ended(_HANGS, f"it had not ended after {seconds:.0f} s")
    return Ended(done.returncode, done.stderr)


def smallest(suffices: Callable[[int], bool], low: int, high: int) -> int:
    """Return the smallest size that suffices above ``low``, to an eighth of ``high - low``.

    ``high`` grows until it suffices.
    """
    step = (high - low) // 8
    while not suffices(high):
        low, high = high, high + 4 * step
    while high - low > step:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


@contextmanager
def fresh(root: Path) -> Iterator[Path]:
    """Give an empty directory that is deleted afterwards."""
    with tempfile.TemporaryDirectory(dir=root) as name:
        yield Path(name)


@contextmanager
def disk(path: Path, size: int) -> Iterator[None]:
    """Give a place a disk of its own; `PermissionError` where this user may mount none."""
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", path], capture_output=True
    )
    if made.returncode:
        raise PermissionError("no disk can be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", path], check=True)


class Limits:
    """A stage, what it takes without limits, and what becomes of it under them."""

    def __init__(self, stage: Stage, root: Path) -> None:
        self.stage, self.root = stage, root
        with fresh(root) as place:
            start = time.monotonic()
            whole = run(stage, place)
            self.patience = 10 + 3 * (time.monotonic() - start)
            if whole.code:
                raise RuntimeError(f"{stage.name}: {whole.log}")
            self.written = bytes_of(place)
            sizes = [path.stat().st_size for path in place.rglob("*") if path.is_file()]
            self.largest = max(sizes, default=0)
        self.memory, self.disk = whole.stated("memory"), whole.stated("disk")

    def trials(self) -> Iterator[Trial]:
        """Run the stage out of one thing after the other."""
        yield self._memory()
        if self.disk > 1 << 20:
            size = int(_SHARE * self.disk)
            yield self._trial("disk", size, small=size, estimate=self.disk, need=self.written)
        if self.written > 1 << 20:
            size = self.written // 2
            yield self._trial("disk, filling", size, _LARGE, small=size)
            size = self.largest // 2
            yield self._trial("file size", size, FSIZE=size)
        yield self._trial("open files", _FILES, NOFILE=_FILES)

    def _memory(self) -> Trial:
        """Find what the process holds and what the stage needs, and refuse the stage."""
        with fresh(self.root) as place:
            held = run(self.stage, place, _HOLDS).held

        def suffices(size: int) -> bool:
            with fresh(self.root) as place:
                return self._run(place, _LARGE, DATA=size).code == 0

        least = smallest(suffices, held or _LEAST, held + self.memory if held else 4 * _LEAST)
        limit = held + int(_SHARE * self.memory) if held else int(_SHARE * least)
        need = least - held if held else 0
        return self._trial("memory", limit, estimate=self.memory, need=need, DATA=limit)

    def _trial(
        self,
        out_of: str,
        limit: int,
        program: str = COMMAND,
        *,
        small: int = 0,
        estimate: int = 0,
        need: int = 0,
        **limits: int,
    ) -> Trial:
        with fresh(self.root) as path, disk(path, small) if small else nullcontext():
            ended = self._run(path, program, **limits)
            left = bool(ended.code) and (path / "out").exists()
            goes_on = not ended.code or self._goes_on(path)
        name, said = self.stage.name, ended.said
        return Trial(name, out_of, limit, ended.code, said, goes_on, left, estimate, need)

    def _run(self, path: Path, program: str = COMMAND, **limits: int) -> Ended:
        return run(self.stage, path, program, seconds=self.patience, **limits)

    def _goes_on(self, path: Path) -> bool:
        """Say whether the stage ends well with room, and writes what it writes without limits."""
        if os.path.ismount(path):
            subprocess.run(["mount", "-o", "remount,size=100%", path], check=True)
        again = self._run(path)
        return again.code == 0 and abs(bytes_of(path) - self.written) <= _NEAR * self.written


def stages_of(root: Path, documents: int) -> list[Stage]:
    """Make what the stages read, without limits, and return them."""
    table = load_table(str(TABLE), TABLE.parent)
    text = TABLE.read_text().replace(
        "rates = [0.03]", f"rates = [0.03]\nbudget = {_TRIPLES * documents}"
    )
    (root / TABLE.name).write_text(text)
    write_dump(root / "enwiki-pages-articles.xml.bz2", documents)
    views = ",".join(sorted({view for row in table.rows for view in row.ranker().views()}))
    out = ("--out", "{place}/out")
    corpus, task, model, index = (str(root / name) for name in ("corpus", "task", "model", "index"))
    made = ("data", "ingest", "zipf", "--size", str(documents))
    features = ("data", "features", corpus, "--words", "all", "--views")
    indexed = ("data", "index", model, "--task", task)
    for name, arguments in (("corpus", made), ("task", (*features, views))):
        _make(name, arguments, root)
    ranker = table.row(_INDEXED).ranker()
    fitted = replace(ranker, budget=documents).fit(open_task(root / "task"), default_rng(0))
    fitted.save(root / "model")
    _make("index", indexed, root)
    search = ("search", model, _QUERY, "--index", index)
    train = ("lab", "train", str(root / TABLE.name), "--task", task, "--row")
    return [
        Stage(
            "ingest a dump",
            ("data", "ingest", "wikipedia", str(root / "enwiki-pages-articles.xml.bz2"), *out),
        ),
        Stage("make the collection", (*made, *out)),
        Stage("features", (*features, views, *out)),
        Stage("features, 30,000 words", ("data", "features", corpus, "--views", "raw", *out)),
        Stage("features by DICE", (*features, _CFH, *out)),
        *(
            Stage(f"train {row.label}", (*train, row.label))
            for row in table.rows
            if "200" not in row.label or "LSI" in row.label
        ),
        Stage("evaluate", ("lab", "evaluate", model, "--task", task)),
        Stage("index", (*indexed, *out)),
        Stage("index --without-words", (*indexed, "--without-words", *out)),
        Stage("index, float16", (*indexed, "--storage", "float16", *out)),
        Stage("search", search),
        Stage("search --approximate", (*search, "--approximate")),
    ]


def _make(name: str, arguments: Sequence[str], root: Path) -> None:
    ended = run(Stage(name, (*arguments, "--out", str(root / name))), root)
    if ended.code:
        raise RuntimeError(f"{name}: {ended.log}")


def line(trial: Trial) -> str:
    """Return a trial as a line of the table."""
    sizes = [amount(size) if size else "-" for size in (trial.estimate, trial.need)]
    ratio = f"{trial.estimate / trial.need:.2f}" if trial.estimate and trial.need else "-"
    limit = str(trial.limit) if trial.out_of == "open files" else amount(trial.limit)
    on = ("yes" if trial.goes_on else "NO") + (", LEFT" if trial.left else "")
    return _LINE.format(trial.stage, trial.out_of, limit, trial.code, on, *sizes, ratio, trial.said)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits", description=__doc__)
    parser.add_argument("--documents", type=int, default=10_000, metavar="N")
    parser.add_argument("--stage", action="append", help="only those whose name begins so")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--place", type=Path, help="directory for all of it, which stays")
    arguments = parser.parse_args()
    before, trials = surroundings(), []
    print(_LINE.format(*_HEAD))
    with _root(arguments.place, arguments.documents) as root:
        for stage in stages_of(root, arguments.documents):
            if not stage.name.startswith(tuple(arguments.stage or [""])):
                continue
            for trial in Limits(stage, root).trials():
                trials.append(trial)
                print(line(trial), flush=True)
    if arguments.json:
        found = {"surroundings": before, "documents": arguments.documents}
        found["trials"] = [asdict(trial) for trial in trials]
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
