import pytest

from ssi_core.tasks.task import open_task
from tests.export.models import random_models


@pytest.fixture(scope="session")
def task(task_dir):
    return open_task(task_dir)


@pytest.fixture(scope="session")
def models(task):
    return random_models(task)
