"""The Python of the pages, as it is printed, and every cell of the notebooks."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.flows.pages import commands, every_block

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if BLOCK.search(path.read_text(encoding="utf-8"))
]
PYTHON = "docs/python.md"
RUNS = [("README.md", "Ten lines")]
"""Sections whose commands are typed with the Python of their page."""
PRINTED = {"summaries.md": "It sank in a storm near the cape."}
"""What the blocks of a page print; those of the others compare models."""
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
READERS = {"search-engineer", "researcher", "operator"}

CELLS = """
import ast, json, sys
names = {"__name__": "__main__"}
for source in json.load(sys.stdin):
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
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return clean | {"PATH": path, "PYTHONPATH": str(ROOT)}


def run_in(place, sources):
    """Run cells one after the other in a process of their own; return what is printed."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CELLS],
        cwd=place, env=environment(), input=json.dumps(sources), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def typed(page):
    """Sources of what a page has a person type: Python, and the commands that belong to it.

    Commands that make data are typed on every page; the others by `RUNS`, or by other tests.
    """
    here = [block.text for section in RUNS if section[0] == page for block in commands(*section)]
    for block in every_block(page):
        if block.kind == "python":
            yield block.text
        elif block.text in here or block.first.startswith("ssi data sample own"):
            words = ["bash", "-euc", block.text]
            yield f"import subprocess\nsubprocess.run({words!r}, check=True)\n"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_a_page_can_be_typed_in_an_empty_folder(page, tmp_path):
    assert not list(tmp_path.iterdir())
    printed = run_in(tmp_path, [*typed(str(page.relative_to(ROOT)))])
    assert PRINTED.get(page.name, "paired randomisation test") in printed


def test_every_block_of_python_is_among_what_is_typed():
    count = {page: len(BLOCK.findall((ROOT / page).read_text())) for page in ("README.md", PYTHON)}
    assert count == {"README.md": 1, PYTHON: 10}
    for page in PAGES:
        blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
        assert [one for one in typed(str(page.relative_to(ROOT))) if one in blocks] == blocks
    assert "ssi fit articles.jsonl" in "".join(typed("README.md"))


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
