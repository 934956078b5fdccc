"""Defaults and bounds of settings, a line for each, held to a file of their room."""

import json
import os
from pathlib import Path

from pydantic import TypeAdapter


def lines(name, kind):
    """Write what each setting takes, and what it is where it is not given."""
    for setting, schema in TypeAdapter(kind).json_schema()["properties"].items():
        said = {key: value for key, value in schema.items() if key not in ("title", "type")}
        yield f"{name}.{setting} {json.dumps(said, sort_keys=True)}"


def hold(test, kinds):
    """Compare settings with the file beside a test; with SETTINGS set, write it anew."""
    file = Path(test).with_name("settings.txt")
    found = [line for name, kind in kinds.items() for line in lines(name, kind)]
    if "SETTINGS" in os.environ:
        file.write_text("\n".join([*found, ""]), encoding="utf-8")
    assert found == file.read_text(encoding="utf-8").splitlines()
