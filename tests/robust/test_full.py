"""A disk that is full from some write on, in every verb: said in words, and nothing half made.

``SSI_PLACES`` writes of each verb (default 3) at which the disk becomes full; ``SSI_KILLS_SEED``
draws them.
"""

import os
import random
import shutil

import pytest

from tests.killing import FULL, Faults, contents
from tests.robust import verbs

PLACES = int(os.environ.get("SSI_PLACES", "3"))
SEED = int(os.environ.get("SSI_KILLS_SEED", "1"))
VERBS = [one for one in verbs.verbs() if one not in {*verbs.SERVERS, *verbs.LONG}]

pytestmark = [pytest.mark.slow]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    place = tmp_path_factory.mktemp("full")
    here = place / "here"
    here.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        commands = verbs.make(here, patch)
    shutil.copytree(here, place / "kept", symlinks=True)

    def reset():
        shutil.rmtree(here)
        shutil.copytree(place / "kept", here, symlinks=True)
        return here

    return reset, commands


def result(here):
    new = here / "new"
    return contents(new) if new.is_dir() else new.read_bytes() if new.exists() else None


def test_all_verbs_are_tried_or_left_out_for_a_reason(made):
    assert set(made[1]) == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_a_full_disk_is_said(verb, made, capsys):
    reset, commands = made
    words = commands[verb]
    here = reset()
    with Faults(here) as faults:
        whole = verbs.run_verb(here, words, faults)
        calls = len(faults.log())
    assert whole.code == 0, whole.printed
    expected = result(here)
    draw = random.Random(f"{SEED} {verb}")
    said = []
    for part in range(PLACES):
        at = 1 + int((part + draw.random()) / PLACES * calls) if part else 1
        here = reset()
        with Faults(here, at, FULL) as faults:
            ended = verbs.run_verb(here, words, faults)
            where = faults.log()[at - 1 : at]
        last = ended.printed.strip().splitlines()[-1]
        again = verbs.run_verb(here, words, Faults(here))
        said.append((at, where, ended.code, "Traceback" in ended.printed, last[-230:], again.code, again.printed[-200:] if again.code else "", result(here) == expected))
    with capsys.disabled():
        print(f"\n{verb}: {calls}")
        for one in said: print("   ", *one)
