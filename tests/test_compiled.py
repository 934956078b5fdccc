"""Files of compiled kernels: whole or not there, whoever kills, writes or damages."""

import os
import resource
import signal
import stat
import subprocess
import sys
from itertools import count
from random import Random

import pytest

from ssi_core import compiled

PAYLOAD = bytes(range(256)) * 500

# Ends before the nth thing that the process asks of the file system, of those that Python reports.
DIES = """
import os, sys
from ssi_core import compiled
left = int(sys.argv[1])

def count_down(event, arguments):
    global left
    if event in ("open", "os.mkdir", "os.rename", "os.listdir", "os.scandir"):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)

sys.addaudithook(count_down)
compiled.write("build", "key", bytes(range(256)) * 500)
"""
# Ends when the file that it writes has grown to so many bytes.
STOPS = """
import resource, signal, sys
from ssi_core import compiled
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
compiled.write("build", "key", bytes(range(256)) * 500)
"""
WRITES = """
import sys
from ssi_core import compiled
sys.stdin.readline()
for n in range(300):
    compiled.write("build", f"key-{n % 2}", f"{n % 2} {sys.argv[1]} ".encode() * 20_000)
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("SSI_CACHE", str(tmp_path / "cache"))
    compiled._warn.cache_clear()
    return tmp_path / "cache" / "kernels"


def run(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True).returncode


def test_what_is_written_is_read():
    assert compiled.read("build", "key") is None
    compiled.write("build", "key", PAYLOAD)
    assert compiled.read("build", "key") == PAYLOAD
    assert compiled.read("build", "other") is None
    assert compiled.read("other", "key") is None
    compiled.write("build", "key", b"")
    assert compiled.read("build", "key") == b""
    compiled.remove("build", "key")
    assert compiled.read("build", "key") is None


def test_the_directory_is_closed_to_others(place):
    compiled.write("build", "key", PAYLOAD)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert stat.S_IMODE((place / "build").stat().st_mode) == 0o700
    assert stat.S_IMODE((place / "build" / "key").stat().st_mode) == 0o600


def test_a_process_that_is_killed_leaves_all_or_nothing(place):
    outcomes = []
    for n in count():
        code = run(DIES, n)
        outcomes.append(compiled.read("build", "key"))
        if code == 0:
            break
        assert code == -signal.SIGKILL
        # What it left stands in nobody's way.
        compiled.write("build", "key", b"anew")
        assert compiled.read("build", "key") == b"anew"
        compiled.empty()
    assert len(outcomes) > 4
    assert set(outcomes[:-1]) == {None}
    assert outcomes[-1] == PAYLOAD


@pytest.mark.parametrize("size", [1, 31, 32, 33, 50_000, len(PAYLOAD) + 31])
def test_a_process_that_is_killed_within_a_write_leaves_nothing(place, size):
    compiled.write("build", "other", b"other")
    assert run(STOPS, size) == -signal.SIGXFSZ
    assert compiled.read("build", "key") is None
    assert compiled.read("build", "other") == b"other"
    assert compiled.size()[0] == 1
    assert compiled.empty()[1] > size


def test_a_full_disk_is_no_error(place, caplog):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        for _ in range(2):
            compiled.write("build", "key", PAYLOAD)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert compiled.read("build", "key") is None
    assert list((place / "build").iterdir()) == []
    assert [one.levelname for one in caplog.records] == ["WARNING"]
    assert "File too large" in caplog.text


def test_two_writers_never_mix():
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITES, name], stdin=subprocess.PIPE)
        for name in ("one", "two")
    ]
    for writer in writers:
        writer.stdin.write(b"\n")
        writer.stdin.flush()
    reads = []
    while any(writer.poll() is None for writer in writers):
        reads += [(n, compiled.read("build", f"key-{n}")) for n in range(2)]
    for writer in writers:
        writer.stdin.close()
        assert writer.returncode == 0
    reads += [(n, compiled.read("build", f"key-{n}")) for n in range(2)]
    for n, payload in reads:
        if payload is not None:
            assert payload in [f"{n} {name} ".encode() * 20_000 for name in ("one", "two")]
    assert None not in (reads[-2][1], reads[-1][1])
    assert compiled.size()[0] == 2


def test_no_flipped_bit_and_no_lost_byte_is_read(place):
    compiled.write("build", "key", PAYLOAD)
    file = place / "build" / "key"
    whole, random = file.read_bytes(), Random(1)
    for flip in range(200):
        damaged = bytearray(whole)
        # Every other one in the digest.
        damaged[random.randrange(32 if flip % 2 else len(whole))] ^= 1 << random.randrange(8)
        file.write_bytes(damaged)
        assert compiled.read("build", "key") is None
    for size in (0, 1, 31, 32, 33, *(random.randrange(len(whole)) for _ in range(50))):
        file.write_bytes(whole[:size])
        assert compiled.read("build", "key") is None
    file.write_bytes(whole + b"\0")
    assert compiled.read("build", "key") is None
    file.write_bytes(whole)
    assert compiled.read("build", "key") == PAYLOAD


def test_a_file_under_another_name_is_not_read(place):
    compiled.write("build", "key", PAYLOAD)
    (place / "build" / "key").rename(place / "build" / "other")
    assert compiled.read("build", "other") is None


@pytest.mark.parametrize("mode", [0o701, 0o710, 0o740, 0o755, 0o777])
def test_a_directory_that_is_open_to_others_is_not_used(place, mode, caplog):
    compiled.write("build", "key", PAYLOAD)
    place.chmod(mode)
    for _ in range(3):
        assert compiled.read("build", "key") is None
        compiled.write("build", "key", b"other")
    assert [one.levelname for one in caplog.records] == ["WARNING"]
    assert "mode 0700" in caplog.text
    place.chmod(0o700)
    assert compiled.read("build", "key") == PAYLOAD


def test_a_directory_of_another_user_is_not_used(place, monkeypatch, caplog):
    compiled.write("build", "key", PAYLOAD)
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    assert compiled.read("build", "key") is None
    assert compiled.size() == compiled.empty() == (0, 0)
    monkeypatch.setattr(os, "getuid", lambda: user)
    assert compiled.read("build", "key") == PAYLOAD
    assert len(caplog.records) == 1


def test_a_link_in_place_of_the_directory_is_not_followed(place, tmp_path, caplog):
    compiled.write("build", "key", PAYLOAD)
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    assert compiled.read("build", "key") is None
    assert compiled.empty() == (0, 0)
    assert (tmp_path / "elsewhere" / "build" / "key").exists()


def test_no_directory_at_all_is_no_error(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("a file")
    monkeypatch.setenv("SSI_CACHE", str(tmp_path / "file"))
    compiled.write("build", "key", PAYLOAD)
    assert compiled.read("build", "key") is None
    compiled.remove("build", "key")
    assert compiled.size() == compiled.empty() == (0, 0)
    assert len(caplog.records) == 1


def test_the_builds_that_were_written_to_last_are_kept(place):
    for n in range(compiled.BUILDS + 3):
        compiled.write(f"build-{n}", "key", PAYLOAD)
        os.utime(place / f"build-{n}", (n, n))
    kept = {int(one.name.removeprefix("build-")) for one in place.iterdir()}
    assert kept == set(range(3, compiled.BUILDS + 3))
    compiled.write("build-5", "other", PAYLOAD)
    assert {int(one.name.removeprefix("build-")) for one in place.iterdir()} == kept


def test_size_and_empty(place):
    assert compiled.size() == (0, 0)
    for key in ("one", "two"):
        compiled.write("build", key, b"0123456789")
    assert compiled.size() == compiled.empty() == (2, 2 * (32 + 10))
    assert compiled.size() == (0, 0)
    assert not place.exists() or not any(place.iterdir())
