"""Type pages as a stranger does, each from an empty folder with an empty home: make journeys.

A page is typed block by block on terminals of 80 columns: commands in a bash of their own, Python
in one process for the page. The table says how many blocks a page has, how many were typed and how
many passed, the time and the CPU time of all that they started, the longest time in which a screen
showed nothing new, and the lines that are wider than the terminal, those of JSON apart. A block
that `not_run.toml` excuses is not typed, nor one of `make`, which `.ci/run` runs.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import polars as pl
import pytest

from ssi_core.sample.shop import write_shop
from tests.datasets.dumps import real_data
from tests.flows import printed
from tests.flows.pages import NOT_RUN, REPOSITORY, command_lines, every_block
from tests.flows.test_own_page import write_files
from tests.terminals import Session

JOURNEYS = {
    "README": "README.md",
    "python": "docs/python.md",
    "own-texts": "docs/own-texts.md",
    "search-engineer": "docs/search-engineer.md",
    "researcher": "docs/researcher.md",
    "operator": "docs/operator.md",
    "clicks": "docs/clicks.md",
    "export": "docs/export.md",
}
IN_A_CLONE = {"operator"}
"""Journeys that begin in a fresh clone; the others begin in an empty folder."""
MOST_SECONDS = 900
FOREIGN = ("COLUMNS", "LINES", "NO_COLOR", "NUMBA_DISABLE_JIT", "XDG_CACHE_HOME")
"""Variables of whoever types `make journeys` that a stranger does not have."""
DRIVER = """
import os, sys
orders, answers = (os.fdopen(int(end), mode) for end, mode in zip(sys.argv[1:], "rw"))
names = {"__name__": "__main__"}
for line in orders:
    with open(line.rstrip()) as file:
        exec(compile(file.read(), file.name, "exec"), names)
    print("done", file=answers, flush=True)
