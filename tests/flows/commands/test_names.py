"""Names that a person types: options of models and comparisons, and the settings of flows."""

import pytest

from flows.cli import cli
from ssi_core.command.verb import run
from tests.experiment.test_names import HOSTILE

pytestmark = pytest.mark.usefixtures("own_root")

CALLS = {
    "promote": ["ops", "promote", "1", "--name"],
    "rollback": ["ops", "rollback", "--name"],
    "champions": ["ops", "champions", "--name"],
    "retrain": ["retrain", "--corpus", "c", "--name"],
    "train": ["lab", "train", "demo", "--task", "t", "--row", "TF-IDF", "--comparison"],
    "compare": ["compare", "demo", "--comparison"],
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_hostile_names_of_options_are_wrong_use(call, tmp_path, capsys):
    for name in HOSTILE.values():
        assert run(cli, [*call, name]) == 2
        assert "letters and digits of any script" in capsys.readouterr().err
    # A comparison may be several; a model is one.
    if call[-1] == "--name":
        assert run(cli, [*call, "a,b"]) == 2
        assert "'a,b' is no name of a" in capsys.readouterr().err
    # Nothing was written, in the root or outside of it.
    assert {path.name for path in tmp_path.rglob("*")} <= {"root", ".ssi"}


def test_hostile_names_in_the_settings_of_flows_are_refused():
    from flows.pipeline import PipelineSettings
    from flows.retrain import RetrainSettings
    from flows.train import TrainSettings

    for name in HOSTILE.values():
        with pytest.raises(ValueError, match="name"):
            RetrainSettings(name=name)
        with pytest.raises(ValueError, match="comparison"):
            PipelineSettings(comparison=name)
        with pytest.raises(ValueError, match="comparison"):
            TrainSettings(row="x", task="t", comparison=name)
    assert RetrainSettings(name="été 2").name == "été 2"
    assert PipelineSettings().comparison is None
