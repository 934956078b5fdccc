"""The commands of the documentation, run as they are printed, on a fresh checkout."""

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from flows.kept import GRACE
from flows.shipped import NEW_DATA, shipped_tables
from tests.flows.machine import wait_for
from tests.flows.pages import REPOSITORY, blocks, section

SECTIONS = [
    ("docs/deployment.md", "With one command"),
    ("docs/deployment.md", "Each by itself"),
    ("README.md", "Deployments"),
]
ANSWERS = {
    # What a block starts that does not end by itself, and when the next one may begin.
    "ssi up": lambda log: "all of it runs" in log(),
    "server start": lambda log: httpx.get("http://127.0.0.1:4200/api/health").is_success,
    "mlflow server": lambda log: httpx.get("http://127.0.0.1:5000/health").is_success,
    "worker start": lambda log: "started" in log(),
}


def test_blocks_are_what_is_printed(tmp_path, monkeypatch):
    page = (
        "# A\n\n    one \\\n      more\n\n    two\n\ntext\n\n    three\n\n## B\n\n    four\n\n# C\n"
    )
    (tmp_path / "page.md").write_text(page + "\n```sh\nfive\n```\n")
    monkeypatch.setattr("tests.flows.pages.REPOSITORY", tmp_path)
    assert blocks("page.md", "A") == ["one \\\n  more\n\ntwo\n", "three\n", "four\n"]
    assert blocks("page.md", "B") == ["four\n"]
    assert blocks("page.md", "C") == ["five\n"]


def taken():
    """The ports that the printed commands use, as far as somebody else has them."""
    ports = []
    for port in (4200, 5000):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                ports.append(port)
    return ports


@pytest.fixture
def checkout(tmp_path):
    """The files of a fresh clone that the commands need."""
    kept_out = shutil.ignore_patterns("__pycache__")
    for name in ("flows", "ssi_core", "deploy"):
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=kept_out)
    shutil.copy(REPOSITORY / "prefect.yaml", tmp_path)
    (tmp_path / "mlruns").mkdir()
    return tmp_path


def variables(checkout):
    ours = ("SSI_", "PREFECT_", "MLFLOW_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    # The interpreter has another checkout installed.
    return {**clean, "PATH": path, "PYTHONPATH": str(checkout), "NUMBA_DISABLE_JIT": "1"}


@contextlib.contextmanager
def terminals(checkout):
    """A function that runs a block of commands in a terminal of its own, until it has answered."""
    started = []

    def run(block):
        log = checkout / f"terminal-{len(started)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-euc", block], cwd=checkout, env=variables(checkout),
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        started.append(process)
        last = block.rstrip().replace("\\\n", "").splitlines()[-1]
        goes_on = [answers for words, answers in ANSWERS.items() if words in last]

        def answered():
            if process.poll() is not None:
                assert process.returncode == 0, f"{block}\n{log.read_text()}"
                assert not goes_on, f"{block} ended:\n{log.read_text()}"
                return True
            return bool(goes_on) and goes_on[0](log.read_text)

        wait_for(answered, 300)

    try:
        yield run
    finally:
        for process in reversed(started):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(6 * GRACE)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.mark.slow
@pytest.mark.parametrize(("page", "heading"), SECTIONS)
def test_the_commands_of_a_section_work_as_printed(page, heading, checkout):
    if "ssi up" not in section(page, heading) and page == "README.md":
        pytest.skip(f"{page} has the commands of before")
    if ports := taken():
        pytest.skip(f"somebody else has the ports {ports}, which {page} names")
    with terminals(checkout) as run:
        for block in blocks(page, heading):
            run(block)
    # The sample that `ingest` makes, and nothing outside the checkout.
    assert list((checkout / ".ssi" / "store" / "corpus").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("headings", [("Links", "Clicks"), ("Judged queries",)], ids=" ".join)
def test_the_commands_for_new_data_work_as_printed(headings, tmp_path):
    """On the sample, with compiled kernels; the collection is a real one."""
    if "Judged queries" in headings:
        if "SSI_REAL_DATA" not in os.environ:
            pytest.skip("needs SSI_REAL_DATA")
        source = Path(os.environ["SSI_REAL_DATA"]) / "ir-test-collections" / "cranfield"
        (tmp_path / "cranfield").symlink_to(source)
    environment = variables(REPOSITORY) | {"SSI_ROOT": str(tmp_path / "root")}
    del environment["NUMBA_DISABLE_JIT"]
    for heading in headings:
        for block in blocks("docs/which-table.md", heading):
            done = subprocess.run(
                ["bash", "-euc", block], cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, f"{block}\n{done.stdout}\n{done.stderr}"
    assert "better, \N{DEGREE SIGN} worse than" in done.stdout


def test_the_page_on_tables_names_shipped_ones_and_all_for_new_data():
    text = (REPOSITORY / "docs" / "which-table.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    named = {word for row in rows for word in re.findall(r"`([a-z]+[a-z0-9]*-[a-z0-9-]+)`", row)}
    assert named <= set(shipped_tables())
    assert set(NEW_DATA.values()) <= {
        word for row in rows for word in re.findall(r"`([^`]+)`", row)
    }
