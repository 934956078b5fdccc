"""Names of served models for people."""

from types import SimpleNamespace

import pytest
from mlflow.exceptions import MlflowException

from flows import tracking
from flows.serve.names import title_of

RUN, NAMELESS = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"
TAGS = {RUN: {"row": "U'V + I", "seed": "1"}, NAMELESS: {}}


class Client:
    """What MLflow knows: two runs, and a model of three versions of which the last has an alias."""

    def get_run(self, run):
        if run not in TAGS:
            raise MlflowException("no such run")
        info = SimpleNamespace(run_name="gaudy-fox-12")
        return SimpleNamespace(data=SimpleNamespace(tags=TAGS[run]), info=info)

    def get_logged_model(self, name):
        return SimpleNamespace(source_run_id=RUN if name == "m-1" else None)

    def get_model_version(self, name, version):
        known = {"1": (RUN, {"row": "W = D"}), "2": (NAMELESS, {}), "3": (RUN, {})}
        if name != "ssi" or version not in known:
            raise MlflowException("no such version")
        run, tags = known[version]
        return SimpleNamespace(version=version, run_id=run, tags=tags)

    def get_model_version_by_alias(self, name, alias):
        if alias != "champion":
            raise MlflowException("no such alias")
        return self.get_model_version(name, "3")


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("models:/ssi@champion", "models:/ssi@champion (version 3, U'V + I)"),
        ("models:/ssi/1", "models:/ssi/1 (W = D)"),
        ("models:/ssi/2", "models:/ssi/2 (gaudy-fox-12)"),
        ("models:/ssi@gone", "models:/ssi@gone"),
        ("models:/m-1", "U'V + I (seed 1, run 01234567)"),
        ("models:/m-2", "models:/m-2"),
        (RUN, "U'V + I (seed 1, run 01234567)"),
        (f"runs:/{NAMELESS}", "gaudy-fox-12 (run fedcba98)"),
        ("f" * 32, "learnt"),
    ],
)
def test_a_model_of_mlflow_is_named_by_its_version_and_row(tmp_path, monkeypatch, asked, title):
    monkeypatch.setattr(tracking, "client", Client)
    (tmp_path / "learnt" / "model").mkdir(parents=True)
    assert title_of(asked, tmp_path / "learnt" / "model") == title


def test_a_directory_is_named_by_what_it_holds_and_its_name(tmp_path, monkeypatch):
    path = tmp_path / "learnt" / "model"
    path.mkdir(parents=True)
    monkeypatch.chdir(path)
    asked = (tmp_path / "learnt", path, ".")
    assert {title_of(str(one), path, "SSI") for one in asked} == {"SSI (learnt)"}
