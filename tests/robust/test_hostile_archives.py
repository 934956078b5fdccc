"""Archives of a stranger: what no backup has is not restored, and no size is believed."""

import bz2
import gzip
import hashlib
import json
import os
import re
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from flows.cli import cli
from flows.storage import backup, restore
from ssi_core.command.verb import run
from tests.robust.tally import attempt

pytestmark = pytest.mark.hostile("archives")

REPOSITORY = Path(__file__).parents[2]
TERABYTE = 1 << 40
FILE = ("mlruns/artifacts/one", b"one")


@pytest.fixture
def root(tmp_path, monkeypatch):
    """The root to restore into, and no setting of the user."""
    for name in list(os.environ):
        if name.startswith(("SSI_", "PREFECT_", "MLFLOW_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "root"))
    return tmp_path / "root"


@pytest.fixture
def restored(root, tmp_path, capsys):
    """Restore an archive by the command; return its code, and the object that it prints."""

    def call(archive):
        with attempt() as seen:
            code = seen.code(run(cli, ["ops", "restore", str(archive), "--json"]))
        return code, json.loads(capsys.readouterr().out)

    return call


def add(tar, name, content=b"", size=None, **facts):
    """Add a member, which may be of another size than it says."""
    member = tarfile.TarInfo(name)
    member.size = len(content) if size is None else size
    for fact, value in facts.items():
        setattr(member, fact, value)
    buffer = member.tobuf(tarfile.PAX_FORMAT)
    tar.fileobj.write(buffer + content + bytes(-len(content) % 512))


def manifest_of(files, /, **facts):
    """The manifest of an archive."""
    listed = {
        name: {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "mtime_ns": 1}
        for name, content in files
    }
    whole = {"root": "/r", "made": "now", "essential": False, "files": listed, "left_out": []}
    return json.dumps({"format": 1, **whole, **facts}).encode()


def archive(place, *files, manifest=None, **members):
    """An archive of files with a manifest of them, after members that it may not know."""
    with tarfile.open(place, "w") as tar:
        for name, facts in members.get("members", ()):
            add(tar, name, **facts)
        for name, content in files:
            add(tar, name, content)
        add(tar, backup.MANIFEST, manifest_of(files) if manifest is None else manifest)
    return place


def test_what_no_backup_has_is_left_out(restored, root, tmp_path):
    """Settings that name functions to call, a secret, a database of commands to run."""
    prefect = [
        (f".ssi/prefect/{name}", b"evil")
        for name in ("logging.yml", "profiles.toml", "secret", "prefect.db", "storage/key")
    ]
    others = [(".ssi/evil.toml", b"e"), (".ssi/tmp/x", b"e"), ("mlruns/mlflow.db-journal", b"e")]
    code, answer = restored(archive(tmp_path / "a.tar", *prefect, FILE, *others))

    assert code == 0
    assert answer["files"] == 1
    assert answer["left_out"] == [name for name, _ in (*prefect, *others)]
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert files == {"mlruns/artifacts/one"}
    assert not (root / ".ssi" / "prefect").exists()


def test_every_directory_of_a_root_is_in_a_backup_or_is_not():
    """What is made below the home is on one of the lists."""
    named = {"store"}  # root.store_path
    for package in ("flows", "ssi_core"):
        for file in (REPOSITORY / package).rglob("*.py"):
            named |= set(re.findall(r'home\(\)(?:\.resolve\(\))? / "([^"]+)"', file.read_text()))
    assert named <= {*backup.KEPT, *backup.REBUILDABLE, *backup.NEVER}
    assert {"frozen", "serve", "prefect", "store"} <= named


def sparse(**headers):
    pax = {"GNU.sparse.name": FILE[0], "GNU.sparse.realsize": str(TERABYTE), **headers}
    content = bytes(1024) if "GNU.sparse.major" not in headers else b"1\n0\n1\n".ljust(1024, b"\0")
    return [(FILE[0], {"content": content, "pax_headers": pax})]


def old_sparse(tar):
    """The sparse file of GNU tar from before pax."""
    header = bytearray(tarfile.TarInfo(FILE[0]).tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[386:410] = b"%011o\0%011o\0" % (TERABYTE - 1, 1)
    header[483:495] = tarfile.itn(TERABYTE, 12, tarfile.GNU_FORMAT)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    tar.fileobj.write(bytes(header))


SPARSE = {
    "0.0": sparse(**{"GNU.sparse.size": str(TERABYTE), "GNU.sparse.numblocks": "0"}),
    "0.1": sparse(**{"GNU.sparse.map": "0,1", "GNU.sparse.size": str(TERABYTE)}),
    "1.0": sparse(**{"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}),
}


@pytest.mark.parametrize("kind", [*SPARSE, "old"])
def test_a_sparse_file_is_refused(kind, restored, root, tmp_path):
    if kind == "old":
        with tarfile.open(tmp_path / "a.tar", "w") as tar:
            old_sparse(tar)
    else:
        archive(tmp_path / "a.tar", members=SPARSE[kind])
    assert (tmp_path / "a.tar").stat().st_size < 20_000
    code, answer = restored(tmp_path / "a.tar")
    assert code == 3
    assert "a sparse file, which says any size" in answer["error"]["message"]
    assert not [path for path in root.rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", [FILE[0], ".ssi/prefect/secret"])
def test_a_file_that_does_not_fit_is_refused_before_it_is_read(name, restored, tmp_path):
    members = [(name, {"size": TERABYTE << 10})]
    code, answer = restored(archive(tmp_path / "a.tar", members=members))
    assert code == 4
    assert "takes 1126 TB, and" in answer["error"]["message"]
    assert "name another root (--root)" in answer["error"]["message"]


@pytest.mark.parametrize(("share", "code"), [(0.94, 0), (0.96, 4)])
def test_a_spare_of_the_disk_stays_free(share, code, restored, tmp_path, monkeypatch):
    monkeypatch.setattr(restore, "disk_free", lambda _: 100_000)
    content = bytes(int(share * 100_000))
    assert restored(archive(tmp_path / "a.tar", (FILE[0], content)))[0] == code


def nested(place):
    return archive(place, manifest=b"[" * 100_000)


def wrong(**facts):
    return lambda place: archive(place, manifest=manifest_of([], **facts))


def of_members(*members):
    return lambda place: archive(place, members=members)


def with_database(script):
    def make(path):
        with closing(sqlite3.connect(path.with_suffix(".db"))) as connection:
            connection.executescript(script)
        return archive(path, ("mlruns/mlflow.db", path.with_suffix(".db").read_bytes()))

    return make


def large_header(place):
    """A gigabyte of zeros, said to be the name of the next file, takes a megabyte of an archive."""
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.GNUTYPE_LONGNAME, 1 << 30
    with gzip.open(place, "wb", compresslevel=1) as file:
        file.write(header.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 16))
    return place


def negative(path):
    """A header by which a reader goes back, and reads the same for ever."""
    header = bytearray(tarfile.TarInfo(FILE[0]).tobuf(tarfile.GNU_FORMAT))
    header[124:136] = tarfile.itn(-512, 12, tarfile.GNU_FORMAT)
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    path.write_bytes(bytes(header) + bytes(1024))
    return path


def other_compression(path):
    path.write_bytes(bz2.compress(archive(path, FILE).read_bytes()))
    return path


def pax_of_pax(path):
    """Headers of headers, one in another."""
    header = tarfile.TarInfo("x")
    header.type = tarfile.XHDTYPE
    path.write_bytes(header.tobuf(tarfile.USTAR_FORMAT) * 3000 + bytes(1024))
    return path


LONG, DEEP = "mlruns/" + "n" * 300, "mlruns" + "/d" * 3000
ONE, TWO = ("mlruns/a", {"content": b"x"}), ("mlruns/a/b", {"content": b"x"})
BAD = {
    "a file as a directory": (of_members(ONE, TWO), "'mlruns/a/b' is there twice, or it or a part"),
    "a directory as a file": (of_members(TWO, ONE), "'mlruns/a' is there twice, or it or a part"),
    "a file as a deep directory": (
        of_members(ONE, ("mlruns/a/b/c", {})),
        "'mlruns/a/b/c' is there twice, or it or a part",
    ),
    "the same name twice": (of_members(ONE, ONE), "'mlruns/a' is there twice, or it or a part"),
    "a long name": (of_members((LONG, {})), "of names of at most 255 bytes"),
    "3,000 levels": (of_members((DEEP, {})), "at most 255 bytes and 100 levels"),
    "a nested manifest": (nested, "is damaged: maximum recursion depth"),
    "no list of files": (wrong(files=[]), "of its ssi-backup.json, files=[]: "),
    "a size that is no number": (
        wrong(files={"mlruns/a": {"sha256": "", "size": "1", "mtime_ns": 1}}),
        "of its ssi-backup.json, files='1': ",
    ),
    "a format of many words": (wrong(format="x" * 9999), "it has format xxxxxxxxxxxxxxxxxxxx, and"),
    "a name with a dot": (of_members(("mlruns/./a", {})), "is no plain file of a root"),
    "an empty name": (of_members(("mlruns//a", {})), "is no plain file of a root"),
    "a pipe": (of_members(("mlruns/a", {"type": tarfile.FIFOTYPE})), "is no plain file of a root"),
    "a large header": (large_header, "it has a header of 1.1 GB"),
    "a negative size": (negative, "it has a file of a negative size"),
    "headers of headers": (pax_of_pax, "is damaged"),
    "another compression": (other_compression, "is damaged"),
    "a large manifest": (
        of_members((backup.MANIFEST, {"size": 1 << 30})),
        "its ssi-backup.json has 1.1 GB",
    ),
    "a database without columns": (with_database("create table runs (a)"), "no such column"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_archive_is_named(what, restored, root, tmp_path):
    make, message = BAD[what]
    code, answer = restored(make(tmp_path / "a.tar"))
    assert code == 3, answer
    assert message in answer["error"]["message"]
    assert len(answer["error"]["message"]) < 600
    assert not [path for path in root.rglob("*") if path.is_file()]
    assert not (root / ".ssi-restore.partial").exists()


def test_what_is_restored_is_private(restored, root, tmp_path):
    script = "create table runs (status, end_time)"
    assert restored(with_database(script)(tmp_path / "a.tar"))[0] == 0
    assert (root / "mlruns" / "mlflow.db").stat().st_mode & 0o777 == 0o600
    assert (root / "mlruns").stat().st_mode & 0o777 == 0o700
