"""What is said where a machine runs out of something: the cause, and a remedy that helps."""

import errno
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from ssi_core import files, resources
from ssi_core.types import Refused
from tests.killing import COUNT, FULL, Faults, run_code

PACKAGE = Path(files.__file__).parent

FILE_LIMIT = (
    "import resource, sys; from ssi_core import files; from pathlib import Path; "
    "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)); "
    "print(files.refusal(OSError(sys.argv[1]), Path('out')))"
)


@pytest.mark.parametrize(
    "error",
    [
        OSError("Not enough free space to write 24000000 bytes after offset 128"),
        OSError("1000 requested and 10 written"),
        pl.exceptions.ComputeError(
            "parquet: File out of specification: Invalid thrift: transport error"
        ),
        shutil.Error([("a", "b", "[Errno 28] No space left on device: 'b'")]),
    ],
)
def test_a_full_disk_is_known_by_its_words(error, tmp_path):
    if resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY:
        pytest.skip("this machine limits the size of files")
    assert "no space is left on its disk. " in str(files.refusal(error, tmp_path))


def test_a_limit_on_files_is_raised_and_not_the_room(tmp_path):
    said = str(files.refusal(OSError(errno.EFBIG, "File too large"), tmp_path))
    assert "ulimit -f" in said
    assert "Raise that limit" in said
    assert "Make room" not in said


@pytest.mark.parametrize("words", ["9 requested and 1 written", "disk I/O error"])
def test_what_lost_its_number_under_a_limit_names_both(words):
    command = (sys.executable, "-c", FILE_LIMIT, words)
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "no space is left" in said
    assert "ulimit -f" in said


def test_an_error_of_a_database_is_no_lack_of_room_by_itself(tmp_path):
    if resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY:
        assert files.refusal(sqlite3.OperationalError("disk I/O error"), tmp_path) is None


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_file_that_cannot_be_opened_is_not_called_damaged(number, tmp_path):
    with pytest.raises(Refused, match="ulimit -n") as raised, files.reading(tmp_path / "data.npy"):
        raise OSError(number, "Too many open files")
    assert "Remove" not in str(raised.value)
    assert "ulimit -n" in str(files.refusal(OSError(number, "Too many open files"), tmp_path))


def test_the_bound_that_refuses_is_named(monkeypatch):
    monkeypatch.setenv("SSI_MEMORY", "1k")
    with pytest.raises(Refused, match=r"Or raise what bounds it: SSI_MEMORY\.$"):
        resources.require("a stage", memory=10_000)


def test_an_array_that_is_written_through_a_map_finds_a_full_disk_when_it_is_made(tmp_path):
    code = (
        "from pathlib import Path; from ssi_core.arrays import create_array\n"
        f"create_array(Path({str(tmp_path / 'a.npy')!r}), 'float32', (1000, 10))[:] = 1"
    )
    for kind, said in ((COUNT, ""), (FULL, "No space left on device")):
        with Faults(tmp_path, 1, kind, "*fallocate* *") as faults:
            ended = run_code(code, faults)
            assert len(faults.log()) == 1
        assert (ended.code, said in ended.printed) == (int(kind == FULL), True)


def test_a_full_disk_at_any_write_of_a_parquet_file_is_known(tmp_path):
    code = (
        "from pathlib import Path; import polars as pl; from ssi_core import files\n"
        f"path = Path({str(tmp_path / 'a.parquet')!r})\n"
        "with files.writing(path.parent), open(path, 'wb') as file:\n"
        # Its end is larger than what is buffered.
        "    frame = pl.DataFrame({f'column {n}': ['b'] * 9 for n in range(99)})\n"
        "    frame.write_parquet(file if {how} else path)"
    )
    for how in ("True", "False"):
        with Faults(tmp_path) as faults:
            assert run_code(code.replace("{how}", how), faults).code == 0
            calls = len(faults.log())
        (tmp_path / "a.parquet").unlink()
        for at in range(1, calls + 1):
            with Faults(tmp_path, at, FULL) as faults:
                ended = run_code(code.replace("{how}", how), faults)
            (tmp_path / "a.parquet").unlink(missing_ok=True)
            assert "no space is left on its disk" in ended.printed, f"{at}: {ended.printed}"


def test_a_full_disk_at_any_write_of_a_database_is_known(tmp_path):
    code = (
        "import sqlite3; from contextlib import closing; from pathlib import Path\n"
        f"from ssi_core import files; path = Path({str(tmp_path / 'a.db')!r})\n"
        "with files.writing(path.parent), closing(sqlite3.connect(path)) as made, made:\n"
        "    made.execute('create table a (b)')\n"
        "    made.execute('insert into a values (?)', ('c' * 5000,))"
    )
    with Faults(tmp_path) as faults:
        assert run_code(code, faults).code == 0
        calls = len(faults.log())
    for at in range(1, calls):  # the last one removes the journal
        (tmp_path / "a.db").unlink(missing_ok=True)
        with Faults(tmp_path, at, FULL) as faults:
            ended = run_code(code, faults)
        assert "no space is left on its disk" in ended.printed, f"{at}: {ended.printed}"


@pytest.mark.parametrize(("limit", "option"), [("AS", "ulimit -v"), ("DATA", "ulimit -d")])
def test_a_limit_below_what_libraries_take_is_refused_before_they_load(limit, option, tmp_path):
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_{limit}, (200 << 20, 200 << 20))\n"
        "from ssi_core.command.library import main; main(['data', 'sample', 'own', '--out', 'new'])"
    )
    with Faults(tmp_path) as faults:
        ended = run_code(code, faults, SSI_ROOT=str(tmp_path / "root"))
    assert ended.code == 4
    said = f"ssi: refused: {option} leaves 200 MiB of memory, and the libraries of ssi take"
    assert said in ended.printed


def test_no_other_array_is_made_through_a_map():
    """A block that the disk has no room for ends the process with SIGBUS."""
    found = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if re.search(r"memmap\([^)]*\"w", path.read_text(encoding="utf-8"))
    ]
    assert found == ["arrays.py"]
