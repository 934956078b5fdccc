"""What the commands of the pages need where they are typed: files, variables, ports."""

import contextlib
import fcntl
import os
import re
import shutil
import socket
import sys
import tarfile
import tempfile
from pathlib import Path

import httpx

from ssi_core.sample.encyclopedia import write_sample
from tests.datasets.dumps import real_data
from tests.datasets.kyoto import release
from tests.flows.pages import REPOSITORY, every_block
from tests.guests.click_logs import logs
from tests.sources import ingest

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


PORTS = (4200, 5000, 5055, 8000, 8786, 8787)


def answers_of(block):
    """What `ANSWERS` has for the last command of a block."""
    last = block.rstrip().replace("\\\n", "").splitlines()[-1]
    return [answers for words, answers in ANSWERS.items() if words in last]


def ports_of(texts):
    """Ports that blocks may use: none, unless one of them starts a server."""
    return PORTS if any(words in text for text in texts for words in ANSWERS) else ()


def taken(ports):
    """Those of the ports that somebody else has."""
    others = []
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                others.append(port)
    return others


@contextlib.contextmanager
def in_turn():
    """Wait until no other suite of this user has the ports that the pages name."""
    path = Path(tempfile.gettempdir(), f"ssi-ports-of-pages-{os.getuid()}.lock")
    with path.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def clone(path):
    """Write the files of a fresh clone that the commands need."""
    kept_out = shutil.ignore_patterns("__pycache__")
    for name in ("flows", "ssi_core", "deploy"):
        shutil.copytree(REPOSITORY / name, path / name, ignore=kept_out)
    shutil.copy(REPOSITORY / "prefect.yaml", path)
    (path / "mlruns").mkdir()


def variables(checkout):
    ours = ("SSI_", "PREFECT_", "MLFLOW_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    # The interpreter has another checkout installed.
    return {**clean, "PATH": path, "PYTHONPATH": str(checkout), "NUMBA_DISABLE_JIT": "1"}


def compiled(place):
    """Variables of a root of its own, with compiled kernels."""
    environment = variables(REPOSITORY) | {"SSI_ROOT": str(place)}
    del environment["NUMBA_DISABLE_JIT"]
    return environment


def sample(path):
    """Write the sample, and its dumps under the names that pages give to those of Wikipedia."""
    write_sample(path, documents=300, seed=0)
    dumps = {
        "enwiki-sample-pages-articles.xml.bz2": ("enwiki",),
        "jawiki-sample-pages-articles.xml.bz2": ("jawiki",),
    }
    for name, others in dumps.items():
        for other in others:
            (path / f"{other}-pages-articles.xml.bz2").symlink_to(name)
    (path / "enwiki-langlinks.sql.gz").symlink_to("enwiki-sample-langlinks.sql.gz")


def logs_of_two_days(path):
    names = "".join(f'{role} = "{name}"\n' for role, name in logs.COLUMNS.items())
    (path / "map.toml").write_text(f"[columns]\n{names}")
    logs.write_csv(path / "monday.csv", logs.rows(200, seed=0))
    logs.write_csv(path / "tuesday.csv", logs.rows(200, seed=1))


def wikispeedia(path):
    ingest("wikispeedia", real_data("wikispeedia"), path / "corpus")


def kyoto(path):
    """Write the sample, and a few articles as NICT's (test_kyoto.py reads all of them)."""
    sample(path)
    release(path / "kyoto-ja-en")


def letor(path):
    with tarfile.open(real_data("letor-mq2008", "MQ2008_folds.tar.xz")) as archive:
        archive.extractall(path, filter="data")
    (path / "cranfield").symlink_to(real_data("ir-test-collections", "cranfield"))


def reuters(path):
    name = "reuters21578.tar.gz"
    (path / name).symlink_to(real_data("reuters21578", name))


def linked_and_asked(path):
    wikispeedia(path)
    name = "QMSum_train_val.tar.gz"
    (path / name).symlink_to(real_data("qmsum", name))
    (path / "ship.txt").write_text("The ship had two engines. It sank in a storm near the cape.")
    (path / "storm.txt").write_text("A storm came from the west. Every ship at sea was lost.")


def published(path):
    (path / "wikispeedia").symlink_to(real_data("wikispeedia"))


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


def write_tables(page, path):
    """Write the tables that a page prints, each under its name."""
    for block in every_block(page):
        if block.kind == "toml" and (name := re.search(r'^name = "(.+)"$', block.text, re.M)):
            (path / f"{name[1]}.toml").write_text(block.text)
