"""What workers of a training begin: a process imports this module by its name."""

from pathlib import Path

from ssi_core.models.base import Course
from ssi_core.models.bilinear import Bilinear, _Training
from ssi_core.tasks.task import open_task

NUMBERS = {"rate": 0.1, "margin": 1.0, "alpha": 1.0, "init_std": 0.1}


def begin(task, seed=3, **settings):
    model = Bilinear(dimensions=10, view="raw", diagonal="none", **settings)
    return _Training(model, open_task(Path(task)), {}, seed, Course()).begin(NUMBERS)
