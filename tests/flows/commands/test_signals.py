"""SIGTERM is Ctrl-C in every verb; at random moments of the work in the slow test.

``SSI_KILLS`` signals in all (default 5), spread over the stages; ``SSI_KILLS_SEED`` draws the
moments and is printed, as is a line for each.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import psutil
import pytest

from ssi_core.command import signals
from ssi_core.command.signals import TERMINATED, Terminated
from ssi_core.command.verb import Verb, Verbs, run
from ssi_core.errors import chain_of
from tests.flows.conftest import TINY
from tests.flows.project import make

REPOSITORY = Path(__file__).parents[3]
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


@pytest.fixture(autouse=True)
def _interrupted_as_a_program():
    """Restore Python's handler of SIGINT."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def start(path, *arguments, group=False):
    """Start the command; its log is ``place/log``, what it prints ``place/stdout``."""
    path.mkdir(parents=True, exist_ok=True)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("SSI_", "PREFECT_"))}
    with (path / "log").open("ab") as log, (path / "stdout").open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "flows.cli", *map(str, arguments)],
            cwd=REPOSITORY,
            env=clean | {"SSI_ROOT": str(path / "root")},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=log,
            start_new_session=group,
        )


def wait_for(found, process, seconds=60):
    end = time.monotonic() + seconds
    while not found() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    return found()


def left_behind(folder):
    """Processes of the command that are there, and files that only a running one has."""
    found = [str(path) for path in folder.rglob("*") if path.suffix in (".partial", ".new", ".tmp")]
    found += [str(path) for path in (folder / "root" / ".ssi" / "tmp").glob("*")]
    end = time.monotonic() + 30
    while (there := processes(folder)) and time.monotonic() < end:
        time.sleep(0.1)
    return found + there


def processes(path):
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("SSI_ROOT") == str(path / "root"):
                found.append(" ".join(process.cmdline()) or str(process))
    return found


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    """A dump of which an ingestion with two processes takes a while."""
    from ssi_core.sample.encyclopedia import write_sample

    path = tmp_path_factory.mktemp("sample")
    write_sample(path, documents=200)
    return next(path.glob("enwiki-*.xml.bz2"))


@pytest.mark.parametrize("sign", CODES)
@pytest.mark.parametrize("whole_group", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("verb", ["sample", pytest.param("ingest", marks=pytest.mark.slow)])
def test_a_signal_ends_the_work_with_its_code_and_leaves_nothing(
    verb, whole_group, sign, dump, tmp_path
):
    if verb == "sample":
        words, partial = (
            ["data", "sample", tmp_path / "out dir", "--size", 20_000],
            "out dir/*",
        )
    else:
        words = [
            "data",
            "ingest",
            "wikipedia",
            dump,
            "--processes",
            2,
            "--out",
            tmp_path / "out dir",
        ]
        partial = ".out dir.partial"
    process = start(tmp_path, *words, "--json", group=True)
    try:
        assert wait_for(lambda: list(tmp_path.glob(partial)), process)
        (os.killpg if whole_group else os.kill)(process.pid, sign)
        assert process.wait(60) == CODES[sign], (tmp_path / "log").read_text()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert left_behind(tmp_path) == []
    error = json.loads((tmp_path / "stdout").read_text())["error"]
    assert error == {"kind": WORDS[sign], "message": WORDS[sign]}
    assert f"ssi: {WORDS[sign]}\n" in (tmp_path / "log").read_text()


@click.group(cls=Verbs)
def group() -> None: ...


@group.command(cls=Verb)
@click.option("--how")
def verb(how: str) -> None:
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    except KeyboardInterrupt:
        os.kill(os.getpid(), signal.SIGTERM)
        if how == "masked":
            raise RuntimeError("the server went away") from None
        if how == "exit":
            raise SystemExit(TERMINATED) from None
        raise


@pytest.mark.usefixtures("own_root")
@pytest.mark.parametrize("how", ["plain", "masked", "exit"])
def test_a_second_signal_disturbs_no_clearing_up_and_what_fails_there_is_no_reason(how, capsys):
    before = signal.getsignal(signal.SIGTERM)
    assert run(group, ["verb", "--how", how]) == 143
    assert "ssi: terminated" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) is before


class Removed:
    """An object that takes a while to remove, as those of compilers do."""

    def __init__(self, sign):
        self.sign = sign

    def __del__(self):
        os.kill(os.getpid(), self.sign)
        time.sleep(0)


@group.command(cls=Verb)
@click.option("--sign", type=int)
def remove(sign: int) -> None:
    Removed(sign)
    time.sleep(60)


@pytest.mark.usefixtures("own_root")
@pytest.mark.parametrize("sign", CODES)
def test_a_signal_that_python_drops_comes_again(sign, capsys):
    """What is raised in ``__del__`` is only shown, and the work would go on."""
    assert run(group, ["remove", "--sign", str(int(sign))]) == CODES[sign]


