"""A small corpus and its task, for every room that needs one."""

import fcntl
import gc
import json
import os
import shutil
import sys
import tempfile
from contextlib import ExitStack
from functools import wraps
from importlib.metadata import version
from pathlib import Path

# Threads of BLAS wait for each other at full speed where other workers have their cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from _pytest.doctest import DoctestModule

from flows.environment import import_path
from tests import trains
from tests.robust import tally
from tests.terminals import Terminal


def one_thread_of_polars():
    """Let a worker among several keep to one core; processes that it starts choose for themselves.

    Polars reads the variable when it makes its threads.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLARS_MAX_THREADS", "1")
        import polars as pl

        assert pl.thread_pool_size() == 1


# Here, since the other files of this name are read before pytest is configured.
if "PYTEST_XDIST_WORKER" in os.environ:
    one_thread_of_polars()

# Libraries read these when they are imported.
os.environ.setdefault("DO_NOT_TRACK", "1")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")

# Kernels that one process has compiled serve all others, those that tests start and those of the
# next run; what the user keeps has no part in it.
os.environ.pop("SSI_CACHE", None)
CACHE = Path(__file__).parents[1] / ".cache" / "tests"
os.environ["XDG_CACHE_HOME"] = str(CACHE)

# No test cuts the power: nothing need wait for the disk, or be on one.
os.fsync = lambda descriptor: None
MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 << 30:
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

# Processes that tests start find the checkout, which is not installed as a whole.
os.environ["PYTHONPATH"] = import_path()


def once(make):
    """Let MLflow make its database once for all processes of tests; others are copies of it."""
    whole, new = (CACHE / f"mlflow-{version('mlflow')}.{end}" for end in ("db", "new"))

    @wraps(make)
    def copied(database):
        CACHE.mkdir(parents=True, exist_ok=True)
        with (CACHE / "mlflow.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not whole.exists():
                new.unlink(missing_ok=True)
                make(new)
                new.rename(whole)
        shutil.copyfile(whole, database)

    return copied


def few(draw, default=100_000):
    """Let 2,000 tuples estimate the rank loss where no number is given: 100,000 take longer than
    all else of a small report."""

    @wraps(draw)
    def fewer(task, side, number, seed):
        return draw(task, side, 2000 if number == default else number, seed)

    return fewer


GUARD = trains.Guard()

# What is loaded until the tests begin stays, see `pytest_collection_finish`.
gc.disable()


class Examples:
    """Look for examples in the files that have some: to go through all others takes seconds.

    It is registered, for hooks of this file are not asked about files outside of its directory.
    """

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path):
        collectors = yield
        if file_path.suffix == ".py" and ">>>" not in file_path.read_text(encoding="utf-8"):
            return [one for one in collectors if not isinstance(one, DoctestModule)]
        return collectors


def pytest_configure(config):
    """Make ready, but for a process that only hands tests out: what is loaded here takes time."""
    config.pluginmanager.register(tally.Plugin())
    config.pluginmanager.register(Examples())
    if config.getoption("numprocesses", None):
        return
    from hypothesis import settings

    from flows.servers import migration
    from ssi_core.evaluation import evaluate

    # The first example of a kernel may compile it; `make fuzz` tries more.
    examples = int(os.environ.get("SSI_EXAMPLES", "40"))
    settings.register_profile("ssi", deadline=None, max_examples=examples)
    settings.load_profile("ssi")
    GUARD.install()
    migration.make = once(migration.make)
    evaluate.draw_tuples = few(evaluate.draw_tuples)


LONGEST = ("test_fit", "test_mistakes", "test_retrain", "test_every_model", "test_cluster")
"""Files that begin first, so that no worker is left alone with one of them."""


ON_A_CLUSTER = {
    "tests/experiment/test_trials.py",
    "tests/flows/training/test_cluster.py",
    "tests/guests/cluster/test_dask.py",
}
"""Files that are of one worker together, so that one cluster is started for all of them."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return "cluster" if file in ON_A_CLUSTER else file

    return ByFile(config, log)


