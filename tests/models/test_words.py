"""A model meets no texts but those that were read with its own words."""

import numpy as np
import pytest

from ssi_core.evaluation.evaluate import evaluate
from ssi_core.evaluation.trec import write_trec
from ssi_core.models import load_model
from ssi_core.models.baselines.tfidf import TfIdf
from ssi_core.serving.index import build_index
from ssi_core.tasks.task import build_task, open_task
from ssi_core.types import BadInput


def test_texts_in_other_words_are_refused(tmp_path, corpus_dir, task_dir):
    task = open_task(task_dir)
    TfIdf().fit(task, np.random.default_rng(0)).save(tmp_path / "model")
    model = load_model(tmp_path / "model")
    assert evaluate(model, task, tuples=0).means["map"] > 0
    build_task(corpus_dir, tmp_path / "fewer", words=150, views=("raw",))
    other = open_task(tmp_path / "fewer")
    for use in (
        lambda: evaluate(model, other),
        lambda: write_trec(model, other, tmp_path / "trec"),
        lambda: build_index(model, other.documents, tmp_path / "index", parents={}),
    ):
        with pytest.raises(BadInput, match="--on DIRECTORY"):
            use()
