"""All that is read back: how one of each kind is made, and how it is read.

A maker takes an empty place and what `Made` has; it returns the function that reads what is there.
A reader returns something that can be compared, or None where every byte is sealed.
"""

from __future__ import annotations

import importlib.util
import shutil
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from flows import tracking
from flows.serve import pyfunc_model
from ssi_core import cache, store
from ssi_core.datasets.wikipedia.chunks import PAGES, TEXTS, Chunks
from ssi_core.evaluation.report import load_report, save_report
from ssi_core.experiment import checkpoints, parse_table
from ssi_core.experiment.training import RowPart, open_part, train_part
from ssi_core.guests.codes.hashers import hasher_named
from ssi_core.guests.codes.model import CodeModel
from ssi_core.guests.codes.sources import read_labelled
from ssi_core.guests.export import encoder, search_bm25s
from ssi_core.guests.export.documents import of_index
from ssi_core.guests.export.exporting import Settings, export_model
from ssi_core.guests.live.changes import Changes
from ssi_core.guests.live.searcher import Document
from ssi_core.guests.profiles.model import ProfileModel
from ssi_core.guests.profiles.profiler import Profiler
from ssi_core.guests.reranking.lambdamart import LambdaMart
from ssi_core.guests.reranking.rankers import load_reranker, reranker_named
from ssi_core.guests.summary.concepts import ConceptBase
from ssi_core.models import load_model
from ssi_core.models.base import FittedModel
from ssi_core.models.choice import trials
from ssi_core.registry import TARGETS
from ssi_core.selection.rounds import Step
from ssi_core.serving.index import build_index, open_index
from ssi_core.serving.searcher import texts_of
from ssi_core.tasks.counted import TextPart, _read, count_part
from ssi_core.tasks.frozen import freeze, open_frozen
from ssi_core.tasks.task import open_task
from ssi_core.training import fitting
from ssi_core.training.descend import descend
from ssi_core.types import BadInput
from tests.flows import comparisons
from tests.guests.codes import made as codes
from tests.guests.profiles.test_profiles import log
from tests.guests.reranking import made as pairs
from tests.guests.summary import made as summary
from tests.serving.models import random_models


@dataclass
class Made:
    """What kinds are made of."""

    corpus: Path
    task: Path
    fitted: FittedModel

    @classmethod
    def of(cls, corpus, task):
        fitted = next(model for model in random_models(0) if [*model.arrays] == ["U"])
        return cls(corpus, task, fitted)

    def index(self, place):
        titles = open_task(self.task).documents.titles.to_list()
        build_index(self.fitted, texts_of(titles, self.fitted.document_views), place, parents={})
        return place


# --- sealed directories ---


def corpus(place, made):
    shutil.copytree(made.corpus, place, dirs_exist_ok=True)
    return lambda path: store.read(path, "collection") and None


def task(place, made):
    shutil.copytree(made.task, place, dirs_exist_ok=True)
    return lambda path: open_task(path) and None


def frozen(place, made):
    freeze(made.corpus, place, queries=20)
    return lambda path: open_frozen(path, made.fitted) and None


def model(place, made):
    made.fitted.save(place)
    return lambda path: load_model(path) and None


def index(place, made):
    made.index(place)
    return lambda path: open_index(path) and None


def reranker(place, made):
    reranker_named("rankrls", {}, "test").fit(pairs.pairs([15] * 8)).save(place)
    return lambda path: load_reranker(path) and None


def trees(place, made):
    if importlib.util.find_spec("lightgbm") is None:
        pytest.skip("LightGBM isn't installed")
    LambdaMart(rounds=3, least=5).fit(pairs.pairs([15] * 8)).save(place)
    return lambda path: load_reranker(path) and None


def hash_codes(place, made):
    texts = codes.lines(place.with_suffix(".jsonl"), 60, 20)
    train = read_labelled(texts).train
    CodeModel.of(hasher_named("sth", {"bits": 6}, "test"), train.texts, train.labels).save(place)
    return lambda path: CodeModel.load(path) and None


