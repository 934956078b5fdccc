"""Flow ``sensor``: has an input changed? It says so by the event ``ssi.input.arrived``.

Prefect watches no files. This flow is scheduled every few minutes; an automation, which
``prefect.yaml`` deploys with ``retrain``, starts a retraining at its event.
"""

from __future__ import annotations

from pathlib import Path

from prefect import flow
from prefect.events import emit_event
from pydantic import BaseModel, ConfigDict, Field

from flows import environment
from flows.steps import begin, file_key, path_in_root
from ssi_core.store import key_of

EVENT = "ssi.input.arrived"


class SensorSettings(BaseModel):
    """Paths that the sensor watches."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    paths: list[str] = Field(
        default_factory=list,
        description="Dumps or directories; one that is not there is waited for",
    )


_DEFAULTS = SensorSettings()


@flow(name="sensor", flow_run_name="look at the inputs")
def sensor(settings: SensorSettings = _DEFAULTS) -> list[str]:
    """Emit an event for each path that changed since the last look; return these paths.

    What is seen for the first time has arrived, too. A look that is killed tells again at the next
    one, and a retraining with nothing new costs seconds.
    """
    begin()
    return [path for path in settings.paths if _arrived(Path(path).resolve())]


def _arrived(path: Path) -> bool:
    seen = environment.home() / "sensor" / key_of("path", {"path": path_in_root(path)}, {})
    if not path.exists():
        return False
    now = file_key(path)
    if seen.is_file() and seen.read_text() == now:
        return False
    resource = {"prefect.resource.id": f"ssi.input.{path}", "prefect.resource.name": path.name}
    emit_event(EVENT, resource=resource, payload={"path": str(path), "key": now})
    seen.parent.mkdir(parents=True, exist_ok=True)
    seen.write_text(now)
    return True
