"""Checks of all that a store holds."""

import os
import sqlite3
from contextlib import closing

from ssi_core.guests.upkeep.verify import verify
from tests.killing import FULL, Faults, run_code


def test_verify_reads_all_of_it_anew(sealed, tmp_path, monkeypatch):
    assert [(one.path, one.problem) for one in verify([tmp_path])] == [(sealed, None)]
    # Nothing says that the file has changed but its bytes.
    part = sealed / "weights.npy"
    before = part.stat()
    part.write_bytes(part.read_bytes()[:-1] + b"\x01")
    os.utime(part, ns=(before.st_atime_ns, before.st_mtime_ns))
    seen = []
    (found,) = verify([tmp_path], lambda share, what: seen.append(what))
    assert "weights.npy" in found.problem
    assert seen == [str(sealed)]


def test_a_database_that_a_full_disk_keeps_from_being_read_is_not_called_damaged(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.db")) as made, made:
        made.execute("PRAGMA journal_mode = wal")
        made.execute("CREATE TABLE a (b)")
    code = (
        "from pathlib import Path; from ssi_core.guests.upkeep.verify import verify\n"
        f"verify([Path({str(tmp_path)!r})])"
    )
    with Faults(tmp_path, 1, FULL) as faults:
        ended = run_code(code, faults)
    assert "no space is left on its disk" in ended.printed
    assert "move the file away" not in ended.printed
