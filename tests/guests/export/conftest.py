import pytest

from ssi_core.tasks.task import build_task, open_task
from tests.guests.export.models import random_models


@pytest.fixture(scope="session")
def task(tmp_path_factory, corpus_dir):
    """Documents that are queries, in views of which one reads queries otherwise."""
    out = tmp_path_factory.mktemp("export [a]") / "task"
    build_task(
        corpus_dir, out, views=("raw", "raw-sublinear", "sublinear", "sublinear:10", "bm25", "lm")
    )
    return open_task(out)


@pytest.fixture(scope="session")
def models(task):
    return random_models(task)
