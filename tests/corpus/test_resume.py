"""An ingestion that is killed: the next one goes on, and gives what an undisturbed one gives."""

import json
import logging
import os
import signal
import subprocess
import sys

import psutil
import pytest

from ssi_core import store
from ssi_core.datasets.wikipedia import chunks, mediawiki
from ssi_core.types import BadInput, Refused
from tests.datasets import dumps
from tests.killing import beside, contents, run_killed
from tests.sources import ingest

PART = 4000
PAGES = 80
COUNTED = "rename */counts/?????.json"
"""The end of a part: its counts get their name."""
CALL = (
    "from pathlib import Path\n"
    "from tests.sources import ingest\n"
    "ingest('wikipedia', [Path({dump!r})], Path({out!r}), processes=1, part_bytes=4000)"
)


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    path = tmp_path_factory.mktemp("dump") / "enwiki-1-pages-articles.xml.bz2"
    return dumps.write(path, dumps.xml(*dumps.many(PAGES)))


@pytest.fixture(scope="module")
def undisturbed(dump, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "corpus"
    ingest("wikipedia", [dump], out, processes=1, part_bytes=PART)
    return contents(out)


@pytest.mark.parametrize(
    ("name", "nth"),
    [
        (COUNTED, 1),
        (COUNTED, 5),
        ("mkdir *.partial/relations/link", 1),
        ("rename */corpus", 1),
        ("unlink *.work/key", 1),
    ],
)
def test_a_killed_run_is_gone_on_from(dump, undisturbed, tmp_path, monkeypatch, name, nth):
    out = tmp_path / "corpus"
    run_killed(CALL.format(dump=str(dump), out=str(out)), tmp_path, name, nth)
    assert beside(out)
    whole = len(list((tmp_path / ".corpus.work").glob("chunks/counts/*.json")))
    read = []
    real = chunks.read_pages
    monkeypatch.setattr(chunks, "read_pages", lambda chunk: read.append(chunk) or real(chunk))
    made = ingest("wikipedia", [dump], out, processes=1, part_bytes=PART)
    parts = sum(name.startswith("documents/") for name in undisturbed)
    assert len(read) == (0 if name.startswith("unlink") else parts - whole)
    assert contents(out) == undisturbed
    dumps.accounts(made)
    assert beside(out) == []


def test_what_a_run_with_other_settings_left_is_cleared(dump, undisturbed, tmp_path, caplog):
    out = tmp_path / "corpus"
    run_killed(CALL.format(dump=str(dump), out=str(out)), tmp_path, COUNTED, 5)
    key = json.loads((tmp_path / ".corpus.work" / "key").read_text())
    with caplog.at_level(logging.INFO):
        made = ingest("wikipedia", [dump], out, processes=1, part_bytes=2 * PART)
    assert made.key != key
    assert "clearing" in caplog.text
    assert beside(out) == []
    ingest("wikipedia", [dump], out, processes=1, part_bytes=PART, force=True)
    assert contents(out) == undisturbed


def test_wrong_input_leaves_no_parts_and_a_failure_leaves_them(dump, tmp_path, monkeypatch):
    broken = dumps.write(tmp_path / "enwiki-1.xml", dumps.xml(*dumps.many(60))[:-200])
    with pytest.raises(BadInput, match="cut off"):
        ingest("wikipedia", [broken], tmp_path / "broken", processes=1, part_bytes=PART)
    assert beside(tmp_path / "broken") == []

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(mediawiki, "resolve_links", full)
        with pytest.raises(Refused, match="no space"):
            ingest("wikipedia", [dump], tmp_path / "corpus", processes=1, part_bytes=PART)
    assert beside(tmp_path / "corpus") == [".corpus.work"]
    monkeypatch.setattr(chunks, "read_pages", full)
    ingest("wikipedia", [dump], tmp_path / "corpus", processes=1, part_bytes=PART)
    assert beside(tmp_path / "corpus") == []


def test_workers_of_a_killed_run_die_and_hold_no_lock(dump, undisturbed, tmp_path):
    out = tmp_path / "corpus"
    call = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from tests.sources import ingest\n"
        "def wait(fraction, message):\n"
        "    if fraction > 0:\n"
        "        print('read', flush=True)\n"
        "        time.sleep(60)\n"
        "dump, out = map(Path, sys.argv[1:])\n"
        f"ingest('wikipedia', [dump], out, processes=2, part_bytes={PART}, progress=wait)\n"
    )
    command = [sys.executable, "-c", call, str(dump), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout.readline() == "read\n"
        children = psutil.Process(run.pid).children(recursive=True)
        assert len(children) >= 2
        os.kill(run.pid, signal.SIGKILL)
    with store.locked(out):
        pass
    _, alive = psutil.wait_procs(children, timeout=20)
    assert alive == []
    ingest("wikipedia", [dump], out, processes=1, part_bytes=PART)
    assert contents(out) == undisturbed
    assert beside(out) == []
