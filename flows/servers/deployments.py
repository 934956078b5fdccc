"""Tell a Prefect server of the work pool, the flows of ``prefect.yaml`` and the automations.

All of it may be told again at any time; what the files say then counts.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flows import environment
from flows.servers.prefect_runs import prefect_client
from ssi_core.types import BadInput

POOL = "local-process"
FLOWS = "prefect.yaml"
AUTOMATIONS = "deploy/automations.yaml"


def project() -> Path:
    """Return the directory of ``prefect.yaml``: the root, the nearest above, or the checkout.

    Raises
    ------
    BadInput
        None of them has the file.
    """
    here = Path.cwd()
    paths = (environment.root(), here, *here.parents, Path(__file__).parents[2])
    for path in paths:
        if (path / FLOWS).is_file():
            return path
    raise BadInput(
        f"{environment.root()}: neither it nor {here} has {FLOWS}, which names the flows. "
        "Go to a checkout of ssi, or copy the file of one."
    )


def deploy(path: Path) -> list[str]:
    """Tell the server that Prefect's settings name what there is.

    Parameters
    ----------
    path : Path
        Directory of ``prefect.yaml``.

    Returns
    -------
    names of the deployments
    """
    names = [str(one["name"]) for one in _read(path / FLOWS, "deployments")]
    _make_pool()
    _deploy_flows(path)
    file = path / AUTOMATIONS
    if file.is_file():
        _replace_automations(_read(file, "automations"))
    return names


def _read(file: Path, name: str) -> Sequence[Mapping[str, Any]]:
    import yaml  # type: ignore[import-untyped]

    try:
        entries = (yaml.safe_load(file.read_text(encoding="utf-8")) or {}).get(name)
    except (yaml.YAMLError, AttributeError) as error:
        raise BadInput(f"{file}: {error}") from None
    if not isinstance(entries, list):
        raise BadInput(f"{file}: it has no list {name!r}")
    return entries


def _make_pool() -> None:
    from prefect.client.schemas.actions import WorkPoolCreate
    from prefect.workers.process import ProcessWorker

    template = ProcessWorker.get_default_base_job_template()
    pool = WorkPoolCreate(name=POOL, type=ProcessWorker.type, base_job_template=template)
    with prefect_client() as client:
        client.create_work_pool(pool, overwrite=True)


def _deploy_flows(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "prefect", "--no-prompt", "deploy", "--all"],
        cwd=path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = (done.stdout + done.stderr).strip()[-1000:]
        raise RuntimeError(f"{path / FLOWS} was not deployed; prefect deploy --all says:\n{lines}")


def _replace_automations(automations: Sequence[Mapping[str, Any]]) -> None:
    from prefect.events.schemas.automations import AutomationCore

    with prefect_client() as client:
        for automation in automations:
            wanted = AutomationCore.model_validate(automation)
            before = client.read_automations_by_name(wanted.name)
            client.create_automation(wanted)
            for one in before:
                client.delete_automation(one.id)
