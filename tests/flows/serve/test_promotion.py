"""Promotions while clients ask all the time: no request fails, and each answer is of one model."""

import subprocess
import sys
import threading

import httpx
import pytest

from flows.servers.server import free_port
from flows.tracking import models, registry
from tests.flows import project, roots
from tests.flows.machine import REPOSITORY, wait_for

PROMOTIONS = 4
ASKERS = 4
QUERY = {"q": "moon rocket engine", "k": 20}

pytestmark = pytest.mark.slow


@pytest.fixture
def runs(tmp_path, monkeypatch, own_root, little_code):
    """Ids of the runs of two models, the first of which is the champion."""
    monkeypatch.setattr(models, "CODE", little_code)
    (tmp_path / "data").mkdir()
    path = project.make(tmp_path / "data")
    found = [roots.train(path / "task", path / name, n) for n, name in enumerate(project.MODELS)]
    registry.promote(found[0], "the first")
    return found


@pytest.fixture
def url(runs, tmp_path):
    """Address of `ssi serve`, a process of its own that follows the champion."""
    port = free_port()
    words = ["serve", "models:/ssi@champion", "--port", str(port), "--follow", "0.1"]
    with (tmp_path / "serve.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "flows.cli", "--root", str(tmp_path / "root"), *words],
            cwd=REPOSITORY, stdout=log, stderr=log,
        )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: httpx.get(f"{address}/healthz").is_success, 120)
        yield address
    finally:
        process.terminate()
        process.wait(60)


def test_no_request_fails_and_each_answer_is_of_one_model(runs, url, capsys):
    failures, answers, over = [], [], threading.Event()

    def ask(keeps):
        while not over.is_set():
            # A client that comes anew, or one that keeps its connection.
            with httpx.Client(base_url=url, timeout=60) as client:
                for _ in range(50 if keeps else 1):
                    try:
                        answer = client.get("/search", params=QUERY)
                    except httpx.HTTPError as error:
                        failures.append(repr(error))
                        continue
                    (answers if answer.status_code == 200 else failures).append(answer.text)

    def swaps():
        return f"ssi_model_swaps_total {len(promoted)}.0" in httpx.get(f"{url}/metrics").text

    known, promoted = [httpx.get(f"{url}/search", params=QUERY).text], []
    askers = [threading.Thread(target=ask, args=(n % 2 == 0,)) for n in range(ASKERS)]
    for asker in askers:
        asker.start()
    try:
        for turn in range(PROMOTIONS):
            registry.promote(runs[(turn + 1) % 2], "by turns")
            promoted.append(turn)
            wait_for(swaps, 120)
            known.append(httpx.get(f"{url}/search", params=QUERY).text)
            enough = len(answers) + 20
            wait_for(lambda enough=enough: len(answers) + len(failures) >= enough, 60)
    finally:
        over.set()
        for asker in askers:
            asker.join(90)
    with capsys.disabled():
        print(f"\n{PROMOTIONS} promotions, {len(answers)} answers, {len(failures)} failures")
    assert failures == []
    assert len(set(known)) == 2
    assert set(answers) == set(known)