@group.command(cls=Verb)
def remove_in_flow() -> None:
    from prefect.utilities.engine import capture_sigterm

    with capture_sigterm():
        Removed(signal.SIGTERM)
        time.sleep(60)


@pytest.mark.usefixtures("own_root")
def test_a_signal_that_python_drops_inside_of_a_flow_comes_again(capsys):
    """A flow has a handler of Prefect's, which raises an error of its own."""
    assert run(group, ["remove-in-flow"]) == TERMINATED


@group.command(cls=Verb)
@click.option("--code", type=int)
def leave(code: int) -> None:
    raise SystemExit(code)


@pytest.mark.usefixtures("own_root")
def test_other_ends_are_left_alone():
    with pytest.raises(SystemExit) as error:
        run(group, ["leave", "--code", "3"])
    assert error.value.code == 3
    assert issubclass(Terminated, KeyboardInterrupt)


# --- at random moments ---

SIGNALS = int(os.environ.get("SSI_KILLS", "5"))
SEED = int(os.environ.get("SSI_KILLS_SEED", "1"))
STAGES = ("ingest", "features", "train", "pipeline")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory, dump):
    path = make(tmp_path_factory.mktemp("inputs"))
    (path / "tiny.toml").write_text(TINY)
    return {"place": path, "dump": dump}


@pytest.fixture(scope="module")
def seconds(inputs, tmp_path_factory):
    """Stage -> seconds that it takes after it has named its root."""
    known = {}

    def of(stage):
        if stage not in known:
            path = tmp_path_factory.mktemp(stage)
            process = start(path, *words_of(stage, inputs, path), group=True)
            began = begun(path, process)
            assert process.wait(600) == 0, (path / "log").read_text()
            known[stage] = time.monotonic() - began
        return known[stage]

    return of


def words_of(stage, inputs, path):
    project = inputs["place"]
    task = ("--task", project / "task")
    return {
        "ingest": (
            "data",
            "ingest",
            "wikipedia",
            inputs["dump"],
            "--processes",
            2,
            "--out",
            path / "out",
        ),
        "features": ("data", "features", project / "corpus", "--out", path / "out"),
        "train": (
            "lab",
            "train",
            project / "tiny.toml",
            *task,
            "--row",
            "U'V + I",
            "--comparison",
            "c",
        ),
        "pipeline": ("lab", "pipeline", project / "tiny.toml", *task, "--seeds", 1),
    }[stage]


def begun(path, process):
    """Wait until the command says where its root is: from here on it can leave something."""
    assert wait_for(lambda: b"ssi: root" in (path / "log").read_bytes(), process)
    return time.monotonic()


@pytest.mark.slow
@pytest.mark.kill
@pytest.mark.parametrize("number", range(SIGNALS))
def test_sigterm_at_a_random_moment(number, inputs, seconds, tmp_path, capsys):
    stage = STAGES[number % len(STAGES)]
    draw = random.Random(f"{SEED} {number}")
    whole_group, moment = draw.random() < 0.5, draw.uniform(0, seconds(stage))
    process = start(tmp_path, *words_of(stage, inputs, tmp_path), group=True)
    began = begun(tmp_path, process)
    time.sleep(max(0.0, began + moment - time.monotonic()))
    with contextlib.suppress(ProcessLookupError):
        (os.killpg if whole_group else os.kill)(process.pid, signal.SIGTERM)
    sent = time.monotonic()
    code = process.wait(120)
    took = time.monotonic() - sent
    # Python gives its handlers back at the very end, when all is said.
    over = (0, -signal.SIGTERM) if (tmp_path / "stdout").read_text() else ()
    assert code in (143, *over), (tmp_path / "log").read_text()
    assert left_behind(tmp_path) == []
    again = start(tmp_path, *words_of(stage, inputs, tmp_path), group=True)
    assert again.wait(600) == 0, (tmp_path / "log").read_text()
    assert left_behind(tmp_path) == []
    with capsys.disabled():
        whom = "group" if whole_group else "process"
        print(
            f"\nseed {SEED}: {stage}, {moment:.2f} s of {seconds(stage):.2f} s, {whom}: code "
            f"{code} after {took:.2f} s, the next run 0"
        )


def raise_the_cause_of_an_error():
    try:
        raise RuntimeError from ValueError("x")
    except RuntimeError as error:
        raise error.__cause__ from None


def test_an_error_that_led_to_itself_has_an_end():
    with pytest.raises(ValueError, match="x") as caught:
        raise_the_cause_of_an_error()
    assert caught.value.__context__.__cause__ is caught.value
    assert signals.code_of(caught.value) is None
    assert [type(one) for one in chain_of(caught.value)] == [ValueError, RuntimeError]
