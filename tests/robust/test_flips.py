"""One flipped bit in any file of what was made is an error: never a crash, never another number."""

import os
import random
import shutil
from contextlib import suppress

import numpy as np
import pytest

from ssi_core.export.documents import of_index
from ssi_core.export.exporting import Settings, export_model
from ssi_core.models import load_model
from ssi_core.serving.changes import FILE, Changes
from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.live import Document
from ssi_core.store import read
from ssi_core.tasks.frozen import freeze, open_frozen
from ssi_core.tasks.task import open_task
from ssi_core.training.descend import descend
from ssi_core.types import BadInput, Refused
from tests.serving.models import random_models

FLIPS = int(os.environ.get("SSI_FLIPS", "60"))
KINDS = ("corpus", "task", "frozen", "model", "index", "checkpoint", "export")


@pytest.fixture(scope="module")
def directories(tmp_path_factory, corpus_dir, task_dir):
    """A directory of each kind that can be spoiled, and the function that opens it."""
    place = tmp_path_factory.mktemp("flips")
    task = open_task(task_dir)
    for name, source in (("corpus", corpus_dir), ("task", task_dir)):
        shutil.copytree(source, place / name)
    freeze(corpus_dir, place / "frozen", queries=20)
    fitted = next(model for model in random_models(0) if model.model.name == "bilinear")
    fitted.save(place / "model")
    from ssi_core.serving.searcher import texts_of

    texts = task.documents.titles.to_list()
    build_index(fitted, texts_of(texts, fitted.document_views), place / "index", parents={})
    _interrupted(place / "checkpoint" / "state")
    export_model(
        fitted,
        of_index(fitted, open_index(place / "index")),
        place / "export",
        Settings("opensearch"),
        model="m",
    )
    openers = {
        "corpus": lambda path: read(path, "collection"),
        "task": open_task,
        "frozen": lambda path: open_frozen(path, fitted),
        "model": load_model,
        "index": open_index,
        "export": lambda path: read(path, "export"),
        "checkpoint": lambda path: _trained(path / "state"),
    }
    for name in KINDS:
        openers[name](place / name)
    return {name: (place / name, openers[name]) for name in KINDS}


class _Trainee:
    """A training of one array, which is interrupted in its third sweep, or goes on to the end."""

    def __init__(self, interrupted=False):
        self.arrays = {"U": np.zeros((40, 8), np.float32)}
        self.interrupted, self.sweeps = interrupted, 0

    def sweep(self, triples):
        self.sweeps += 1
        if self.interrupted and self.sweeps == 3:
            raise KeyboardInterrupt
        self.arrays["U"] += 1
        return {"train/hinge": 1.0}

    def error(self):
        return 1 / (1 + float(self.arrays["U"][0, 0]))

    def observed(self):
        return {}


def _trained(checkpoint, *, interrupted=False):
    kept = checkpoint.with_name("kept")
    if checkpoint.exists():
        shutil.copytree(checkpoint, kept)
    try:
        return descend(_Trainee(interrupted), epoch=1, budget=4, patience=9, checkpoint=checkpoint)
    finally:
        if kept.exists():
            shutil.rmtree(checkpoint)
            kept.rename(checkpoint)


def _interrupted(checkpoint):
    with pytest.raises(KeyboardInterrupt):
        _trained(checkpoint, interrupted=True)
    assert checkpoint.is_dir()


def flipped(content, draw):
    """Return some bytes with one bit flipped."""
    spoiled = bytearray(content)
    spoiled[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    return spoiled


@pytest.mark.hostile
def test_a_flipped_bit_of_added_documents_is_noticed_or_changes_nothing(tmp_path):
    """SQLite has bits that mean nothing, such as those of free places."""
    texts = [Document(f"d{n}", f"title {n}", f"text {n} " * (n % 40), None) for n in range(300)]
    Changes(tmp_path / FILE).put(texts)
    Changes(tmp_path / FILE).drop([f"d{n}" for n in range(0, 300, 7)])
    written, content = Changes(tmp_path / FILE).read(), (tmp_path / FILE).read_bytes()
    draw, noticed, repaired = random.Random(FLIPS), [], 0
    for number in range(FLIPS):
        path = tmp_path / str(number) / FILE
        path.parent.mkdir()
        path.write_bytes(flipped(content, draw))
        try:
            assert Changes(path).read() == written
            continue
        except (BadInput, Refused) as error:
            noticed.append(str(error))
        if len(noticed) % 5:
            continue
        with suppress(BadInput):
            left_out = Changes.repair(path)
            added, gone = Changes(path).read()
            assert {one.id for one in added} <= {one.id for one in written[0]}
            assert all(one in written[0] for one in added)
            assert set(gone) <= set(written[1])
            assert left_out.kept == len(added) + len(gone)
            repaired += left_out.kept >= 250
    assert len(noticed) > FLIPS / 3
    assert all(str(tmp_path) in message for message in noticed)
    assert repaired > len(noticed) / 10


@pytest.mark.parametrize("kind", KINDS)
def test_a_flipped_bit_is_noticed(directories, kind):
    directory, opened = directories[kind]
    draw = random.Random(f"{kind} {FLIPS}")
    paths = sorted(path for path in directory.rglob("*") if path.is_file())
    for _ in range(FLIPS // len(KINDS)):
        path = draw.choice(paths)
        whole = path.read_bytes()
        path.write_bytes(flipped(whole, draw))
        try:
            with pytest.raises(BadInput):
                opened(directory)
        finally:
            path.write_bytes(whole)
    opened(directory)
