"""Names of served models for people: a version and the label of a row, not an id of a run."""

from __future__ import annotations

import logging
from pathlib import Path

_log = logging.getLogger(__name__)
_DIGITS = 8


def title_of(asked: str, directory: Path, label: str = "model") -> str:
    """Return the name of a model for people.

    Parameters
    ----------
    asked : str
        The name that it is served by.
    directory : Path
        The model's directory, whose name is the last resort.
    label : str
        What people call a model of its kind, such as "SSI".

    Returns
    -------
    str
        Of an alias the alias, the version and the label of the row, as in
        ``models:/ssi@champion (version 3, U'V + I)``; of a run the label, the seed and the
        beginning of its id; of a directory its label and name, as in ``SSI (articles)``.
    """
    if Path(asked).is_dir():
        return f"{label} ({directory_name(Path(asked))})"
    from mlflow.exceptions import MlflowException

    try:
        return _registered(asked) if asked.startswith("models:/") else _of_run(asked)
    except MlflowException as error:
        # A name is not worth a service that does not start.
        _log.warning("%s: its run is not known: %s", asked, error)
        return asked if asked.startswith("models:/") else directory_name(directory)


def directory_name(directory: Path) -> str:
    """Return the name of the directory that a model is kept in."""
    path = directory.resolve()
    return path.parent.name if path.name == "model" and path.parent.name else path.name


def _registered(asked: str) -> str:
    from flows import tracking

    name = asked.removeprefix("models:/")
    if "@" not in name and "/" not in name:
        run = tracking.client().get_logged_model(name).source_run_id
        return _of_run(run) if run else asked
    if "@" in name:
        version = tracking.client().get_model_version_by_alias(*name.rsplit("@", 1))
        facts = [f"version {version.version}"]
    else:
        version = tracking.client().get_model_version(*name.rsplit("/", 1))
        facts = []
    label = version.tags.get("row") or (_label(version.run_id) if version.run_id else "")
    facts += [label] if label else []
    return f"{asked} ({', '.join(facts)})" if facts else asked


def _of_run(asked: str) -> str:
    from flows import tracking

    run = asked.removeprefix("runs:/")
    seed = tracking.client().get_run(run).data.tags.get("seed")
    facts = [f"seed {seed}"] if seed is not None else []
    return f"{_label(run)} ({', '.join([*facts, f'run {run[:_DIGITS]}'])})"


def _label(run_id: str) -> str:
    from flows import tracking

    run = tracking.client().get_run(run_id)
    return str(run.data.tags.get("row") or run.info.run_name or "run")
