"""``ssi serve`` beside a bare service: milliseconds of a search, alone and beside writes.

400 documents of 15 kB with fields, 500 distinct searches of three words, asked at a fixed rate over
connections that stay open. A time is counted from the moment at which the question was due, so that
a service that falls behind shows it. Writes are documents of the same size, one at a time, some a
second. The bare service is FastAPI with bm25s and an index of faiss; it takes no writes, and its
snippet is the beginning of the text.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import psutil

from benchmarks.timing import PeerMissing, Row, peer
from flows.servers.server import free_port

_DOCUMENTS, _BYTES, _QUERIES, _WORDS = 400, 15_000, 500, 6_000
_RATE, _SECONDS, _ROUNDS = 100, 5.0, 3
_WRITES = 4
"""Documents written a second."""
_CLIENTS = 8

_BARE = """
import json, sys
import bm25s, faiss, numpy as np, uvicorn
from fastapi import FastAPI
documents = json.load(open(sys.argv[1]))
texts = [one["text"] for one in documents]
words = bm25s.BM25()
words.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
rng = np.random.default_rng(0)
vectors = rng.normal(size=(len(texts), 50)).astype(np.float32)
index = faiss.IndexFlatIP(50)
index.add(vectors)
app = FastAPI()
@app.get("/search")
def search(q: str, k: int = 10):
    index.search(vectors[:1], k)
    rows, scores = words.retrieve(bm25s.tokenize(q, show_progress=False), k=k, show_progress=False)
    return {"results": [
        {"id": str(row), "title": documents[row]["title"], "score": float(score),
         "snippet": texts[row][:240]}
        for row, score in zip(rows[0], scores[0])
    ]}
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False)
"""


def made() -> tuple[list[dict[str, str]], list[str]]:
    """Return documents and distinct searches: words by Zipf's law, in sentences."""
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlu"))
    words = sorted({"".join(rng.choice(letters, rng.integers(3, 10))) for _ in range(_WORDS)})
    rng.shuffle(words)
    chance = 1 / np.arange(5, len(words) + 5)
    chance /= chance.sum()

    def text(size: int) -> str:
        sentences = []
        while sum(map(len, sentences)) + len(sentences) < size:
            some = rng.choice(words, rng.integers(6, 20), p=chance)
            sentences.append(" ".join(some.tolist()).capitalize() + ".")
        return " ".join(sentences)[:size]

    documents = [
        {
            "id": f"d{row}",
            "title": text(30),
            "headings": "\n".join(text(25) for _ in range(5)),
            "url": f"https://example.org/{rng.choice(words)}/{row}",
            "text": text(_BYTES),
        }
        for row in range(_DOCUMENTS)
    ]
    queries: dict[str, None] = {}
    while len(queries) < _QUERIES:
        queries[" ".join(rng.choice(words[100:3000], 3))] = None
    return documents, list(queries)


def write_model(path: Path, documents: list[dict[str, str]]) -> None:
    """Write a model of words and vectors, with its index."""
    import ssi_core as ssi

    docs = ssi.read(documents)
    task = ssi.Task.of(docs, relevant="self", queries="titles")
    model = ssi.SSI(budget=20_000).fit(task)
    model.save(path / "model")
    model.index(docs, out=path / "model" / "index")


