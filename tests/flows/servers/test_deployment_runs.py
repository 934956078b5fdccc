"""Runs of deployments that a command starts; with real servers in `test_up`."""

from types import SimpleNamespace

import pytest
from prefect.utilities.callables import parameter_schema

from flows.pipeline import pipeline
from flows.retrain import retrain
from flows.servers import deployment_runs
from flows.servers.deployment_runs import _parameters
from ssi_core.types import BadInput, Refused


def deployment(flow, **parameters):
    schema = parameter_schema(flow.fn).model_dump_for_openapi()
    return SimpleNamespace(name=flow.name, parameters=parameters, parameter_openapi_schema=schema)


def test_settings_of_a_run_stand_in_place_of_those_of_its_deployment():
    nightly = deployment(pipeline, settings={"table": "demo", "sample": 2000})
    given = {"sample": "500", "table": "my.toml", "rows": '["TF-IDF"]'}
    assert _parameters(nightly, given) == {
        "settings": {"table": "my.toml", "sample": 500, "rows": ["TF-IDF"]}
    }
    assert nightly.parameters == {"settings": {"table": "demo", "sample": 2000}}
    assert _parameters(nightly, {}) == nightly.parameters


def test_a_point_leads_to_a_setting_within_another():
    nightly = deployment(retrain, settings={"ingest": {"source": "sample", "documents": 2000}})
    assert _parameters(nightly, {"ingest.documents": "5000"}) == {
        "settings": {"ingest": {"source": "sample", "documents": 5000}}
    }


def test_a_misspelt_setting_is_answered_with_the_nearest():
    with pytest.raises(BadInput, match=r"no setting 'smaple'\. Did you mean 'sample'\?"):
        _parameters(deployment(pipeline), {"smaple": "500"})


def test_a_flow_of_somebody_else_has_its_parameters_by_their_names():
    def work(paces: int = 3):
        """Work."""

    theirs = deployment(SimpleNamespace(fn=work, name="work"), paces=3)
    assert _parameters(theirs, {"paces": "4"}) == {"paces": 4}


@pytest.mark.usefixtures("own_root")
def test_without_a_server_the_message_says_what_starts_one(monkeypatch):
    monkeypatch.setattr(deployment_runs, "chosen_url", lambda: "")
    with pytest.raises(Refused, match="ssi up"), deployment_runs.server():
        pass
