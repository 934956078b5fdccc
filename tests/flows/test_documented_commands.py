"""The commands of the documentation, run as they are printed."""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
from itertools import chain
from pathlib import Path

import httpx
import pytest

from flows.reporting.shipped_tables import NEW_DATA, shipped_tables
from flows.servers.supervisor import GRACE
from ssi_core.sample.encyclopedia import write_sample
from tests.corpus.clicks import logs
from tests.datasets.dumps import real_data
from tests.datasets.kyoto import release
from tests.flows.machine import wait_for
from tests.flows.pages import NOT_RUN, REPOSITORY, blocks, commands, every_block
from tests.sources import ingest

SECTIONS = [
    ("docs/deployment.md", "With one command"),
    ("docs/deployment.md", "Each by itself"),
    ("docs/operator.md", None),
]
"""Sections that run in a fresh checkout, and use its servers; None: all of a page."""
TABLES = [("docs/which-table.md", "Links"), ("docs/which-table.md", "Clicks")]
JUDGED = [("docs/which-table.md", "Judged queries")]
STORIES = {
    "own documents": [
        ("docs/own-texts.md", "Two files"),
        ("docs/own-texts.md", "With one command"),
        ("docs/own-texts.md", "With commands"),
    ],
    "fields": [("docs/fields.md", "Which field matched")],
    "search engineer": [
        ("docs/search-engineer.md", None),
        ("docs/serving.md", "Documents that change"),
        ("docs/serving.md", "MLflow's own server"),
    ],
    "reranking": [
        ("docs/reranking.md", "Commands"),
        ("docs/reranking.md", "Features of your own models"),
        ("docs/reranking.md", "One model of two stages"),
        ("docs/reranking.md", "Selection of features"),
    ],
    "researcher": [("docs/researcher.md", None)],
    "backup": [("docs/backup.md", "Commands")],
    "clicks": [("docs/clicks.md", "Only what changed")],
    "export": [("docs/export.md", None)],
    "cluster": [("docs/cluster.md", "From nothing to a table")],
    "codes": [("docs/hash-codes.md", "Commands")],
    "summaries": [("docs/summaries.md", "Commands"), ("docs/summaries.md", "Measured")],
    "feeds": [("docs/feeds.md", "Commands")],
    "profiles": [("docs/profiles.md", "Commands")],
    "hashing": [("docs/hashing.md", "Words that go together")],
    "mates": [("docs/mates.md", "Mates: documents of two languages on one subject")],
    "pages": [("docs/mlflow.md", "What MLflow holds")],
    "retraining": [("docs/retraining.md", "Retraining, and who becomes champion")],
}
"""Sections that run one after the other in an empty directory, with the files that they name."""
RUNS = [*SECTIONS, *TABLES, *JUDGED, *chain.from_iterable(STORIES.values())]
ANSWERS = {
    # What a block starts that does not end by itself, and when the next one may begin.
    "ssi up": lambda log: "all of it runs" in log(),
    "ssi ops ui": lambda log: {"MLflow", "Prefect"} <= {*re.findall(r"MLflow|Prefect", log())},
    "ssi serve": lambda log: httpx.get("http://127.0.0.1:8000/healthz").is_success,
    "mlflow models serve": lambda log: httpx.get("http://127.0.0.1:5055/ping").is_success,
    "server start": lambda log: httpx.get("http://127.0.0.1:4200/api/health").is_success,
    "mlflow server": lambda log: httpx.get("http://127.0.0.1:5000/health").is_success,
    "worker start": lambda log: "started" in log(),
    "dask scheduler": lambda log: "Scheduler at" in log(),
    "dask worker": lambda log: log().count("Registered to") == 2,
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
    for port in (4200, 5000, 5055, 8000, 8786, 8787):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                ports.append(port)
    return ports


@contextlib.contextmanager
def in_turn():
    """Wait until no other suite of this user has the ports that the pages name."""
    path = Path(tempfile.gettempdir(), f"ssi-ports-of-pages-{os.getuid()}.lock")
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


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
def terminals(checkout, environment):
    """A function that runs a block of commands in a terminal of its own, until it has answered."""
    started = []

    def run(block):
        log = checkout / f"terminal-{len(started)}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                ["bash", "-euc", block], cwd=checkout, env=environment,
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

        wait_for(answered, 900)
        return log.read_text()

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


def run_as_printed(sections, place, environment):
    """Run the commands of sections, or pages, in their order; return what the last printed."""
    printed_blocks = [
        block.text
        for page, heading in sections
        for block in commands(page, heading)
        if block.first not in NOT_RUN.get(page, {})
    ]
    serves = any(words in block for block in printed_blocks for words in ANSWERS)
    with in_turn() if serves else contextlib.nullcontext(), terminals(place, environment) as run:
        if serves and (ports := taken()):
            pytest.skip(f"somebody else has the ports {ports}, which the pages name")
        for block in printed_blocks:
            printed = run(block)
    return printed


@pytest.mark.slow
@pytest.mark.parametrize(("page", "heading"), SECTIONS)
def test_the_commands_of_a_deployment_work_as_printed(page, heading, checkout):
    run_as_printed([(page, heading)], checkout, variables(checkout))
    # The sample that `ingest` makes, and nothing outside the checkout.
    assert list((checkout / ".ssi" / "store" / "collection").iterdir())


def compiled(place):
    """Variables of a root of its own, with compiled kernels."""
    environment = variables(REPOSITORY) | {"SSI_ROOT": str(place)}
    del environment["NUMBA_DISABLE_JIT"]
    return environment


def sample(place):
    """Write the sample, and its dumps under the names that pages give to those of Wikipedia."""
    write_sample(place, documents=300, seed=0)
    dumps = {
        "enwiki-sample-pages-articles.xml.bz2": ("enwiki",),
        "jawiki-sample-pages-articles.xml.bz2": ("jawiki",),
    }
    for name, others in dumps.items():
        for other in others:
            (place / f"{other}-pages-articles.xml.bz2").symlink_to(name)
    (place / "enwiki-langlinks.sql.gz").symlink_to("enwiki-sample-langlinks.sql.gz")


def logs_of_two_days(place):
    names = "".join(f'{role} = "{name}"\n' for role, name in logs.COLUMNS.items())
    (place / "map.toml").write_text(f"[columns]\n{names}")
    logs.write_csv(place / "monday.csv", logs.rows(200, seed=0))
    logs.write_csv(place / "tuesday.csv", logs.rows(200, seed=1))


def wikispeedia(place):
    ingest("wikispeedia", real_data("wikispeedia"), place / "corpus")


def kyoto(place):
    """Write the sample, and a few articles as NICT's (test_kyoto.py reads all of them)."""
    sample(place)
    release(place / "kyoto-ja-en")


def letor(place):
    with tarfile.open(real_data("letor-mq2008", "MQ2008_folds.tar.xz")) as archive:
        archive.extractall(place, filter="data")
    (place / "cranfield").symlink_to(real_data("ir-test-collections", "cranfield"))


def reuters(place):
    name = "reuters21578.tar.gz"
    (place / name).symlink_to(real_data("reuters21578", name))


def linked_and_asked(place):
    wikispeedia(place)
    name = "QMSum_train_val.tar.gz"
    (place / name).symlink_to(real_data("qmsum", name))
    (place / "ship.txt").write_text("The ship had two engines. It sank in a storm near the cape.")
    (place / "storm.txt").write_text("A storm came from the west. Every ship at sea was lost.")


def published(place):
    (place / "wikispeedia").symlink_to(real_data("wikispeedia"))


INPUTS = {
    "docs/feeds.md": published,
    "docs/profiles.md": published,
    "docs/clicks.md": logs_of_two_days,
    "docs/hash-codes.md": reuters,
    "docs/hashing.md": wikispeedia,
    "docs/mates.md": kyoto,
    "docs/reranking.md": letor,
    "docs/summaries.md": linked_and_asked,
}
"""Page -> what writes the files that its commands read."""


def write_tables(page, place):
    """Write the tables that a page prints, each under its name."""
    for block in every_block(page):
        if block.kind == "toml" and (name := re.search(r'^name = "(.+)"$', block.text, re.M)):
            (place / f"{name[1]}.toml").write_text(block.text)


@pytest.mark.slow
@pytest.mark.parametrize("sections", STORIES.values(), ids=STORIES)
def test_pages_work_as_printed_from_the_beginning_to_the_end(sections, tmp_path):
    for page in dict.fromkeys(page for page, _ in sections):
        write_tables(page, tmp_path)
        INPUTS.get(page, lambda place: None)(tmp_path)
    run_as_printed(sections, tmp_path, compiled(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("sections", [TABLES, JUDGED], ids=["links and clicks", "judged"])
def test_the_commands_for_new_data_work_as_printed(sections, tmp_path):
    """On the sample, with compiled kernels; the collection is a real one."""
    if sections == JUDGED:
        if "SSI_REAL_DATA" not in os.environ:
            pytest.skip("needs SSI_REAL_DATA")
        source = Path(os.environ["SSI_REAL_DATA"]) / "ir-test-collections" / "cranfield"
        (tmp_path / "cranfield").symlink_to(source)
    printed = run_as_printed(sections, tmp_path, compiled(tmp_path))
    assert "better, \N{DEGREE SIGN} worse than" in printed


def test_the_page_on_tables_names_shipped_ones_and_all_for_new_data():
    text = (REPOSITORY / "docs" / "which-table.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    named = {word for row in rows for word in re.findall(r"`([a-z]+[a-z0-9]*-[a-z0-9-]+)`", row)}
    assert named <= set(shipped_tables())
    assert set(NEW_DATA.values()) <= {
        word for row in rows for word in re.findall(r"`([^`]+)`", row)
    }
