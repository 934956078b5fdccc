"""The Python of the pages, as it is printed, and every cell of the notebooks."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if BLOCK.search(path.read_text(encoding="utf-8"))
]
PRINTED = {"summaries.md": "It sank in a storm near the cape."}
"""What the blocks of a page print; those of the others compare models."""
SAMPLE = re.compile(r"^    ssi (sample [^\n]*--tables[^\n]*)$", re.MULTILINE)
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
READERS = {"search-engineer", "researcher", "operator"}

CELLS = """
import ast, json, sys
from pathlib import Path
names = {"__name__": "__main__"}
for source in json.loads(Path(sys.argv[1]).read_text()):
    *before, last = ast.parse(source).body
    shown = isinstance(last, ast.Expr)
    exec(compile(ast.Module(before if shown else [*before, last], []), "<cell>", "exec"), names)
    if shown:
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
        html = getattr(value, "_repr_html_", None)
        print(html() if html else repr(value))
"""


def environment():
    ours = ("SSI_", "PREFECT_", "MLFLOW_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return clean | {"PYTHONPATH": str(ROOT)}


def run_in(place, sources):
    """Run cells one after the other in a process of their own; return what they print."""
    (place / "cells.json").write_text(json.dumps(sources))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CELLS, "cells.json"],
        cwd=place, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_the_blocks_of_a_page_run_as_printed_in_an_empty_folder(page, tmp_path):
    text = page.read_text(encoding="utf-8")
    # A page may say how its files are made, and nothing else is there.
    for command in SAMPLE.findall(text):
        words = [sys.executable, "-m", "ssi_core", *shlex.split(command)]
        subprocess.run(words, cwd=tmp_path, env=environment(), check=True, capture_output=True)
    printed = run_in(tmp_path, BLOCK.findall(text))
    assert PRINTED.get(page.name, "paired randomisation test") in printed


@pytest.mark.slow
def test_the_first_example_finds_the_page_of_another_word(tmp_path):
    """What README shows: Car is the first answer to "automobile", which its text never says."""
    printed = run_in(tmp_path, BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    answers = printed[printed.index("title ") :].splitlines()
    assert answers[1].split()[0] == "Car"


def cells(notebook):
    return json.loads(notebook.read_text(encoding="utf-8"))["cells"]


def test_there_is_a_notebook_for_each_kind_of_user():
    assert {path.stem for path in NOTEBOOKS} == READERS


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_its_outputs(notebook):
    code = [cell for cell in cells(notebook) if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert json.loads(notebook.read_text(encoding="utf-8"))["nbformat"] == 4
    assert len({cell["id"] for cell in cells(notebook)}) == len(cells(notebook))


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_of_a_notebook_runs(notebook, tmp_path):
    sources = ["".join(cell["source"]) for cell in cells(notebook) if cell["cell_type"] == "code"]
    assert "<table>" in run_in(tmp_path, sources)