class Clusters:
    """The cluster of Dask that runs; left to the end, it would take a share of a core."""

    def __init__(self):
        self.stack, self.there = ExitStack(), None

    def running(self, places):
        from tests.parts.machines import running

        if self.there is None:
            place = places.mktemp("dask")
            self.there = self.stack.enter_context(running(place, workers=2))
        return self.there

    def end(self):
        self.stack.close()
        self.there = None


CLUSTERS = Clusters()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem):
    if nextitem is None or nextitem.nodeid.split("::")[0] not in ON_A_CLUSTER:
        CLUSTERS.end()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    trains.mark(items)
    items.sort(key=lambda item: item.path.stem not in LONGEST)


def pytest_collection_finish():
    # What is loaded by now stays: no collection of garbage need look at it again.
    gc.freeze()
    gc.set_threshold(20_000)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    GUARD.item = item
    try:
        return (yield)
    finally:
        GUARD.item = None


@pytest.fixture(scope="session")
def corpus_dir(tmp_path_factory):
    """200 documents on eight subjects, about 1,500 links within them."""
    from tests.corpora import topical, write_corpus

    return write_corpus(tmp_path_factory.mktemp("corpus [a]") / "corpus", *topical())


@pytest.fixture(scope="session")
def task_dir(tmp_path_factory, corpus_dir):
    """The task of `corpus_dir`, split by links; views counts, raw, sublinear and others."""
    from ssi_core.tasks.task import build_task

    out = tmp_path_factory.mktemp("task [a]") / "task"
    build_task(corpus_dir, out, views=("raw", "raw-sublinear", "sublinear", "sublinear:10"))
    return out


@pytest.fixture(scope="module")
def task(task_dir):
    """That task, opened."""
    from ssi_core.tasks.task import open_task

    return open_task(task_dir)


@pytest.fixture(scope="session")
def mates(tmp_path_factory):
    """Mates of 200 documents; see `write_mates`."""
    from tests.corpora import write_mates

    return write_mates(tmp_path_factory.mktemp("mates [a]") / "mates")


@pytest.fixture(scope="session")
def mates_task_dirs(tmp_path_factory, mates):
    """Tasks of the mates, "link" and "mate", with a view of each kind."""
    from ssi_core.tasks.task import build_task

    place = tmp_path_factory.mktemp("mates_tasks [a]")
    views = ("raw", "sublinear", "sublinear:10", "dictionary.raw", "untitled.raw")
    for name, relevant in (("link", "translation > link"), ("mate", "translation")):
        build_task(mates, place / name, relevant=relevant, views=views)
    return {relevant: place / relevant for relevant in ("link", "mate")}


@pytest.fixture
def few_settings(monkeypatch):
    """Models without weights try two values of each setting: all take longer than a training."""
    from ssi_core.models import bm25f
    from ssi_core.models.choice import untrained

    few = {name: values[:2] for name, values in bm25f._TRIED.items()}
    monkeypatch.setattr(bm25f, "_TRIED", few)
    for name in ("_BACKGROUNDS", "_POPULARITY", "_OF_LSI", "_ALPHAS"):
        monkeypatch.setattr(untrained, name, getattr(untrained, name)[-2:])


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A Dask scheduler and two workers, which the next files find where they need them, too."""
    pytest.importorskip("distributed", reason="pip install 'ssi[cluster]'")
    return CLUSTERS.running(tmp_path_factory)


@pytest.fixture
def dask(cluster):
    """That cluster; a worker that a test has killed has been started again."""
    import distributed

    from tests.parts.machines import waited

    with distributed.Client(cluster.address, set_as_default=False) as client:
        waited(lambda: len(client.nthreads()) == 2)
    return cluster


@pytest.fixture
def terminal(monkeypatch):
    """Standard error as a terminal of so many columns."""

    def make(columns=80, wanted=""):
        there = Terminal(wanted)
        monkeypatch.setattr(sys, "stderr", there)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("LINES", "24")
        monkeypatch.setenv("TERM", "xterm")
        return there

    return make


@pytest.fixture
def call(capsys):
    """``ssi fit`` with words: its exit code, and what it says as JSON."""
    from ssi_core.command.library import library
    from ssi_core.command.verb import run

    def called(*words):
        code = run(library, ["fit", *map(str, words), "--json"])
        return code, json.loads(capsys.readouterr().out)

    return called
