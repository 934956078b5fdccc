"""Time, memory and disk of the whole pipeline on collections up to the size of the paper's.

    python -m benchmarks.wikipedia 10000 100000 --json FILE

The collection is made up (`benchmarks.zipf`): 1,800,000 documents have the size of the corpus of
Bai et al. (2010). A tenth of it is read as a dump, too. Every stage is a command as a user gives
it, on two cores; no process may take more than 12 GiB of data (RLIMIT_DATA). The peak is that of
the proportional set sizes of a command and its children; data is the part of it that no file backs.
Trainings take ten triples a document, so that the work for a document is the same at all sizes: no
validation ends them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.memory import Usage, measure
from benchmarks.timing import surroundings
from benchmarks.zipf import COMMAND
from benchmarks.zipf.world import write_dump
from ssi_core.experiment import load_table

LIMIT = 12 << 30
TABLE = Path(__file__).with_suffix(".toml")
_SSI = (sys.executable, "-c", COMMAND)
_PART_AS_DUMP = 10
_TRIPLES = 10
_LARGEST = 20_000_000
_INDEXED = "U'V + I N=100"
_QUERY = "bafo ceqa tata"
_HEAD = ("stage", "documents", "CPU s", "s", "peak MB", "data MB", "disk MB")
_LINE = "{:34} {:>10} {:>9} {:>9} {:>8} {:>8} {:>8}"

Measured = tuple[Usage, int]


@dataclass(frozen=True)
class Stage:
    """What a stage took.

    Attributes
    ----------
    stage : str
        Name.
    collection : int
        Documents of the collection.
    documents : int
        Documents that the stage reads: those of the collection, or of the dump.
    cpu_seconds, seconds : float
        Of all processors, and by the wall clock.
    peak : int
        Bytes of memory of all processes together.
    data : int
        The part of it that no file backs.
    disk : int
        Bytes that it has written and that stay.
    """

    stage: str
    collection: int
    documents: int
    cpu_seconds: float
    seconds: float
    peak: int
    data: int
    disk: int


def bytes_of(place: Path) -> int:
    """Return the bytes on disk of a file or a directory."""
    if place.is_file():
        return place.stat().st_size
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())


class Pipeline:
    """The stages of the pipeline on a collection of a size.

    Parameters
    ----------
    documents : int
        Documents of the collection.
    root : Path
        Directory for all that the stages write.
    """

    def __init__(self, documents: int, root: Path) -> None:
        self.documents = documents
        self.root = root
        self.table = load_table(str(TABLE), TABLE.parent)

    def steps(self) -> Iterator[tuple[str, int, Callable[[], Measured]]]:
        """Yield the name of each stage, the documents that it reads, and what runs it."""
        size, tenth = self.documents, self.documents // _PART_AS_DUMP
        yield "ingest a dump of a tenth", tenth, lambda: self._ingest(tenth)
        yield "make the collection", size, self._collection
        yield "features", size, self._features
        yield "features by DICE", size, self._dice
        for row in self.table.rows:
            yield f"{row.label}: train, evaluate", size, partial(self._train, row.label)
        yield "index", size, self._index
        yield "search, one process", size, self._search
        for when in ("first", "again"):
            name = f"search --approximate, {when}"
            yield name, size, lambda: self._search("--approximate")

    def _command(self, *arguments: str | Path) -> Usage:
        base = ("--root", str(self.root), "--threads", "2")
        return measure((*_SSI, *map(str, arguments), *base), limit=LIMIT)

    def _ingest(self, pages: int) -> Measured:
        dump, out = self.root / "enwiki-pages-articles.xml.bz2", self.root / "ingested"
        write_dump(dump, pages)
        used = self._command("data", "ingest", "wikipedia", dump, "--out", out)
        disk = bytes_of(out)
        shutil.rmtree(out)
        dump.unlink()
        return used, disk

    def _collection(self) -> Measured:
        out = self.root / "corpus"
        used = self._command("data", "ingest", "zipf", "--size", str(self.documents), "--out", out)
        return used, bytes_of(out)

    def _features(self) -> Measured:
        views = sorted({view for row in self.table.rows for view in row.ranker().views()})
        words = ("--words", "all", "--views", ",".join(views))
        out = self.root / "task"
        used = self._command("data", "features", self.root / "corpus", *words, "--out", out)
        return used, bytes_of(out)

    def _dice(self) -> Measured:
        words = ("--words", "all", "--views", "cfh:k=5,words=30000,ngrams=1")
        out = self.root / "dice"
        used = self._command("data", "features", self.root / "corpus", *words, "--out", out)
        disk = bytes_of(out)
        shutil.rmtree(out)
        return used, disk

    def _train(self, label: str) -> Measured:
        short = self.root / TABLE.name
        budget = min(_LARGEST, _TRIPLES * self.documents)
        rates = "rates = [0.03]"
        short.write_text(TABLE.read_text().replace(rates, f"{rates}\nbudget = {budget}"))
        before = bytes_of(self.root / "mlruns")
        task = self.root / "task"
        used = self._command("lab", "train", short, "--task", task, "--row", label, "--json")
        if label == _INDEXED:
            self._run.write_text(json.loads(used.output)["run_id"])
        return used, bytes_of(self.root / "mlruns") - before

    @property
    def _run(self) -> Path:
        return self.root / "indexed-run"

    def _index(self) -> Measured:
        out = self.root / "index"
        run, task = self._run.read_text(), self.root / "task"
        return self._command("data", "index", run, "--task", task, "--out", out), bytes_of(out)

    def _search(self, *options: str) -> Measured:
        index = ("--index", self.root / "index")
        return self._command("search", self._run.read_text(), _QUERY, *index, *options), 0


def stages(documents: int, root: Path, done: Container[str] = ()) -> Iterator[Stage]:
    """Run the stages that are not done on a collection of a size, and yield each as it ends.

    A stage that fails is said, and those after it are tried.
    """
    for name, read, run in Pipeline(documents, root).steps():
        if name in done:
            continue
        try:
            used, disk = run()
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            print(name, "failed:", error, *getattr(error, "__notes__", ()), file=sys.stderr)
            continue
        times, sizes = (used.cpu_seconds, used.seconds), (used.peak, used.data, disk)
        yield Stage(name, documents, read, *times, *sizes)


def exponents(measured: Sequence[Stage]) -> dict[str, float]:
    """Return the slope of ln(CPU seconds) over ln(documents) of each stage, by least squares."""
    slopes = {}
    for name in dict.fromkeys(one.stage for one in measured):
        points = [(one.documents, one.cpu_seconds) for one in measured if one.stage == name]
        if len(points) > 1:
            x, y = np.log(np.array(points, float)).T
            slopes[name] = float(np.polyfit(x, y, 1)[0])
    return slopes


def line(one: Stage) -> str:
    """Return a stage as a line of the table."""
    megabytes = [f"{value / 1e6:,.0f}" for value in (one.peak, one.data, one.disk)]
    times = [f"{value:,.1f}" for value in (one.cpu_seconds, one.seconds)]
    return _LINE.format(one.stage, f"{one.documents:,}", *times, *megabytes)


@contextmanager
def _root(place: Path | None, size: int) -> Iterator[Path]:
    """Give a directory of a size within the place, or one that is deleted in the end."""
    if place:
        root = place / str(size)
        root.mkdir(parents=True, exist_ok=True)
        yield root
    else:
        with tempfile.TemporaryDirectory(prefix="wikipedia-") as name:
            yield Path(name)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wikipedia", description=__doc__)
    parser.add_argument("sizes", nargs="+", type=int, metavar="DOCUMENTS")
    parser.add_argument("--json", type=Path, metavar="FILE", help="read what is there, and add")
    parser.add_argument(
        "--place", type=Path, help="keep all here, and go on with the stages that FILE lacks"
    )
    arguments = parser.parse_args()
    kept = arguments.json and arguments.json.exists()
    results = json.loads(arguments.json.read_text()) if kept else {"stages": []}
    measured = [Stage(**one) for one in results["stages"]]
    print(_LINE.format(*_HEAD))
    for size in arguments.sizes:
        with _root(arguments.place, size) as root:
            if not arguments.place:
                measured = [one for one in measured if one.collection != size]
            done = {one.stage for one in measured if one.collection == size}
            for one in stages(size, root, done):
                measured.append(one)
                print(line(one), flush=True)
                if arguments.json:
                    found = {
                        "surroundings": surroundings(),
                        "stages": [asdict(s) for s in measured],
                    }
                    arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    for name, slope in exponents(measured).items():
        print(f"{name}: CPU seconds grow as documents ^ {slope:.2f}")


if __name__ == "__main__":
    main()
