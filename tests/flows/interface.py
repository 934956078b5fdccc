"""The interface, a line for each option, public name, field of a flow's form, measure and target.

``tests/flows/interface.txt`` holds them. Whoever changes a default, a bound or a name writes them
anew, and the change into the changelog:

    python -m tests.flows.interface
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click

import ssi_core as ssi
from ssi_core.command.fields import Setting, parameters, settings_of
from ssi_core.evaluation.measures import every_measure
from ssi_core.registry import TARGETS
from tests.robust.verbs import command_of, verbs

FILE = Path(__file__).with_name("interface.txt")
FLOWS = {
    "ingest": ("ingest", "ingest_mates", "ingest_clicks"),
    **{name: (name,) for name in ("features", "train", "evaluate", "pipeline", "retrain")},
    "sensor": ("sensor",),
}
"""Module of `flows` -> its flows."""


def bounds(kind: Any) -> str:
    """Write the numbers that a type takes, as an interval."""
    kind = getattr(kind, "number", kind)
    least, most = getattr(kind, "min", None), getattr(kind, "max", None)
    if least is most is None:
        return ""
    ends = ("(" if kind.min_open else "["), (")" if kind.max_open else "]")
    return f" in {ends[0]}{least}, {most}{ends[1]}".replace("None", "..")


def of_verb(verb: str) -> Iterator[tuple[Setting, click.Parameter]]:
    """Yield the settings of a verb, each with its option or argument."""
    for settings in command_of(verb).settings:  # type: ignore[attr-defined]
        yield from zip(settings_of(settings), parameters(settings), strict=True)


def options() -> Iterator[str]:
    """Yield a line for each option and argument of each verb."""
    for verb in verbs():
        for setting, param in of_verb(verb):
            names = "/".join([*param.opts, *param.secondary_opts])
            number = {True: "..."}.get(bool(getattr(param, "multiple", False)), "")
            default = "must be given" if setting.required else f"= {setting.default!r}"
            shown = getattr(param, "known", None)
            said = f", shown as {shown}" if shown not in (None, str(setting.default)) else ""
            kind = ""
            if isinstance(param.type, click.Choice):
                kind = f" of {'|'.join(map(str, param.type.choices))}"
            yield f"ssi {verb} {names}{number}{kind}{bounds(param.type)} {default}{said}"


def names() -> Iterator[str]:
    """Yield a line for each public name in Python, and each method of a class."""
    for name in ssi.__all__:
        found = getattr(ssi, name)
        yield f"ssi.{name}{_parameters(found)}"
        if inspect.isclass(found):
            for method, value in inspect.getmembers(found, inspect.isroutine):
                of_ours = str(getattr(value, "__module__", "")).startswith("ssi_core")
                # From Python 3.13 on a cached property is a routine, too.
                if callable(value) and of_ours and not method.startswith("_"):
                    yield f"ssi.{name}.{method}{_parameters(value)}"


def _parameters(found: Any) -> str:
    signature = inspect.signature(found)
    bare = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
    return str(inspect.Signature(bare))


def forms() -> Iterator[str]:
    """Yield a line for each field of the forms of flows."""
    for module, flows in FLOWS.items():
        for flow in flows:
            schema = getattr(import_module(f"flows.{module}"), flow).parameters.model_dump()
            yield from _fields(f"flow {flow}", schema["definitions"], schema)


def _fields(path: str, definitions: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    for name, one in schema.get("properties", {}).items():
        facts = {
            key: value
            for key, value in sorted(one.items())
            if key not in ("title", "description", "position", "examples")
        }
        yield f"{path}.{name} {facts}"
    for name, one in definitions.items():
        yield from _fields(f"{path} {name}", {}, one)


def reports() -> Iterator[str]:
    """Yield a line for each measure and each export target."""
    for name, measure in every_measure().items():
        facts = {"higher is better": measure.higher_is_better, "in per cent": measure.percent}
        said = [fact for fact, so in {**facts, "of each query": measure.single}.items() if so]
        yield f"measure {name} {measure.title!r}: {', '.join(said)}"
    yield from (f"target {name}" for name in TARGETS)


def written() -> str:
    """Return what the file holds."""
    lines = [*options(), *names(), *forms(), *reports()]
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    FILE.write_text(written(), encoding="utf-8")
