"""Every verb on a disk that becomes full, and with little memory: said in words, nothing half made.

``SSI_PLACES`` writes of each verb (default 3) from which on the disk is full; ``SSI_KILLS_SEED``
draws them.
"""

import os
import random
import re
import shutil
from collections import Counter

import pytest

from tests.killing import FULL, Faults
from tests.robust import killed, verbs

PLACES = int(os.environ.get("SSI_PLACES", "3"))
SEED = int(os.environ.get("SSI_KILLS_SEED", "1"))
VERBS = [one for one in verbs.verbs() if one not in {*verbs.SERVERS, *verbs.LONG}]
DONE, REFUSED = 0, 4

pytestmark = [pytest.mark.slow]


class Place:
    """A directory, always the same, in which each verb has what it reads."""

    def __init__(self, path):
        self.here, self.kept = path / "here", path / "kept"
        self.here.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            self.commands = verbs.make(self.here, patch)
        shutil.copytree(self.here, self.kept, symlinks=True)

    def reset(self):
        shutil.rmtree(self.here)
        shutil.copytree(self.kept, self.here, symlinks=True)

    def run(self, verb, faults, **how):
        return verbs.run_verb(self.here, self.commands[verb], faults, **how)

    def plain(self, verb):
        """Run a verb with all that it needs; return its writes."""
        with Faults(self.here) as faults:
            ended = self.run(verb, faults)
            assert ended.code == DONE, ended.printed
            return len(faults.log())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return Place(tmp_path_factory.mktemp("verbs"))


def test_all_verbs_are_tried_or_left_out_for_a_reason(place):
    assert set(place.commands) == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_a_full_disk_is_said_and_the_next_run_makes_the_same(verb, place, capsys):
    place.reset()
    calls = place.plain(verb)
    expected = killed.outcome(place.here)
    draw = random.Random(f"{SEED} {verb}")
    ends = Counter()
    for part in range(PLACES):
        at = 1 + int((part + draw.random()) / PLACES * calls) if part else 1
        place.reset()
        before = killed.acknowledged(place.here)
        with Faults(place.here, at, FULL) as faults:
            ended = place.run(verb, faults)
            where = next((line for line in faults.log() if line.startswith(f"{at} ")), "nowhere")
        ends[ended.code] += 1
        said = f"disk full at {where} of {calls}: {ended.code}\n{ended.printed}"
        assert "Traceback" not in ended.printed, said
        assert ended.code in ((DONE,) if verb in verbs.READS else (DONE, REFUSED)), said
        if ended.code == REFUSED:
            last = ended.printed.strip().splitlines()[-1]
            assert re.search("no space is left on its disk|disk is full", last), said
            assert "Make room" in last, said
        assert before - killed.acknowledged(place.here) == set(), said
        if ended.code == REFUSED or verb not in verbs.ONCE:
            place.plain(verb)
        found = killed.outcome(place.here)
        assert [name for name in expected if found.get(name) != expected[name]] == [], said
        assert killed.left_over(place.here) == [], said
    with capsys.disabled():
        print(f"\nseed {SEED}: {verb}, {calls} writes: {dict(ends)}")


@pytest.mark.trains
@pytest.mark.parametrize("verb", VERBS)
def test_little_memory_is_said(verb, place):
    least = verbs.command_of(verb).addresses
    # Too little must be said; with more a verb may also be done.
    for memory, name in {100: "ulimit -v", least + 10: "", least + 600: ""}.items():
        place.reset()
        with Faults(place.here) as faults:
            ended = place.run(verb, faults, memory=memory)
        said = f"{memory} MiB: {ended.code}\n{ended.printed}"
        assert "Traceback" not in ended.printed, said
        assert ended.code in ((REFUSED,) if name else (DONE, REFUSED)), said
        if ended.code == REFUSED:
            last = ended.printed.strip().splitlines()[-1]
            assert "memory" in last, said
            assert name in last, said
