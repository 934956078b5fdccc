"""The rows that a sweep says it changed, of which alone a checkpoint writes."""

import pytest

from ssi_core.models.base import FitOptions
from ssi_core.models.bilinear.bilinear import Bilinear
from ssi_core.models.bilinear.half_transductive import HalfTransductive
from ssi_core.models.bilinear.training import MapTraining
from ssi_core.tasks.task import open_task

SMALL = {"dimensions": 8, "rates": (0.1,), "tied": False}
MODELS = {
    "bilinear": Bilinear(**SMALL),
    "half-transductive": HalfTransductive(**SMALL, initial="normal"),
}


@pytest.mark.trains
@pytest.mark.parametrize("name", MODELS)
def test_rows_that_change_are_named(name, task_dir):
    settings = {"rate": 0.1, "init_std": 0.1, "alpha": 1.0, "margin": 5.0}
    task = open_task(task_dir)
    sgd = MapTraining(MODELS[name], task, {}, 3, FitOptions()).begin(settings)
    for _ in range(2):
        before = {name: array.copy() for name, array in sgd.arrays.items()}
        sgd.sweep(2)
        marks = sgd.changed(0)
        assert {"U", "V"} <= marks.keys()
        for array, marked in marks.items():
            differs = (sgd.arrays[array] != before[array]).reshape(len(marked), -1).any(axis=1)
            assert differs.any()
            assert not (differs & ~marked).any()
            assert marked.mean() < 0.9
