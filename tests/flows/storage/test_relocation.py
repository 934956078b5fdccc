"""Roots that were moved, backed up and restored."""

import errno
import gzip
import io
import json
import os
import shutil
import sqlite3
import tarfile
import threading
import time
import zlib
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from flows import sensor, tracking
from flows.servers import database_lock
from flows.storage import backup, relocation, restore, sqlite
from flows.tracking import registry
from ssi_core import locks, store
from ssi_core.guests.monitoring import trial
from ssi_core.types import BadInput, Refused
from tests.flows import direct, roots

pytestmark = pytest.mark.trains


@contextmanager
def rooted(root):
    """A root by the environment, and no other setting."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if name.startswith(("SSI_", "PREFECT_", "MLFLOW_")):
                patch.delenv(name)
        patch.setenv("SSI_ROOT", str(root))
        yield patch


@pytest.fixture(scope="module")
def original(tmp_path_factory, models_of_little_code):
    """A trained root that is no longer where it was written: (where it was, where it is, runs)."""
    was = tmp_path_factory.mktemp("first") / "röot"
    (was / "data").mkdir(parents=True)
    with rooted(was) as patch:
        patch.setattr(trial, "subprocess", direct.Trials)
        runs = roots.make(was, patch)
    return was, was.rename(was.with_name("away")), runs


@pytest.fixture(scope="module")
def backed_up(original, tmp_path_factory):
    """Another copy of that root, and its archive beside it."""
    root = shutil.copytree(original[1], tmp_path_factory.mktemp("backed_up") / "there")
    (root / "mlruns" / ".gitignore").write_text("*")  # of a clone
    with rooted(root):
        backup.back_up(root.with_name("backup.tar.gz"))
    return root


@pytest.fixture
def root(original, own_root, tmp_path):
    """A copy of that root at another place."""
    return shutil.copytree(original[1], tmp_path / "root")


@pytest.fixture
def there(original, own_root, tmp_path, monkeypatch):
    """Another copy of that root, to be backed up."""
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "there"))
    return shutil.copytree(original[1], tmp_path / "there")


@pytest.fixture
def archive(backed_up, own_root, tmp_path):
    """A copy of the archive of a root."""
    return Path(shutil.copy(backed_up.with_name("backup.tar.gz"), tmp_path))


def assert_all_works(ssi, runs):
    assert ssi("compare", "made-up")[0] == 0
    code, answer, _ = ssi("search", runs["1"], "car engine")
    assert code == 0
    assert answer["results"]
    assert ssi("search", "models:/ssi@champion", "moon")[0] == 0
    assert [change["version"] for change in ssi("ops", "champions")[1]["changes"]] == ["1", "2"]
    assert ssi("ops", "rollback", "--why", "test")[1]["version"] == "1"
    assert ssi("ops", "promote", runs["2"])[1]["version"] == "2"


def test_a_root_that_was_moved_works(root, original, ssi):
    was, _, runs = original
    assert not was.exists()

    assert_all_works(ssi, runs)

    assert roots.mentions(root, str(was)) == []
    assert json.loads((root / "mlruns" / "root.json").read_text()) == {"root": str(root)}


def test_what_was_moved_finds_its_sources(root, original, monkeypatch):
    relocation.settle()

    frozen = store.read(root / ".ssi" / "frozen" / "ssi" / "0001", "frozen")
    assert frozen.configuration["source"] == str(root / "data" / "corpus")
    emitted = []
    monkeypatch.setattr(sensor, "emit_event", lambda *_, **__: emitted.append(1))
    dump = root / "data" / "dump.xml.bz2"
    assert sensor.sensor.fn(sensor.SensorSettings(paths=[str(dump)])) == []


def test_a_kill_while_paths_are_rewritten_does_no_harm(root, original, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(relocation, "note", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            relocation.settle()
    with monkeypatch.context() as patch:
        patch.setattr(relocation, "_rewrite_database", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            relocation.settle()

    assert registry.champion() == "2"

    assert roots.mentions(root, str(original[0])) == []


def test_a_root_is_not_rewritten_while_it_is_used(root):
    with (
        locks.shared(database_lock.users_of(relocation.database())),
        pytest.raises(Refused, match=r"moved here from .* another process uses it"),
    ):
        relocation.settle()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("/a/b", "/a/b/c"),
        ("/a/b/x", "/a/b/c/x"),
        ("/a/b/c/x", "/a/b/c/x"),
        ("/a/bc/x", "/a/bc/x"),
        ("file:///a/b/x", "file:///a/b/c/x"),
        ("see /a/b/x", "see /a/b/x"),
        ('{"uri": "/a/b/x", "n": 1}', '{"uri": "/a/b/c/x", "n": 1}'),
        ("[no JSON /a/b", "[no JSON /a/b"),
        ('["/a/b/x", 3, {"k": "/a/b"}]', '["/a/b/c/x", 3, {"k": "/a/b/c"}]'),
        (r'{"in": "[\"/a/b\", \"/a/b/c\"]"}', r'{"in": "[\"/a/b/c\", \"/a/b/c\"]"}'),
    ],
)
def test_paths_below_a_directory_are_rewritten_once(value, expected):
    assert relocation.rewritten(value, "/a/b", "/a/b/c") == expected
    assert relocation.rewritten(expected, "/a/b", "/a/b/c") == expected


def test_paths_that_are_not_ascii_are_rewritten_in_json_and_in_text():
    for old, new in (("/a", "/ö"), ("/ö", "/a"), ("/ö", '/"'), ("/ö", "/ö/ü")):
        assert relocation.rewritten(f"{old}/x", old, new) == f"{new}/x"
        for is_ascii in (True, False):
            text = json.dumps({"uri": f"{old}/x"}, ensure_ascii=is_ascii)
            once = relocation.rewritten(text, old, new)
            assert json.loads(once) == {"uri": f"{new}/x"}
            assert relocation.rewritten(once, old, new) == once


def test_a_backup_is_restored_at_another_path(archive, original, monkeypatch, tmp_path, ssi):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "restored"))
    (tmp_path / "restored" / "mlruns").mkdir(parents=True)
    (tmp_path / "restored" / "mlruns" / ".gitignore").write_text("*")  # a fresh clone

    code, answer, _ = ssi("ops", "restore", archive)

    assert code == 0
    assert answer["files"] > 50
    assert_all_works(ssi, original[2])
    assert roots.mentions(tmp_path / "restored", str(original[0])) == []
    assert (tmp_path / "restored" / ".ssi" / "checkpoints").is_dir()


@pytest.mark.parametrize(
    ("place", "name"),
    [(restore, "_end_runs"), (relocation, "_rewrite_database"), (shutil, "move")],
)
def test_a_restore_on_a_full_disk_can_be_run_again(
    place, name, archive, monkeypatch, tmp_path, ssi
):
    def full(*given):
        if any(str(one).endswith("mlflow.db") for one in given):
            raise sqlite3.OperationalError("database or disk is full")
        works(*given)

    works, clone = getattr(place, name), tmp_path / "restored" / "mlruns" / ".gitignore"
    clone.parent.mkdir(parents=True)
    clone.write_text("*")
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "restored"))
    with monkeypatch.context() as patch:
        patch.setattr(place, name, full)
        assert ssi("ops", "restore", archive)[0] == 4
    assert list(clone.parent.iterdir()) == [clone]
    assert ssi("ops", "restore", archive)[0] == 0
    assert registry.champion() == "2"


def test_files_are_restored_with_their_times(archive, backed_up, monkeypatch, tmp_path):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "restored"))
    restore.restore(archive)
    for file in (backed_up / ".ssi" / "frozen").rglob("*.npy"):
        again = tmp_path / "restored" / file.relative_to(backed_up)
        assert again.read_bytes() == file.read_bytes()
        assert again.stat().st_mtime_ns == file.stat().st_mtime_ns


def test_the_essential_is_what_cannot_be_made_again(there, original, tmp_path, ssi, monkeypatch):
    code, answer, _ = ssi("ops", "backup", tmp_path / "essential.tar", "--essential")
    assert (code, answer["essential"]) == (0, True)
    with tarfile.open(tmp_path / "essential.tar") as tar:
        tops = {"/".join(name.split("/")[:2]) for name in tar.getnames()}
    assert {".ssi/frozen", "mlruns/artifacts", "mlruns/mlflow.db"} <= tops
    left = {"store", "checkpoints", "tmp", "logs", "prefect"}
    assert not tops & {f".ssi/{name}" for name in left}
    assert (tmp_path / "essential.tar").stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "restored"))
    assert ssi("ops", "restore", tmp_path / "essential.tar")[0] == 0
    assert_all_works(ssi, original[2])


def test_a_run_that_was_at_work_is_killed_in_the_restored_root(there, tmp_path, monkeypatch):
    run = tracking.client().create_run(tracking.experiment_id("trained")).info.run_id
    backup.back_up(tmp_path / "backup.tar")
    tracking.client().set_terminated(run, "FINISHED")
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "restored"))

    restore.restore(tmp_path / "backup.tar")

    assert tracking.client().get_run(run).info.status == "KILLED"


def test_only_a_root_without_data_is_restored_into(archive, root):
    before = sorted(root.rglob("*"))

    with pytest.raises(Refused, match=r"mlruns holds data .*Name another root"):
        restore.restore(archive)

    assert sorted(root.rglob("*")) == before


def test_an_archive_is_not_overwritten(archive):
    content = archive.read_bytes()
    with pytest.raises(Refused, match="is there already"):
        backup.back_up(archive)
    with pytest.raises(BadInput, match=r"ends with \.tar"):
        backup.back_up(archive.with_suffix(".zip"))

    assert archive.read_bytes() == content


def test_what_only_reads_works_where_a_root_can_only_be_read(there, ssi, monkeypatch):
    def refused(path):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    relocation.settle()
    asked = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and asked(path, mode))
    monkeypatch.setattr(locks, "opened", refused)
    assert len(ssi("ops", "champions")[1]["changes"]) == 2
    assert ssi("data", "store", "list")[1]["artefacts"]


def test_a_backup_makes_no_directory_that_may_be_a_disk_that_is_not_there(there, tmp_path):
    with pytest.raises(BadInput, match=r"no directory .*disk\. .*mkdir -p "):
        backup.back_up(tmp_path / "disk" / "backup.tar")
    assert not (tmp_path / "disk").exists()


def test_a_backup_of_nothing_says_so(tmp_path, ssi, monkeypatch):
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "elsewhere"))
    code, answer, said = ssi("ops", "backup", tmp_path / "backup.tar")
    assert (code, answer["files"]) == (0, 0)
    assert "the archive is empty" in said
    assert "elsewhere holds no data. Name the root" in said


def test_a_refused_restore_leaves_no_directory_of_a_root(tmp_path, ssi, monkeypatch):
    (tmp_path / "no.tar").write_text("no archive")
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "restored"))
    assert ssi("ops", "restore", tmp_path / "no.tar")[0] == 3
    assert not [*(tmp_path / "restored").iterdir()]


def test_a_failed_backup_leaves_no_archive(there, tmp_path, monkeypatch):
    monkeypatch.setattr(backup, "_add", lambda *_: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        backup.back_up(tmp_path / "backup.tar")

    assert [file.name for file in tmp_path.iterdir() if "backup" in file.name] == []


def nothing(archive):
    archive.write_bytes(b"")


def cut(archive):
    archive.write_bytes(archive.read_bytes()[:-5000])


def flip(archive):
    content = bytearray(gzip.decompress(archive.read_bytes()))
    at = content.index(b"SQLite format 3") + 5000
    content[at] ^= 1
    archive.write_bytes(gzip.compress(bytes(content), 1))


def unpacks(content):
    """Tell whether bytes are whole; some bits may have either value, as of repeated zeros."""
    try:
        return bool(gzip.decompress(content))
    except (OSError, EOFError, zlib.error):
        return False


def flip_compressed(archive):
    content = bytearray(archive.read_bytes())
    position = len(content) // 2
    content[position] ^= 1
    while unpacks(content):
        content[position] ^= 1
        position += 1
        content[position] ^= 1
    archive.write_bytes(content)


def with_member(name, kind=tarfile.REGTYPE):
    def change(archive):
        with tarfile.open(archive, "w:gz") as tar:
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "/etc/passwd"
            tar.addfile(member, io.BytesIO())

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (nothing, "is damaged"),
        (cut, "is damaged"),
        (flip, "has not the digest"),
        (flip_compressed, "is damaged"),
        (with_member("mlruns/../../evil"), "is no plain file of a root"),
        (with_member("/etc/evil"), "is no plain file of a root"),
        (with_member("mlruns/link", tarfile.SYMTYPE), "is no plain file of a root"),
        (with_member("mlruns/artifacts/one"), "it is no backup, or its end is missing"),
    ],
)
def test_a_bad_archive_is_not_restored(change, message, archive, tmp_path, monkeypatch):
    change(archive)
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "restored"))

    with pytest.raises(BadInput, match=message):
        restore.restore(archive)

    assert [file for file in tmp_path.rglob("restored/**/*") if file.is_file()] == []
    assert not (tmp_path.parent / "evil").exists()


def test_a_database_is_copied_whole_while_it_is_written(tmp_path):
    database, done = tmp_path / "one.db", threading.Event()
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("create table one (a, b)")

    def write():
        with closing(sqlite3.connect(database, timeout=20)) as connection:
            while not done.is_set():
                with connection:
                    connection.execute("insert into one values (1, 1)")
                    connection.execute("update one set b = a")
                time.sleep(0.001)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(3):
            sqlite.copy(database, tmp_path / f"{number}.copy")
            with closing(sqlite3.connect(tmp_path / f"{number}.copy")) as copy:
                assert copy.execute("pragma integrity_check").fetchall() == [("ok",)]
    finally:
        done.set()
        writer.join()
