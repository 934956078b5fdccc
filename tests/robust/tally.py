"""Outcomes of what tests try, observed and counted: tables at the end of a run (`make hostile`).

A test says what it tries by ``with attempt():``, and its marker, ``hostile(KIND)``, the row. What
leaves the block is the outcome, whatever the test expects: `pytest.raises` stands outside of it.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ssi_core.types import BadInput, Refused

SECONDS = 20
"""Processor time of an attempt, after which it counts as hanging."""


@dataclass
class Table:
    """Counts of outcomes by kind: a wrong outcome is a failure, as is a kind that was not tried.

    Where the kinds are not said before, each that is tried is one.
    """

    title: str
    outcomes: tuple[str, ...]
    wrong: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    counts: dict[str, Counter[str]] = field(init=False)

    def __post_init__(self):
        self.counts = {kind: Counter() for kind in self.kinds}

    def add(self, kind, outcome):
        assert outcome in self.outcomes
        assert kind in self.kinds or not self.kinds, f"{kind!r} is no kind of {self.title!r}"
        self.counts.setdefault(kind, Counter())[outcome] += 1

    def failures(self, *, whole):
        """Sentences about what is wrong; of a whole run every kind was tried."""
        for kind, of_kind in self.counts.items():
            if whole and not of_kind:
                yield f"{kind}: nothing was tried"
            yield from (f"{kind}: {of_kind[bad]} {bad}" for bad in self.wrong if of_kind[bad])

    def lines(self):
        names = ("tried", *self.outcomes)
        total = sum(self.counts.values(), Counter())
        yield f"{self.title:24}" + "".join(f"{name:>10}" for name in names)
        for kind in (*(kind for kind, of_kind in self.counts.items() if of_kind), "all"):
            of_kind = total if kind == "all" else self.counts[kind]
            numbers = (of_kind.total(), *(of_kind[name] for name in self.outcomes))
            yield f"{kind:24}" + "".join(f"{number:>10,}" for number in numbers)


STRANGERS = Table(
    "brought by a stranger",
    ("refused", "harmless", "raw", "crashed", "run"),
    wrong=("raw", "crashed", "run"),
    kinds=(
        *("folders", "settings in folders", "archives", "packed files", "pages", "front matter"),
        *("tables", "parquet", "feeds", "resealed directories", "databases", "exports"),
        *("request bodies", "requests", "outputs"),
    ),
)
"""Refused is a message (`BadInput`, `Refused`, a 4xx); harmless is read as data, or left out."""

FLIPS = Table(
    "flipped bits",
    ("noticed", "harmless", "silent", "raw", "crashed"),
    wrong=("silent", "raw", "crashed"),
)
"""Noticed is a message, or something that is made again; harmless gives the same as before."""

TABLES = [STRANGERS, FLIPS]


class Hangs(BaseException):
    """An attempt took longer than it may; no handler of errors takes it for one."""


class Seen:
    """Outcome of an attempt that ends in a number instead of an error."""

    outcome = "harmless"

    def code(self, code):
        """An exit code: 2 to 4 refuse, 1 is an error that nobody foresaw, below 0 is a signal."""
        self._of(code, {0: "harmless", 2: "refused", 3: "refused", 4: "refused"}, code < 0)
        return code

    def status(self, status):
        """A status of HTTP."""
        self._of(status // 100, {2: "harmless", 4: "refused"}, crashed=False)
        return status

    def _of(self, number, known, crashed):
        self.outcome = "crashed" if crashed else known.get(number, "raw")
        assert self.outcome in known.values(), f"{self.outcome}: {number}"


@contextmanager
def attempt(kind=None, *, ran=None, refusals=(BadInput, Refused), seconds=SECONDS):
    """Observe what comes of something that a stranger brings.

    Parameters
    ----------
    kind : str, optional
        Row of the table; by default the one of the test's marker.
    ran : Path, optional
        File that the commands of the stranger would make.
    refusals : types of errors
        What a program that is not the library refuses with.
    """
    kind, seen = kind or _CURRENT.kind(), Seen()
    outcome, commands = "crashed", len(_COMMANDS)
    try:
        with alarm(seconds):
            yield seen
        outcome = seen.outcome
    except refusals:
        outcome = "refused"
        raise
    except Exception:
        outcome = "raw" if seen.outcome != "crashed" else "crashed"
        raise
    finally:
        foreign = _COMMANDS[commands:]
        if foreign or (ran is not None and Path(ran).exists()):
            outcome = "run"
        _CURRENT.attempts += 1
        STRANGERS.add(kind, outcome)
    assert outcome != "run", f"a command of the stranger was run: {foreign or ran}"


@contextmanager
def alarm(seconds):
    """End what computes for so many seconds, or lasts ten times as long: cores may be shared."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(number, frame):
        raise Hangs(f"{seconds} s are over")

    before = [(number, signal.signal(number, ring)) for number in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before:
            signal.signal(number, handler)


class _Current:
    """The test that runs, and how many attempts it has told of."""

    item, attempts = None, 0

    def kind(self):
        return self.item.get_closest_marker("hostile").args[0]


_CURRENT = _Current()
_COMMANDS: list[str] = []
"""Commands of this process that no test and no part of the library starts."""
_OWN = {Path(sys.executable).name, "python", "python3", "ssi", "prefect", "node", "git", "rm"}
_NO_TEST: set[str] = set()
"""Tests that bring nothing: they show what is allowed, or what is made."""


def _audited(event, args):
    if event in ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen"):
        program = args[0].decode(errors="replace") if isinstance(args[0], bytes) else str(args[0])
        if event == "os.system" or Path(program).name not in _OWN:
            _COMMANDS.append(f"{event} {program}")


class Plugin:
    """Knows which test runs; prints the tables, and fails a run in which something went wrong."""

    def __init__(self):
        self.audited = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        if item.get_closest_marker("hostile") is None:
            return (yield)
        if not self.audited:
            sys.addaudithook(_audited)
            self.audited = True
        _CURRENT.item, _CURRENT.attempts = item, 0
        try:
            return (yield)
        finally:
            _CURRENT.item = None
            if not _CURRENT.attempts:
                _NO_TEST.add(item.nodeid)

    def pytest_sessionfinish(self, session):
        if list(self._failures(session.config)) and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter, config):
        for table in TABLES:
            if any(table.counts.values()):
                terminalreporter.section(table.title)
                terminalreporter.write_line("\n".join(table.lines()))
        if _NO_TEST and self._is_whole(config):
            terminalreporter.write_line(f"{len(_NO_TEST)} tests more show what is allowed.")
        for sentence in self._failures(config):
            terminalreporter.write_line(f"FAILED {sentence}", red=True)

    def _failures(self, config):
        for table in TABLES:
            yield from table.failures(whole=table is STRANGERS and self._is_whole(config))

    @staticmethod
    def _is_whole(config):
        """Tell whether all hostile tests run in this process (`make hostile`)."""
        everywhere = config.args_source is pytest.Config.ArgsSource.TESTPATHS
        chosen = config.option.markexpr, config.option.keyword
        return everywhere and chosen == ("hostile", "")