class Service:
    """A service in a process of its own, and what is asked of it."""

    def __init__(self, process: psutil.Process, port: int) -> None:
        self.process, self.port = process, port

    def asked(self, queries: list[str], writes: list[dict[str, str]]) -> dict[str, float]:
        """Return milliseconds: of the processor for a search, and p50 and p99 of the answers."""
        times: list[float] = []
        turn = iter(range(len(queries)))
        lock, over = threading.Lock(), threading.Event()
        before, start = self._cpu(), time.perf_counter() + 0.05

        def client() -> None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            while True:
                with lock:
                    number = next(turn, None)
                if number is None:
                    return
                due = start + number / _RATE
                time.sleep(max(0.0, due - time.perf_counter()))
                connection.request("GET", f"/search?q={queries[number].replace(' ', '+')}")
                answer = connection.getresponse()
                body = answer.read()
                times.append(1e3 * (time.perf_counter() - due))
                if answer.status != 200:
                    raise RuntimeError(body[:200])

        def writer() -> None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
            for number, document in enumerate(writes):
                if over.wait(max(0.0, start + number / _WRITES - time.perf_counter())):
                    return
                new = {**document, "id": f"new{number}"}
                del new["headings"]
                headers = {"Content-Type": "application/json"}
                connection.request("POST", "/documents", json.dumps({"documents": [new]}), headers)
                if (answer := connection.getresponse()).status != 200:
                    raise RuntimeError(answer.read()[:200])
                answer.read()

        clients = [threading.Thread(target=client) for _ in range(_CLIENTS)]
        writing = threading.Thread(target=writer)
        for thread in (*clients, writing):
            thread.start()
        for thread in clients:
            thread.join()
        over.set()
        writing.join()
        p50, p99 = np.percentile(times, (50, 99)).tolist()
        return {"CPU": 1e3 * (self._cpu() - before) / len(times), "p50": p50, "p99": p99}

    def _cpu(self) -> float:
        times = self.process.cpu_times()
        return times.user + times.system


@contextmanager
def running(command: list[str], port: int, path: Path) -> Iterator[Service]:
    """Start a service, and end it."""
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env={**os.environ, "SSI_ROOT": str(path)}
    ) as process:
        try:
            _wait(port, process)
            yield Service(psutil.Process(process.pid), port)
        finally:
            process.terminate()


def _wait(port: int, process: subprocess.Popen[Any]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"the service ended with {process.returncode}")
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/search?q=a")
            connection.getresponse().read()
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the service did not start")


def rows() -> Iterator[Row]:
    """Yield the rows of the table."""
    from contextlib import ExitStack

    documents, queries = made()
    some = (queries * 10)[: int(_RATE * _SECONDS)]
    with TemporaryDirectory() as name, ExitStack() as stack:
        path = Path(name)
        write_model(path, documents)
        port = free_port()
        model = str(path / "model")
        command = [sys.executable, "-m", "ssi_core", "serve", model, "--port", str(port)]
        ours = stack.enter_context(running(command, port, path))
        bare, note = None, ""
        try:
            peer("bm25s"), peer("faiss")
        except PeerMissing as missing:
            note = str(missing)
        else:
            (path / "documents.json").write_text(json.dumps(documents))
            port = free_port()
            command = [sys.executable, "-c", _BARE, str(path / "documents.json"), str(port)]
            bare = stack.enter_context(running(command, port, path))
        found: dict[str, list[dict[str, float]]] = {"ours": [], "bare": [], "beside writes": []}
        for number in range(_ROUNDS + 1):
            each = {"ours": ours.asked(some, []), "beside writes": ours.asked(some, documents)}
            if bare is not None:
                each["bare"] = bare.asked(some, [])
            for what, figures in each.items() if number else ():
                found[what].append(figures)
        yield from _rows(found, note)


def _rows(found: dict[str, list[dict[str, float]]], note: str) -> Iterator[Row]:
    for name in ("CPU", "p50", "p99"):
        ours = [one[name] for one in found["ours"]]
        theirs = [one[name] for one in found["bare"]]
        written = [one[name] for one in found["beside writes"]]
        what = f"answers, {name} ms / bare service"
        if theirs:
            ratio = median(b / a for a, b in zip(ours, theirs, strict=True))
            yield Row(what, "ms", median(ours), median(theirs), ratio)
        else:
            yield Row(what, "ms", median(ours), note=note)
        what = f"answers, {name} ms beside {_WRITES} writes/s / without"
        ratio = median(b / a for a, b in zip(written, ours, strict=True))
        yield Row(what, "ms", median(written), median(ours), ratio)
