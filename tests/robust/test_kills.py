"""``kill -9`` at a write, drawn from all writes of a command; then the same command again.

``SSI_KILLS`` kills in all (default 10, one of each kind), spread over the writes of each command;
``SSI_KILLS_SEED`` draws them. A line is printed for each kill, with the write that it came before:
a write of bytes is cut in half.
"""

import os
import random
import shutil
import signal
from collections import Counter

import pytest

from tests.killing import GROUP, PROCESS, Faults, run_code
from tests.parts.machines import running
from tests.robust import killed, verbs

SHARES = {
    "fit": 14, "rank rerank fit": 14, "export": 12, "ops backup": 12, "data ingest": 10,
    "data features": 10, "dask worker": 10, "lab pipeline": 8, "retrain": 6, "first command": 4,
}  # fmt: skip
"""What is killed -> kills of a hundred."""
KILLS = int(os.environ.get("SSI_KILLS", len(SHARES)))
SEED = int(os.environ.get("SSI_KILLS_SEED", "1"))
SERVED = """
from flows import tracking
from flows.servers.server import Server
with Server() as server:
    tracking.ready()
    server.ready()
"""
SPREAD = "data ingest wikipedia root/data/dump.xml.bz2 --out new --where"

pytestmark = [pytest.mark.slow, pytest.mark.kill]


def drawn(kills):
    """Yield (kind, part of its writes): each kind once, then as their shares are."""
    order = {}
    for kind, share in SHARES.items():
        parts = list(range(share))
        random.Random(f"{SEED} {kind}").shuffle(parts)
        order[kind] = [part / share for part in parts]
    turns = [(kind, turn) for turn in range(100) for kind in SHARES if turn < SHARES[kind]]
    for n in range(kills):
        kind, turn = turns[n % len(turns)]
        yield kind, order[kind][turn]


class Trials:
    """One directory, always the same, in which commands are run."""

    def __init__(self, path):
        self.here, self.kept = path / "here", path / "kept"
        self.here.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            self.commands = verbs.make(self.here, patch)
        shutil.copytree(self.here, self.kept, symlinks=True)
        dump = [str(self.here / "root" / "data" / "dump.xml.bz2")]
        words = ["data", "ingest", "wikipedia", *dump, "--processes", "2", "--out", "new"]
        self.commands["data ingest"] = words
        self.whole = {}

    def reset(self, kind):
        shutil.rmtree(self.here)
        if kind == "first command":
            self.here.mkdir()
        else:
            shutil.copytree(self.kept, self.here, symlinks=True)

    def run(self, kind, faults):
        """Run a command; `faults` count the writes of a Dask worker, or else of all processes."""
        if kind == "first command":
            return run_code(SERVED, faults, ready=verbs.READY, SSI_ROOT=str(self.here / "root"))
        if kind != "dask worker":
            return verbs.run_verb(self.here, self.commands[kind], faults)
        path = self.here.parent / "dask"
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        with pytest.MonkeyPatch.context() as patch, Faults(self.here) as plain:
            for name, value in faults.variables.items():
                patch.setenv(name, value)
            with running(path, workers=2) as dask:
                return verbs.run_verb(self.here, [*SPREAD.split(), dask.where], plain)

    def undisturbed(self, kind):
        """Number of writes without a kill, what is made, and what it takes the place of."""
        if kind not in self.whole:
            self.reset(kind)
            before = killed.acknowledged(self.here)
            with Faults(self.here) as faults:
                ended = self.run(kind, faults)
                calls = len(faults.log())
            assert ended.code == 0, ended.printed
            assert killed.left_over(self.here) == []
            replaced = before - killed.acknowledged(self.here)
            self.whole[kind] = calls, killed.outcome(self.here), replaced
        return self.whole[kind]


@pytest.fixture(scope="module")
def trials(tmp_path_factory):
    return Trials(tmp_path_factory.mktemp("kills"))


@pytest.fixture(scope="module")
def table(trials):
    """Kind -> numbers of kills and of what was wrong; shown at the end."""
    found = {}
    yield found
    print(f"\nseed {SEED}\nkind: writes, {', '.join(COLUMNS)}")
    for kind, numbers in found.items():
        print(f"{kind}: {trials.whole[kind][0]}, {', '.join(str(numbers[c]) for c in COLUMNS)}")


COLUMNS = ("kills", "lost", "different", "failed", "left over")


@pytest.mark.parametrize(("kind", "part"), list(drawn(KILLS)))
def test_the_same_command_again_makes_the_same(kind, part, trials, table, capsys):
    calls, expected, replaced = trials.undisturbed(kind)
    draw = random.Random(f"{SEED} {kind} {part}")
    at = 1 + int((part + draw.random() / SHARES[kind]) * calls)
    whom = PROCESS if kind == "dask worker" or draw.random() < 0.5 else GROUP
    trials.reset(kind)
    before = killed.acknowledged(trials.here) - replaced
    with Faults(trials.here, at, whom) as faults:
        first = trials.run(kind, faults)
        hit = [line for line in faults.log() if line.startswith(f"{at} ")]
        assert killed.processes(trials.here) == []
    if kind != "first command":  # which is code of a test
        assert "Traceback" not in first.printed
    lost = before - killed.acknowledged(trials.here)
    with Faults(trials.here) as faults:
        again = trials.run(kind, faults)
    lost |= before - killed.acknowledged(trials.here)
    found, left = killed.outcome(trials.here), killed.left_over(trials.here)
    different = [name for name in expected.keys() | found if expected.get(name) != found.get(name)]

    numbers = table.setdefault(kind, Counter())
    wrong = {"lost": lost, "different": different, "failed": again.code, "left over": left}
    numbers.update(kills=bool(hit), **{name: bool(value) for name, value in wrong.items()})
    with capsys.disabled():
        call = hit[0].replace(f"{trials.here}/", "") if hit else f"{at} was not reached"
        ended = "was killed" if first.code == -signal.SIGKILL else f"ended with {first.code}"
        group = "process" if whom == PROCESS else "group"
        shown = {name: value for name, value in wrong.items() if value}
        print(
            f"\nseed {SEED}: {kind}, {call} of {calls}, {group}: {ended}; again: {shown or 'equal'}"
        )
    assert again.code == 0, again.printed
    assert (lost, different, left) == (set(), [], [])
    if kind != "first command":
        with Faults(trials.here) as faults:
            verified = verbs.run_verb(trials.here, ["data", "store", "verify"], faults)
        assert verified.code == 0, verified.printed
