"""Time, memory and disk of the whole pipeline on collections up to the size of the paper's.

    python -m benchmarks.wikipedia 10000 100000 --json FILE

The collection is made up (`ssi ingest zipf`): 1,800,000 documents have the size of the corpus of
Bai et al. (2010). A tenth of it is read as a dump, too. Every stage is a command as a user gives
it, on two cores; no process may take more than 12 GiB of data (RLIMIT_DATA). The peak is that of
the proportional set sizes of a command and its children. Trainings take ten triples a document, so
that the work for a document is the same at all sizes: no validation ends them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.memory import Usage, measure
from benchmarks.timing import surroundings
from ssi_core.experiment import load_table
from ssi_core.sample.zipf import write_dump

LIMIT = 12 << 30
TABLE = Path(__file__).with_suffix(".toml")
_SSI = (sys.executable, "-c", "from flows.cli import main; main()")
_PART_AS_DUMP = 10
_TRIPLES = 10
_LARGEST = 20_000_000
_HEAD = ("stage", "documents", "CPU s", "s", "peak MB", "disk MB")
_LINE = "{:34} {:>10} {:>9} {:>9} {:>8} {:>8}"


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
    disk : int
        Bytes that it has written and that stay.
    """

    stage: str
    collection: int
    documents: int
    cpu_seconds: float
    seconds: float
    peak: int
    disk: int


def bytes_of(place: Path) -> int:
    """Return the bytes on disk of a file or a directory."""
    if place.is_file():
        return place.stat().st_size
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())


def stages(documents: int, root: Path) -> Iterator[Stage]:
    """Run the pipeline on a collection of a size, and yield its stages as they end."""
    corpus, task, dice = root / "corpus", root / "task", root / "dice"
    base = ("--root", str(root), "--threads", "2")

    def command(*arguments: str | Path) -> Usage:
        return measure((*_SSI, *map(str, arguments), *base), limit=LIMIT)

    def stage(name: str, size: int, used: Usage, *written: Path) -> Stage:
        disk = sum(map(bytes_of, written))
        return Stage(name, documents, size, used.cpu_seconds, used.seconds, used.peak, disk)

    dump, tenth = root / "enwiki-pages-articles.xml.bz2", documents // _PART_AS_DUMP
    write_dump(dump, tenth)
    used = command("ingest", "wikipedia", dump, "--out", root / "ingested")
    yield stage("ingest a dump of a tenth", tenth, used, root / "ingested")
    shutil.rmtree(root / "ingested")
    dump.unlink()
    used = command("ingest", "zipf", "--documents", str(documents), "--out", corpus)
    yield stage("make the collection", documents, used, corpus)
    table = load_table(str(TABLE), TABLE.parent)
    views = sorted({view for row in table.rows for view in row.ranker().views()})
    used = command("features", corpus, "--words", "all", "--views", ",".join(views), "--out", task)
    yield stage("features", documents, used, task)
    hashed = ("--words", "all", "--views", "cfh:k=5,words=30000,ngrams=1", "--out", dice)
    yield stage("features by DICE", documents, command("features", corpus, *hashed), dice)
    shutil.rmtree(dice)
    short = root / TABLE.name
    budget = min(_LARGEST, _TRIPLES * documents)
    short.write_text(
        TABLE.read_text().replace("rates = [0.03]", f"rates = [0.03]\nbudget = {budget}")
    )
    runs = {}
    for row in table.rows:
        before = bytes_of(root / "mlruns")
        used = command("train", short, "--task", task, "--row", row.label, "--json")
        runs[row.label] = json.loads(used.output)["run_id"]
        trained = stage(f"{row.label}: train, evaluate", documents, used)
        yield Stage(**{**asdict(trained), "disk": bytes_of(root / "mlruns") - before})
    run = runs["U'V + I N=100"]
    used = command("index", run, "--task", task, "--out", root / "index")
    yield stage("index", documents, used, root / "index")
    search = ("search", run, "bafo ceqa tata", "--index", root / "index")
    yield stage("search, one process", documents, command(*search))
    yield stage("search --approximate, first", documents, command(*search, "--approximate"))
    yield stage("search --approximate, again", documents, command(*search, "--approximate"))


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
    megabytes = [f"{value / 1e6:,.0f}" for value in (one.peak, one.disk)]
    times = [f"{value:,.1f}" for value in (one.cpu_seconds, one.seconds)]
    return _LINE.format(one.stage, f"{one.documents:,}", *times, *megabytes)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wikipedia", description=__doc__)
    parser.add_argument("sizes", nargs="+", type=int, metavar="DOCUMENTS")
    parser.add_argument("--json", type=Path, metavar="FILE", help="read what is there, and add")
    parser.add_argument("--place", type=Path, help="directory of a disk with room for all")
    arguments = parser.parse_args()
    kept = arguments.json and arguments.json.exists()
    results = json.loads(arguments.json.read_text()) if kept else {"stages": []}
    measured = [Stage(**one) for one in results["stages"]]
    print(_LINE.format(*_HEAD))
    for size in arguments.sizes:
        measured = [one for one in measured if one.collection != size]
        with tempfile.TemporaryDirectory(dir=arguments.place, prefix="wikipedia-") as root:
            for one in stages(size, Path(root)):
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
