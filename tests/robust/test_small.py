"""A corpus smaller than the model: fifty documents, five hundred dimensions."""

import numpy as np
import pytest

from ssi_core.evaluation.evaluate import evaluate
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.latent.lsi import Lsi, LsiMixture
from ssi_core.tasks.task import open_task
from tests.flows.project import PAGES

QUICK = {"rates": (0.1,), "budget": 500, "epoch": 250, "search_budget": 100}


@pytest.mark.parametrize(
    "model",
    [
        Lsi(dimensions=500),
        LsiMixture(dimensions=(100, 500)),
        pytest.param(Bilinear(dimensions=500, **QUICK), marks=pytest.mark.slow),
    ],
    ids=lambda model: model.name,
)
def test_more_dimensions_than_documents(model, project):
    task = open_task(project / "task")
    fitted = model.fit(task, np.random.default_rng(0))
    if model.name.startswith("lsi"):
        # A factorisation has no more of them than the matrix has.
        assert fitted.facts["dimensions"] < PAGES
    assert 0 < evaluate(fitted, task, queries=20).means["map"] <= 1
