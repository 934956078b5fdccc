import logging
import resource
import subprocess
import sys

import psutil
import pytest

from ssi_core import resources
from ssi_core.types import BadInput, Refused


def test_the_setting_lowers_what_is_available(monkeypatch):
    monkeypatch.delenv("SSI_MEMORY", raising=False)
    free = resources.memory_available()

    assert 0 < free <= psutil.virtual_memory().total
    for said, expected in {"1000": 1000, "3k": 3072, "2M": 2 << 20, "0.5 KiB": 512}.items():
        monkeypatch.setenv("SSI_MEMORY", said)
        assert resources.memory_available() == expected
    monkeypatch.setenv("SSI_MEMORY", "1000T")
    assert resources.memory_available() <= psutil.virtual_memory().total


@pytest.mark.parametrize("said", ["much", "4X", "-1", "G"])
def test_a_setting_that_is_no_amount_is_bad_input(monkeypatch, said):
    monkeypatch.setenv("SSI_MEMORY", said)

    with pytest.raises(BadInput, match="SSI_MEMORY="):
        resources.memory_available()


def test_what_fits_is_said_in_one_line(monkeypatch, caplog, tmp_path):
    monkeypatch.setenv("SSI_MEMORY", "2000000")
    monkeypatch.setattr(resources, "disk_free", lambda directory: 7_000_000)

    with caplog.at_level(logging.INFO):
        resources.require("features", memory=1_200_000, directory=tmp_path, disk=3_400_000)

    assert caplog.messages == [
        "features: takes about 1.2 MB of memory and 3.4 MB of disk "
        f"at {tmp_path} (free: 2.0 MB, 7.0 MB)"
    ]


def test_memory_that_does_not_fit_is_refused_with_a_remedy(monkeypatch, caplog):
    monkeypatch.setenv("SSI_MEMORY", "1M")

    with (
        caplog.at_level(logging.INFO),
        pytest.raises(
            Refused, match=r"training takes about 2\.0 MB of memory, and 1\.0 MB are free. Fewer w"
        ),
    ):
        resources.require("training", memory=2_000_000, remedy="Fewer words help.")

    assert caplog.messages == []


def test_disk_that_does_not_fit_is_refused(monkeypatch, tmp_path):
    with pytest.raises(Refused, match=r"index takes .* of disk at .*Make room"):
        resources.require("index", memory=1, directory=tmp_path, disk=1 << 60)


def test_disk_of_a_directory_that_is_not_there_yet(tmp_path):
    assert resources.disk_free(tmp_path / "a" / "b") > 0


@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_limit_of_the_process_counts(limit):
    script = (
        "import resource; from ssi_core.resources import memory_available; "
        f"resource.setrlimit(resource.{limit}, (3 << 30, resource.RLIM_INFINITY)); "
        "print(memory_available())"
    )
    if resource.getrlimit(getattr(resource, limit))[0] != resource.RLIM_INFINITY:
        pytest.skip("this machine has such a limit already")
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout

    assert 0 < int(said) < 3 << 30


@pytest.mark.parametrize(
    ("own", "base", "names"),
    [
        ("0::/above/group\n", "", ("memory.max", "memory.current", "inactive_file")),
        (
            "5:cpu,memory:/above/group\n4:pids:/\n",
            "memory",
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ),
    ],
)
def test_a_control_group_and_those_above_it_count(tmp_path, own, base, names):
    (tmp_path / "self").write_text(own)
    top = tmp_path / base
    for path, limit in ((top / "above", "1000"), (top / "above" / "group", "max")):
        path.mkdir(parents=True)
        (path / names[0]).write_text(limit + "\n")
        (path / names[1]).write_text("300\n")
        (path / "memory.stat").write_text(f"anon 5\n{names[2]} 40\n")
    if base:  # version 1 writes a number where there is no limit
        (top / "above" / "group" / names[0]).write_text("9223372036854771712\n")

    assert min(resources._left_by_groups(tmp_path, tmp_path / "self")) == 740
    assert list(resources._left_by_groups(tmp_path, tmp_path / "none")) == []


def test_the_peak_of_work_is_its_own_where_linux_begins_it_anew(tmp_path, monkeypatch):
    status = "Name:\tssi\nVmPeak:\t 9000 kB\nVmHWM:\t 2048 kB\nVmRSS:\t 1 kB\n"
    (tmp_path / "status").write_text(status)
    monkeypatch.setattr(resources, "_PROCESS", tmp_path)
    monkeypatch.setattr(resources.system, "most_memory", lambda: 3 << 20)
    assert resources.Usage().so_far()["peak_memory_mib"] == 2
    assert (tmp_path / "clear_refs").read_text() == "5"
    # Elsewhere it is that of the whole process.
    monkeypatch.setattr(resources, "_PROCESS", tmp_path / "nothing")
    assert resources.Usage().so_far()["peak_memory_mib"] == 3