def concepts(place, made):
    ConceptBase.of(summary.collection(place.with_suffix(".wiki"))).save(place)
    return lambda path: ConceptBase.load(path) and None


def profiles(place, made):
    ProfileModel.of(log(100), Profiler(clusters=2, tokens=3)).save(place)
    return lambda path: ProfileModel.load(path) and None


def report(place, made):
    save_report(comparisons.report(0.1), place)
    return lambda path: load_report(path) and None


def mlflow_model(place, made):
    made.fitted.save(place.with_suffix(".model"))
    table = parse_table(comparisons.TABLE)
    with tracking.row_run(table, table.row("TF-IDF"), 0, "flips", made.task) as run:
        run.finish_model({}, ["en"], place.with_suffix(".model"))
    logged = tracking.model_directory(run.run_id).parents[1]
    shutil.copytree(logged, place, dirs_exist_ok=True)

    def opened(path):
        pyfunc_model.check_sealed(path)
        load_model(path / "artifacts" / "model")

    return opened


# --- what a killed work goes on from ---


class Trainee:
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


def trained(checkpoint, *, interrupted=False):
    return descend(Trainee(interrupted), epoch=1, budget=4, patience=9, checkpoint=checkpoint)


def checkpoint(directory, made):
    with pytest.raises(KeyboardInterrupt):
        trained(directory / "state", interrupted=True)

    def opened(path):
        kept = path.with_name("kept")
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(path, kept)
        trained(kept / "state")

    return opened


def attempts(directory, made):
    (directory / "state").mkdir(parents=True)
    checkpoints._threads_in_turn(directory, 2)
    return lambda path: checkpoints._threads_in_turn(path, 2)


def choice(folder, made):
    folder.mkdir(parents=True, exist_ok=True)
    facts = {"settled": {"rate": 0.1}, "trials": [{"rate": 0.1, "error": 0.5}], "seconds": 1.0}
    fitting.integrity.write_manifest(folder, fitting._SEARCH, {"files": {}, **facts}, durable=False)
    return lambda path: fitting._kept(path) and None


def trial(place, made):
    step = Step(1, 0, {}, 0, 300, 100)
    facts = {"files": {}, **trials.TrialResult(300, 0.5, [(100, {"val/map": 0.1})])._asdict()}
    (place / trials._TRIALS).mkdir(parents=True)
    trials.integrity.write_manifest(
        place / trials._TRIALS, trials._name(step), facts, durable=False
    )
    return lambda path: trials.found(path, step) and None


def counted(directory, made):
    file = next((made.corpus / "documents").glob("*.parquet"))
    count_part(TextPart(file, None, 0, "en", directory / "part"))
    return lambda path: list(_read(path / "part")) and None


def row(folder, made):
    table = parse_table(comparisons.TABLE)
    part = RowPart(table, "TF-IDF", made.task, 0, 1, folder / "part", folder.with_suffix(".kept"))
    train_part(part)
    return lambda path: open_part(replace(part, path=path / "part")) and None


def chunk(directory, made):
    directory.mkdir(exist_ok=True)
    Chunks(None, directory).make()
    frame = pl.DataFrame({"id": ["a", "b"]})
    Chunks(None, directory).write(0, {TEXTS: frame, PAGES: frame}, Counter(pages=2))

    def opened(path):
        if not Chunks(None, path).is_whole(0):
            raise BadInput("it is read again")
        return Chunks(None, path).counts(0), (path / TEXTS / "00000.parquet").read_bytes()

    return opened


def fact(place, made):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSI_CACHE", str(place))
        cache.remember("inputs", "a file", "its digest")

    def opened(path):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SSI_CACHE", str(path))
            found = cache.recall("inputs", "a file")
        if found is None:
            raise BadInput("it is computed again")
        return found

    return opened


