"""One flipped bit in what is read back is noticed, or changes nothing: never another number.

``SSI_FLIPS`` sets how many bits of each kind are flipped; a table of all is printed at the end.
"""

import os
import random
from contextlib import suppress

import pytest

from ssi_core.guests.live.changes import FILE, Changes
from ssi_core.guests.live.searcher import Document
from ssi_core.types import BadInput, Refused
from tests.robust.kinds import KINDS, Made
from tests.robust.tally import FLIPS as TABLE
from tests.robust.tally import Hangs, alarm, attempt

FLIPS = int(os.environ.get("SSI_FLIPS", "8"))


@pytest.fixture(scope="module")
def made(corpus_dir, task_dir):
    return Made.of(corpus_dir, task_dir)


@pytest.fixture(scope="module", autouse=True)
def _root(tmp_path_factory):
    """Make a root with a database of MLflow."""
    from flows import tracking
    from flows.servers import migration

    root = tmp_path_factory.mktemp("root")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_ROOT", str(root))
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        with tracking.database.quiet():
            migration.prepare(root / "mlruns" / "mlflow.db")
        yield


def flipped(content, draw):
    """Return some bytes with one bit flipped."""
    spoiled = bytearray(content)
    spoiled[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return spoiled


def outcome_of(opened, directory, before):
    """Read a directory of which a bit is flipped; ``before`` is what the whole one gives."""
    try:
        with alarm(60):
            found = opened(directory)
    except (BadInput, Refused):
        return "noticed"
    except Hangs:
        return "crashed"
    except ValueError as error:  # of programs that run without the library
        return "noticed" if "it was changed after it was written" in str(error) else "raw"
    except Exception:
        return "raw"
    return "harmless" if found is not None and found == before else "silent"


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_noticed_or_changes_nothing(kind, made, tmp_path):
    directory = tmp_path / "made"
    opened = KINDS[kind](directory, made)
    before = opened(directory)
    draw, wrong = random.Random(f"{kind} {FLIPS}"), []
    paths = sorted(path for path in directory.rglob("*") if path.is_file())
    paths = [path for path in paths if path.stat().st_size]
    for _ in range(FLIPS):
        path = draw.choice(paths)
        whole = path.read_bytes()
        path.write_bytes(flipped(whole, draw))
        outcome = outcome_of(opened, directory, before)
        TABLE.add(kind, outcome)
        if outcome in TABLE.wrong:
            wrong.append((outcome, str(path.relative_to(directory))))
        path.write_bytes(whole)
    assert not wrong
    assert opened(directory) == before


@pytest.mark.hostile("databases")
def test_added_documents_are_repaired_after_a_flipped_bit(tmp_path):
    """SQLite has bits that mean nothing, such as those of free places."""
    texts = [Document(f"d{n}", f"title {n}", f"text {n} " * (n % 40), None) for n in range(300)]
    Changes(tmp_path / FILE).put(texts)
    Changes(tmp_path / FILE).drop([f"d{n}" for n in range(0, 300, 7)])
    written, content = Changes(tmp_path / FILE).read(), (tmp_path / FILE).read_bytes()
    draw, noticed, repaired, flips = random.Random(FLIPS), [], 0, max(60, FLIPS)
    for number in range(flips):
        path = tmp_path / str(number) / FILE
        path.parent.mkdir()
        path.write_bytes(flipped(content, draw))
        try:
            with attempt():
                assert Changes(path).read() == written
            continue
        except (BadInput, Refused) as error:
            noticed.append(str(error))
        if len(noticed) % 5:
            continue
        with suppress(BadInput):
            left_out = Changes.repair(path)
            added, gone = Changes(path).read()
            assert {one.id for one in added} <= {one.id for one in written[0]}
            assert all(one in written[0] for one in added)
            assert set(gone) <= set(written[1])
            assert left_out.kept == len(added) + len(gone)
            repaired += left_out.kept >= 250
    assert len(noticed) > flips / 3
    assert all(str(tmp_path) in message for message in noticed)
    assert repaired > len(noticed) / 10
