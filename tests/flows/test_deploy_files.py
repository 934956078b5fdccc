"""What ``deploy/`` says, as far as it can be seen without a container."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from flows import environment
from tests.flows.machine import AUTOMATIONS

REPOSITORY = Path(__file__).parents[2]
COMPOSE = (REPOSITORY / "deploy" / "compose.yaml").read_text()
SERVICES = yaml.safe_load(COMPOSE)["services"]


def test_three_missed_heartbeats_end_a_run():
    frequency = int(environment.variables()["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"])
    silent, never_began = (automation["trigger"] for automation in AUTOMATIONS)
    assert silent["within"] == 3 * frequency
    assert silent["after"] == ["prefect.flow-run.Running", "prefect.flow-run.heartbeat"]
    assert never_began["after"] == ["prefect.flow-run.Pending"]


@pytest.mark.parametrize("automation", AUTOMATIONS, ids=lambda one: one["name"])
def test_prefect_takes_the_automations(automation):
    from prefect.events.schemas.automations import AutomationCore

    taken = AutomationCore.model_validate(automation)
    assert taken.enabled
    assert taken.trigger.posture.value == "Proactive"
    assert [action.state.value for action in taken.actions] == ["CRASHED"]


def test_services_listen_on_this_machine_alone():
    assert {"postgres", "prefect", "mlflow", "worker-1", "worker-2", "serve"} <= SERVICES.keys()
    for service in SERVICES.values():
        assert service["network_mode"] == "host"
        assert "ports" not in service
    for name in ("prefect", "mlflow"):
        assert "--host 127.0.0.1" in SERVICES[name]["command"]
    assert "listen_addresses=127.0.0.1" in SERVICES["postgres"]["command"]
    assert "0.0.0.0" not in COMPOSE


def test_every_variable_of_compose_is_in_the_example_and_the_password_is_empty():
    said = (REPOSITORY / "deploy" / "env.example").read_text()
    example = dict(line.split("=") for line in said.splitlines() if "=" in line)
    asked = set(re.findall(r"\$\{([A-Z_]+)", COMPOSE))
    assert asked == example.keys()
    assert example["POSTGRES_PASSWORD"] == ""
    defaults = set(re.findall(r"\$\{([A-Z_]+):-(\d+)\}", COMPOSE))
    assert defaults == {(name, value) for name, value in example.items() if value}


def test_servers_and_workers_that_end_are_started_again():
    for name, service in SERVICES.items():
        assert service["restart"] == ("no" if name == "setup" else "unless-stopped")


def test_the_extra_and_the_tests_ask_for_the_same_driver():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert set(extras["postgres"]) <= set(extras["dev"])
