"""Paths, and the settings that must be in place before Prefect or MLflow are imported.

All settings of both are variables of the environment, and this is the one place that sets them:
files of the working directory are closed to Prefect (`flows.servers.isolation`), and the paths of
the files that it reads all the same are set here. This module imports nothing that reads them when
it loads. ``python -m flows.environment COMMAND ...`` runs a command, such as ``prefect worker
start``, with the same settings as ``ssi`` itself; one of Prefect calls the server of this root, if
that runs (`flows.servers.prefect_command`).
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from flows.servers.isolation import NOWHERE
from ssi_core import private
from ssi_core.root import home, root, store_path
from ssi_core.system import cores
from ssi_core.threads import override, thread_variables, threads

__all__ = ["cores", "home", "override", "root", "store_path", "thread_variables", "threads"]


def import_path() -> str:
    """Return ``PYTHONPATH`` with this checkout in it, which no installed package reaches."""
    checkout, others = str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")
    paths = [_absolute(path) for path in others.split(os.pathsep) if path]
    return os.pathsep.join(paths if checkout in paths else [checkout, *paths])


CONSOLE = "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL"


def _of_prefect(file: str) -> str:
    """Return the path of a file of the installed Prefect, which is not imported."""
    spec = find_spec("prefect")
    locations = spec.submodule_search_locations if spec else None
    return str(Path(next(iter(locations or ())), file))


def variables() -> dict[str, str]:
    """Return the settings of Prefect and MLflow that a project which calls nobody wants."""
    return {
        "PREFECT_HOME": str(home() / "prefect"),
        # Else of PREFECT_HOME, where a stranger's may lie: one names functions to call, the other
        # the server to obey.
        "PREFECT_LOGGING_SETTINGS_PATH": _of_prefect("logging/logging.yml"),
        "PREFECT_PROFILES_PATH": _of_prefect("settings/profiles.toml"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
        "DO_NOT_TRACK": "1",
        # The default of 20 s is too short on a busy machine.
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "180",
        "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
        # In memory, which is the default, a restart of the server would end the runs that hold one.
        "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
            "prefect.server.concurrency.lease_storage.filesystem"
        ),
        # What ssi_core logs inside a flow belongs to the log of its run.
        "PREFECT_LOGGING_EXTRA_LOGGERS": "ssi_core,flows",
        "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        # A bar of its own for each model that is logged, wherever tqdm is installed.
        "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    }


def prepare() -> None:
    """Set the variables that the user did not set; call it before Prefect or MLflow load.

    New processes find the workflow, wherever they start.

    What Prefect says goes to the page of the run; the terminal belongs to the command.
    """
    try:
        private.directory(home())
    except OSError as error:
        # What writes there refuses itself.
        if error.errno not in (errno.EROFS, errno.EACCES, errno.ENOENT):
            raise
    os.environ.update(_of_processes())
    for name, value in {**variables(), CONSOLE: "CRITICAL"}.items():
        os.environ.setdefault(name, value)
    os.environ["PREFECT_HOME"] = _absolute(os.environ["PREFECT_HOME"])


def _absolute(path: str) -> str:
    """Return a path that means the same where servers start."""
    return str(Path(path).expanduser().absolute())


def _of_processes() -> dict[str, str]:
    """Return the settings of new processes of Python: modules of the working directory are none."""
    return {"PYTHONPATH": import_path(), "PYTHONSAFEPATH": "1"}


def main(command: Sequence[str]) -> None:
    """Become another command, under the prepared environment."""
    if not command:
        sys.exit("usage: python -m flows.environment COMMAND [ARGUMENT ...]")
    import shutil

    from flows.servers.prefect_command import is_service, settings_of
    from ssi_core.types import Refused

    private.directory(home())
    # Prefect and MLflow lie beside the interpreter, be it on PATH or not.
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)))
    try:
        passed_on = {"PATH": path, **_of_processes()}
        every = {**variables(), **os.environ, **settings_of(command), **passed_on}
        program = command[0]
        if is_service(command):
            every |= {"SSI_ROOT": str(root()), "PREFECT_HOME": _absolute(every["PREFECT_HOME"])}
            program = _absolute(shutil.which(program, path=path) or program)
            os.chdir(NOWHERE)
        os.execvpe(program, [program, *command[1:]], every)
    except Refused as error:
        print(f"refused: {error}", file=sys.stderr)
        sys.exit(4)
    except FileNotFoundError:
        sys.exit(f"{command[0]}: there is no such command on PATH")


if __name__ == "__main__":
    main(sys.argv[1:])
