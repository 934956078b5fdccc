"""What ``deploy/`` says, as far as it can be seen without a container."""

import re
import shlex
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import click
import pytest
import yaml

from flows import environment
from flows.cli import cli
from tests.flows.machine import AUTOMATIONS

REPOSITORY = Path(__file__).parents[2]
DOCKERFILE = (REPOSITORY / "deploy" / "Dockerfile").read_text()
COMPOSE = (REPOSITORY / "deploy" / "compose.yaml").read_text()
SERVICES = yaml.safe_load(COMPOSE)["services"]
CLUSTER = (REPOSITORY / "deploy" / "cluster.yaml").read_text()
OF_CLUSTER = yaml.safe_load(CLUSTER)["services"]


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
    assert {"scheduler", "workers", "table"} == OF_CLUSTER.keys()
    for service in (*SERVICES.values(), *OF_CLUSTER.values()):
        assert service["network_mode"] == "host"
        assert "ports" not in service
    for name in ("prefect", "mlflow"):
        assert "--host 127.0.0.1" in SERVICES[name]["command"]
    assert "listen_addresses=127.0.0.1" in SERVICES["postgres"]["command"]
    assert "--host ${SSI_SCHEDULER:-127.0.0.1}" in OF_CLUSTER["scheduler"]["command"]
    assert "--host ${SSI_HOST:-127.0.0.1}" in OF_CLUSTER["workers"]["command"]
    for name in ("scheduler", "workers"):
        assert "--dashboard-address 127.0.0.1:" in OF_CLUSTER[name]["command"]
    assert "0.0.0.0" not in COMPOSE + CLUSTER


def test_services_see_their_own_processes_alone_and_are_not_root():
    for service in (*SERVICES.values(), *OF_CLUSTER.values()):
        # Names of processes say of which container they are, so that nothing is shared for them.
        assert not {"pid", "ipc", "privileged", "cap_add", "user"} & service.keys()
    final = DOCKERFILE.split("\nFROM ")[-1]
    instructions = [line.split() for line in final.splitlines()]
    users = [words[1] for words in instructions if words[:1] == ["USER"]]
    assert users == ["ssi"]
    assert instructions[-1] == ["USER", "ssi"]
    assert "useradd --uid 1000" in final
    # Where the root is, and where the volume is put.
    assert "install --directory --owner ssi /var/lib/ssi" in final
    assert all("/var/lib/ssi" in v for v in SERVICES["prefect"]["volumes"])


def test_the_image_has_what_the_services_start_and_no_tools_of_developers():
    final = DOCKERFILE.split("\nFROM ")[-1]
    assert "PYTHONPATH=/srv/ssi" in final
    assert "WORKDIR /srv/ssi" in final
    assert "requirements.lock" not in final
    assert "pip" not in final.replace("--without-pip", "")
    assert "runtime.py workflow japanese postgres cluster" in DOCKERFILE
    ignore = (REPOSITORY / "deploy" / "Dockerfile.dockerignore").read_text().splitlines()
    for line in DOCKERFILE.splitlines():
        words = line.split()
        if words[:1] == ["COPY"] and not words[1].startswith("--"):
            for name in words[1:-1]:
                assert (REPOSITORY / name).exists()
                assert f"!{name.split('/')[0]}" in ignore
    for service in SERVICES.values():
        assert "deploy/" not in service.get("command", "")


def test_the_lock_of_the_image_is_the_part_of_the_lock_that_runs():
    done = subprocess.run(
        [sys.executable, "deploy/runtime.py", "workflow", "postgres", "cluster"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    )  # fmt: skip
    lock = (REPOSITORY / "requirements.lock").read_text()
    entries = re.split(r"^(?=[a-z0-9])", done.stdout, flags=re.MULTILINE)[1:]
    assert len(entries) > 100
    assert all(entry in lock and "--hash=sha256:" in entry for entry in entries)
    names = {entry.partition("==")[0] for entry in entries}
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    runs = {named(one) for one in (*project["dependencies"], *extras["workflow"])}
    runs |= {named(one) for one in extras["postgres"]}
    runs |= {named(one) for one in extras["cluster"]}
    assert runs <= names
    # Prefect needs two of them itself.
    tools = {named(one) for one in extras["dev"]} - runs - {"ssi", "websockets", "jsonschema"}
    assert {"pytest", "ruff", "mypy", "hypothesis"} <= tools
    assert not tools & names


def named(requirement):
    return re.match("[A-Za-z0-9_-]+", requirement)[0].lower()


def test_every_variable_of_compose_is_in_the_example_and_the_password_is_empty():
    said = (REPOSITORY / "deploy" / "env.example").read_text()
    example = dict(line.split("=") for line in said.splitlines() if "=" in line)
    asked = set(re.findall(r"\$\{([A-Z_]+)", COMPOSE + CLUSTER))
    assert asked == example.keys()
    assert example["POSTGRES_PASSWORD"] == ""
    defaults = set(re.findall(r"\$\{([A-Z_]+):-([^}]+)\}", COMPOSE + CLUSTER))
    assert defaults == {(name, value) for name, value in example.items() if value}


def test_servers_and_workers_that_end_are_started_again():
    for name, service in (SERVICES | OF_CLUSTER).items():
        ends = name in ("setup", "table")
        assert service["restart"] == ("no" if ends else "unless-stopped")


def test_commands_of_the_cluster_are_understood_by_their_programs():
    """No container is started here: what is read is what the programs would be given."""
    dask = pytest.importorskip("distributed.cli", reason="pip install 'ssi[cluster]'").__name__
    found = {}
    for name, service in OF_CLUSTER.items():
        words = shlex.split(re.sub(r"\$\{[A-Z_]+:-([^}]+)\}", r"\1", service["command"]))
        if words[0] == "dask":
            command, words = import_module(f"{dask}.dask_{words[1]}").main, words[2:]
        else:
            command, words = cli, words[1:]
        while isinstance(command, click.Group):
            command, words = command.get_command(click.Context(command), words[0]), words[1:]
        found[name] = command.make_context(name, words).params
    address = f"tcp://{found['scheduler']['host']}:{found['scheduler']['port']}"
    assert found["workers"]["scheduler"] == address
    assert found["table"]["where"] == f"dask:{address}"
    assert found["workers"]["nthreads"] == 1
    assert found["workers"]["host"] == "127.0.0.1"


def test_the_extra_and_the_tests_ask_for_the_same_driver():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert {*extras["postgres"], *extras["cluster"]} <= set(extras["dev"])


@pytest.mark.parametrize("deployment", yaml.safe_load((REPOSITORY / "prefect.yaml").read_text())[
    "deployments"], ids=lambda one: one["name"])  # fmt: skip
def test_a_flow_takes_the_parameters_of_its_deployment(deployment):
    file, name = deployment["entrypoint"].split(":")
    flow = getattr(import_module(file.removesuffix(".py").replace("/", ".")), name)
    flow.validate_parameters(deployment.get("parameters") or {})
