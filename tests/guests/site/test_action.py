"""The step of a workflow that writes a search: its file, and what its last step runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import ssi_core as ssi
from ssi_core.guests.site.writing import is_site
from tests.guests.site.made import small

ROOT = Path(__file__).parents[3]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = ACTION["runs"]["steps"]


def used(text, context):
    return set(re.findall(rf"\b{context}\.([\w-]+)", text))


def test_steps_name_inputs_and_steps_that_there_are():
    text = (ROOT / "action.yml").read_text()
    assert used(text, "inputs") == ACTION["inputs"].keys()
    assert used(text, "steps") == {step["id"] for step in STEPS if "id" in step}
    assert all(step["shell"] == "bash" for step in STEPS if "run" in step)
    # What a caller gives reaches a script as a variable, never as a part of its text.
    assert not any("${{" in step.get("run", "") for step in STEPS)


@pytest.mark.parametrize("out", ["", "public/deep/found"])
def test_the_last_step_writes_a_search_with_the_options(own_root, tmp_path, out):
    small(tmp_path / "public")
    place = tmp_path / "runner/ssi/bin"
    place.mkdir(parents=True)
    program = Path(sys.executable).with_name("ssi")
    (place / "ssi").symlink_to(program)
    given = {"folder": "public", "out": out, "options": "--addresses folders --seed 1"}
    values = {
        name: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: given[found[1]], value)
        for name, value in STEPS[-1]["env"].items()
    }
    values["SSI_ROOT"] = str(tmp_path / "root")
    values |= {"RUNNER_TEMP": str(tmp_path / "runner"), "GITHUB_OUTPUT": str(tmp_path / "output")}
    script = ["bash", "-eo", "pipefail", "-c", STEPS[-1]["run"]]
    subprocess.run(script, cwd=tmp_path, env={**os.environ, **values}, check=True)
    written = out or "public/search"
    assert (tmp_path / "output").read_text() == f"out={written}\n"
    assert is_site(tmp_path / written)
    assert ssi.Site(tmp_path / written).search("wheels")[0].url == "cars/"


def test_a_page_shows_the_step_as_it_is():
    page = (ROOT / "docs/site.md").read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    [workflow] = [yaml.safe_load(block) for block in blocks if "jobs:" in block]
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    [ours] = [step for step in steps if "ssi@" in step.get("uses", "")]
    assert ours["with"].keys() <= ACTION["inputs"].keys()