# --- exports ---


def exported(target):
    def make(place, made):
        documents = of_index(made.fitted, open_index(made.index(place.with_suffix(".index"))))
        export_model(made.fitted, documents, place, Settings(target), model="m")
        return lambda path: store.read(path, "export") and None

    return make


def program_of_words(directory, made):
    exported("bm25s")(directory, made)
    names = list(search_bm25s.Search(directory / "index").columns)
    keep(directory, "index")
    return lambda path: search_bm25s.Search(path / "index").best(dict.fromkeys(names, 1.0))


def program_of_vectors(directory, made):
    pytest.importorskip("faiss", reason="faiss keeps the latent vectors")
    from ssi_core.guests.export import search_faiss

    exported("faiss")(directory, made)
    width = search_faiss.Search(directory / "vectors").latent.shape[1]
    query = {"vector": [1.0] * width, "words": {"indices": [0, 1], "values": [1.0, 2.0]}}
    keep(directory, "vectors")
    return lambda path: search_faiss.Search(path / "vectors").best(query)


def encoded(place, made):
    exported("opensearch")(place, made)
    keep(place, "encoder.json")
    return lambda path: encoder.Encoder(path / "encoder.json").query("car engine moon")


def keep(directory, name):
    """Remove all but a part of an export, which is what is copied to where it is searched."""
    for path in list(directory.iterdir()):
        if path.name != name:
            shutil.rmtree(path) if path.is_dir() else path.unlink()


# --- databases ---


def added(directory, made):
    directory.mkdir(exist_ok=True)
    changes = Changes(directory / "documents.db")
    changes.put([Document(f"d{n}", f"title {n}", f"text {n} " * (n % 40), None) for n in range(99)])
    changes.drop([f"d{n}" for n in range(0, 99, 7)])
    return lambda path: Changes(path / "documents.db").read()


def runs(directory, made):
    """Two rows of a comparison in a database of MLflow; only the values of rows are read."""
    directory.mkdir(exist_ok=True)
    table = parse_table({**comparisons.TABLE, "name": "flips"})
    for label in ("TF-IDF", "BM25"):
        with tracking.row_run(table, table.row(label), 0, "c", made.task) as run:
            run.measured({f"test/m{n}": n / 7 for n in range(20)})
    database = tracking.tracking_uri().removeprefix("sqlite:///")
    shutil.copyfile(database, directory / "mlflow.db")
    numbers = iter(range(1 << 30))

    def opened(path):
        # MLflow keeps a database open by its address.
        copy = directory.with_name(f"copy{next(numbers)}.db")
        shutil.copyfile(path / "mlflow.db", copy)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{copy}")
            try:
                found = tracking.finished_rows("flips", "c")
                found = sorted((one.label, sorted(one.metrics.items())) for one in found)
                if len(found) < 2:
                    raise BadInput("a row is missing, and is named so")
                return found
            finally:
                tracking.database._open.cache_clear()
                copy.unlink()

    return opened


KINDS = {
    "corpus": corpus,
    "task": task,
    "frozen set": frozen,
    "model": model,
    "index": index,
    "report": report,
    "reranker": reranker,
    "trees of a reranker": trees,
    "hash codes": hash_codes,
    "concepts": concepts,
    "profiles": profiles,
    "model of MLflow": mlflow_model,
    "checkpoint": checkpoint,
    "threads of a row": attempts,
    "chosen rate": choice,
    "trial": trial,
    "counted part": counted,
    "trained row": row,
    "read chunk": chunk,
    "remembered fact": fact,
    **{f"export {target}": exported(target) for target in TARGETS},
    "search.py of bm25s": program_of_words,
    "search.py of faiss": program_of_vectors,
    "encoder.json": encoded,
    "added documents": added,
    "runs of MLflow": runs,
}
"""Name -> its maker."""
