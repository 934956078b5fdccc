import os
import shutil

import pytest

from tests.flows.project import make


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """A dump of fifty pages, its corpus, its task and a model with an index."""
    return make(tmp_path_factory.mktemp("project"))


@pytest.fixture
def here(project, tmp_path, monkeypatch):
    """A directory with a copy of the project."""
    for name in list(os.environ):
        if name.startswith(("SSI_", "PREFECT_", "MLFLOW_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("SSI_ROOT", str(tmp_path / "root"))
    for name in ("corpus", "task", "model"):
        shutil.copytree(project / name, tmp_path / name)
    shutil.copy(project / "dump.xml.bz2", tmp_path)
    return tmp_path