"""
"""Runs files as one program, each once it is told so."""


def logs(path):
    """Write the logs of two days, published ones, and that of a shop as OpenSearch exports it."""
    printed.logs_of_two_days(path)
    for name in ("zzquerylog", "discernatron", "wikiqa"):
        (path / name).symlink_to(real_data(name))
    write_shop(path, products=100)
    for name in ("ubi_queries.ndjson", "ubi_events.ndjson"):
        (path / f"{name}.gz").write_bytes(gzip.compress((path / "ubi" / name).read_bytes()))
    (path / "ubi" / "judgements.json").rename(path / "judgements.json")
    asked = [{"queryText": "boha"}, {"queryText": "red"}]
    (path / "queryset.json").write_text(json.dumps({"name": "two", "querySetQueries": asked}))


def own_texts(path):
    """Write what the page reads beside the articles and links that it makes."""
    write_files(path)
    for name in ("articles.jsonl", "links.csv"):
        (path / name).unlink()
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "ssi_core", "data", "sample", "own", "--out", "."]
        environment = printed.variables(REPOSITORY)
        subprocess.run(command, cwd=scratch, env=environment, check=True, capture_output=True)
        links = pl.read_csv(Path(scratch, "links.csv"))
    named = {"source": "from", "target": "to", "words": "label"}
    links.rename(named).write_csv(path / "worded.tsv", separator="\t")


FILES = {"own-texts": own_texts, "clicks": logs}
"""Page -> what writes the files that it expects a person to have."""


def write_maps(page, path):
    """Write the maps of logs that a page prints, as the next command calls them."""
    form = ""
    for block in every_block(page):
        if block.kind == "toml":
            form = block.text
        for words in command_lines(block) if block.kind in ("", "sh") else ():
            if form and "--map" in words:
                (path / words[words.index("--map") + 1]).write_text(form)
                form = ""


class Failed(Exception):
    """A block that does not work as it is printed."""


class Typist:
    """Types blocks in a folder; `terminals` are those that it has opened, the last one last."""

    def __init__(self, place, environment):
        self.place, self.environment = place, environment
        self.terminals, self.python = [], None

    def type(self, block):
        """Type a block, and wait until it has ended or what it starts answers."""
        (self._type_python if block.kind == "python" else self._type_commands)(block.text)

    def _open(self, command, **more):
        self.terminals.append(Session(command, cwd=self.place, env=self.environment, **more))
        return self.terminals[-1]

    def _type_commands(self, text):
        terminal = self._open(["bash", "-euc", text])
        serves = printed.answers_of(text)
        end = time.monotonic() + MOST_SECONDS
        while terminal.process.poll() is None:
            with contextlib.suppress(httpx.HTTPError):
                if serves and serves[0](terminal.text):
                    return
            if time.monotonic() > end:
                raise Failed(f"nothing after {MOST_SECONDS} s")
            time.sleep(0.05)
        code = terminal.ended()
        if code or serves:
            raise Failed(f"ended with exit code {code}")

    def _type_python(self, text):
        if self.python is None:
            (orders, send), (receive, answers) = os.pipe(), os.pipe()
            ends = (orders, answers)
            self._open([sys.executable, "-c", DRIVER, *map(str, ends)], pass_fds=ends)
            for end in ends:
                os.close(end)
            self.python = os.fdopen(send, "w"), os.fdopen(receive)
        orders, answers = self.python
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(text)
            file.flush()
            print(file.name, file=orders, flush=True)
            if not answers.readline():
                self.terminals[-1].read_to_the_end(60)
                raise Failed("Python has ended")

    def leave(self):
        """End what still runs: Python, which waits for the next block, and servers by Ctrl-C."""
        for end in self.python or ():
            end.close()
        for terminal in reversed(self.terminals):
            if DRIVER not in terminal.process.args:
                terminal.interrupt()
            try:
                terminal.ended(60)
            except subprocess.TimeoutExpired as late:
                raise Failed("Ctrl-C does not end it") from late
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(terminal.process.pid, signal.SIGKILL)


HEAD = ("page", "blocks", "typed", "passed", "s", "CPU s", "silent s", "wide lines")


@dataclass
class Row:
    """What became of the blocks of a page."""

    page: str
    blocks: int = 0
    typed: int = 0
    passed: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    silent: float = 0.0
    wide: int = 0
    failures: list[str] = field(default_factory=list)

    def cells(self):
        """Return the row as texts, in the order of `HEAD`."""
        whole = (self.blocks, self.typed, self.passed, round(self.seconds), round(self.cpu))
        return [self.page, *map(str, whole), f"{self.silent:.1f}", str(self.wide)]


def is_typed(page, block):
    """Whether a block that a person can type is typed here."""
    if block.kind == "python":
        return True
    made = all(words[0] == "make" for words in command_lines(block))
    return not made and block.first not in NOT_RUN.get(page, {})


def travel(name, folder, screens):
    """Type a page in an empty folder; return its row, and keep what the terminals showed."""
    page, row = JOURNEYS[name], Row(name)
    path, home = folder / "work", folder / "home"
    path.mkdir()
    home.mkdir()
    if name in IN_A_CLONE:
        printed.clone(path)
    FILES.get(name, lambda place: None)(path)
    printed.write_tables(page, path)
    write_maps(page, path)
    source = path if name in IN_A_CLONE else REPOSITORY
    clean = {k: v for k, v in printed.variables(source).items() if k not in FOREIGN}
    typist = Typist(path, clean | {"HOME": str(home)})
    before, begin, silent = cpu(), time.monotonic(), {}

    @contextlib.contextmanager
    def attempt(what):
        try:
            yield
        except Failed as failed:
            shown = typist.terminals[-1].text().splitlines()[-10:]
            row.failures.append("\n  ".join([what.strip(), str(failed), *shown]))

    for block in every_block(page):
        if block.kind not in ("", "sh", "python"):
            continue
        row.blocks += 1
        if not is_typed(page, block):
            continue
        row.typed += 1
        with attempt(block.text):
            typist.type(block)
            row.passed += 1
        terminal = typist.terminals[-1]
        terminal.heard()
        row.silent = max(row.silent, terminal.silence)
        silent[terminal] = terminal.silence
    with attempt("the end of the page"):
        typist.leave()
    row.seconds, row.cpu = time.monotonic() - begin, cpu() - before
    for number, (terminal, silence) in enumerate(silent.items()):
        command, shown = terminal.process.args, terminal.text()
        typed = "the page's Python" if DRIVER in command else command[-1].strip()
        (screens / f"{name}-{number}.txt").write_text(
            f"{typed}\n--- silent for {silence:.1f} s\n{shown}\n"
        )
        lines = (terminal.screen.lines[start] for start in terminal.screen.wide)
        row.wide += sum(not text.startswith("{") for text in lines)
        if "Traceback (most recent call last)" in shown:
            row.failures.append(f"{typed}\n  shows a traceback")
    return row


def cpu():
    """CPU seconds of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    """Print the table; exit with 1 if a block failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.flows.journeys", description=__doc__)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=", ".join(JOURNEYS))
    parser.add_argument("--screens", type=Path, help="folder for what the terminals showed")
    chosen = parser.parse_args()
    names = chosen.pages or [*JOURNEYS]
    if unknown := {*names} - {*JOURNEYS}:
        parser.error(f"no such page: {', '.join(sorted(unknown))}; there are {', '.join(JOURNEYS)}")
    rows = []
    print(line(HEAD))
    with printed.in_turn(), tempfile.TemporaryDirectory(prefix="ssi-journeys-") as scratch:
        if others := printed.taken(printed.PORTS):
            parser.error(f"somebody else has the ports {others}, which the pages name")
        screens = chosen.screens or Path(scratch)
        screens.mkdir(parents=True, exist_ok=True)
        for name in names:
            folder = Path(scratch, name)
            folder.mkdir()
            try:
                rows.append(travel(name, folder, screens))
            except pytest.skip.Exception as missing:
                print(f"{name:16}{missing}")
                continue
            print(line(rows[-1].cells()), flush=True)
    failures = [f"{row.page}: {failure}" for row in rows for failure in row.failures]
    print(*failures, sep="\n", file=sys.stderr, end="")
    return bool(failures)


def line(cells):
    first, *others = cells
    return f"{first:16}" + "".join(
        f"{cell:>{len(name) + 3}}" for cell, name in zip(others, HEAD[1:], strict=True)
    )


if __name__ == "__main__":
    sys.exit(main())
