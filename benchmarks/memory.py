"""Time and peak memory of ingestion and features on a generated dump, all processes together.

The two commands run as a user runs them, on two cores, and no process may take more than 4 GiB of
data (RLIMIT_DATA). The peak is that of the sum of the proportional set sizes (PSS) of the command
and its children, looked at ten times a second. ``SSI_BENCH_DOCUMENTS`` sets the number of pages.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

import psutil

from benchmarks.timing import Row
from ssi_core.sample.encyclopedia import ENGLISH_DUMP, write_sample

LIMIT = 4 << 30
_CORES = 2
_PAUSE = 0.1
_SSI = (sys.executable, "-c", "from flows.cli import main; main()")


@dataclass(frozen=True)
class Usage:
    """Seconds of a command by the wall clock and of its processors, and its peaks in bytes.

    ``peak`` is of the PSS, ``data`` of the part of it that no file backs: pages of mapped files are
    the system's to drop. ``output`` is what the command wrote.
    """

    seconds: float
    cpu_seconds: float
    peak: int
    data: int
    output: str


def _sizes(process: psutil.Process) -> tuple[int, int]:
    """Return the PSS of a process and all below it, and of that what no file backs, in bytes.

    One that has ended has none.
    """
    found = {"Pss:": 0, "Pss_Anon:": 0}
    for one in (process, *process.children(recursive=True)):
        try:
            lines = Path(f"/proc/{one.pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            name, value = line.split()[:2]
            if name in found:
                found[name] += int(value) << 10
    return found["Pss:"], found["Pss_Anon:"]


def _of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def _bounded(limit: int) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:_CORES])
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def measure(command: Sequence[str], limit: int = LIMIT) -> Usage:
    """Run a command to its end; `subprocess.CalledProcessError` if it fails.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    limit : int
        Bytes of data that a process may take.
    """
    start, before, sizes = time.monotonic(), _of_children(), [(0, 0)]
    with TemporaryFile("w+") as output, TemporaryFile("w+") as log:
        process = psutil.Popen(
            command, stdout=output, stderr=log, preexec_fn=lambda: _bounded(limit)
        )
        while process.poll() is None:
            try:
                sizes.append(_sizes(process))
            except psutil.NoSuchProcess:
                break
            time.sleep(_PAUSE)
        if process.wait():
            log.seek(0)
            error = subprocess.CalledProcessError(process.returncode, command)
            error.add_note(log.read())
            raise error
        seconds = time.monotonic() - start
        output.seek(0)
        peak, data = map(max, zip(*sizes, strict=True))
        return Usage(seconds, _of_children() - before, peak, data, output.read())


def rows() -> Iterator[Row]:
    documents = int(os.environ.get("SSI_BENCH_DOCUMENTS", "20000"))
    with TemporaryDirectory() as name:
        directory = Path(name)
        write_sample(directory / "sample", documents=documents)
        dump, corpus = directory / "sample" / ENGLISH_DUMP, directory / "corpus"
        root = ("--root", str(directory), "--threads", str(_CORES))
        stages = {
            "ingest": ("data", "ingest", *root, "wikipedia", str(dump), "--out", str(corpus)),
            "features": ("data", "features", *root, str(corpus), "--out", str(directory / "task")),
        }
        for stage, arguments in stages.items():
            used = measure((*_SSI, *arguments))
            yield Row(
                f"{stage}, {documents:,} pages: 4 GiB / peak of all processes",
                "MB",
                used.peak / 1e6,
                LIMIT / 1e6,
                LIMIT / used.peak,
                floor=1,
                note=f"{used.seconds:.0f} s, {used.cpu_seconds:.0f} s of the processors",
            )


def main() -> None:
    used = measure(sys.argv[1:])
    print(f"{used.seconds:.1f} s, {used.cpu_seconds:.1f} CPU s, peak {used.peak / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
