"""The Python of the pages, as it is printed, and every cell of the notebooks."""

import re
from pathlib import Path

import pytest

from tests.face.notebooks import NOTEBOOKS, code_of, outputs, ran, read, run_in, unlike
from tests.flows.pages import commands, every_block

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    if BLOCK.search(path.read_text(encoding="utf-8"))
]
PYTHON = "docs/python.md"
RUNS = [("README.md", "Ten lines"), ("docs/site.md", "From a site to its search")]
"""Sections whose commands are typed with the Python of their page."""
PRINTED = {"summaries.md": "It sank in a storm near the cape.", "site.md": "Wheel"}
"""What the blocks of a page print; those of the others compare models."""
ENGINES = "engines.md"
"""A page of packages that are not installed here: tests/docs/test_engines.py runs it."""
READERS = {"search-engineer", "researcher", "operator"}


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
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != ENGINES], ids=lambda path: path.name
)
def test_a_page_can_be_typed_in_an_empty_folder(page, tmp_path):
    assert not list(tmp_path.iterdir())
    told = run_in(tmp_path, [*typed(str(page.relative_to(ROOT)))])
    printed = "".join(text for text, _ in told)
    assert PRINTED.get(page.name, "paired randomisation test") in printed
    if page.name == "index.md":
        (shown,) = (one.text for one in every_block("docs/index.md") if one.kind == "text")
        for part in shown.strip().split("\n\n"):
            begin = f"\n{printed}".index("\n" + part.split("  ")[0].split("MAP")[0])
            assert not unlike(part, printed[begin : begin + len(part)])


def test_every_block_of_python_is_among_what_is_typed():
    count = {page: len(BLOCK.findall((ROOT / page).read_text())) for page in ("README.md", PYTHON)}
    assert count == {"README.md": 1, PYTHON: 10}
    for page in PAGES:
        blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
        assert [one for one in typed(str(page.relative_to(ROOT))) if one in blocks] == blocks
    assert "ssi fit articles.jsonl" in "".join(typed("README.md"))


def test_there_is_a_notebook_for_each_kind_of_user():
    assert {path.stem for path in NOTEBOOKS} == READERS


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_with_its_outputs_and_without_what_changes(notebook):
    held = read(notebook)
    assert held["nbformat"] == 4
    assert len({cell["id"] for cell in held["cells"]}) == len(held["cells"])
    shown = [one for cell in code_of(held) for one in cell["outputs"]]
    assert shown
    assert all(cell["execution_count"] is None for cell in code_of(held))
    for one in shown:
        if one["output_type"] == "execute_result":
            assert "text/plain" in one["data"]
            assert "<script" not in "".join(one["data"].get("text/html", ""))
    places = re.findall(r"[\s\"'](/(?:tmp|home|root|work|usr)/\S*)", str(shown))
    assert not places, "a path of the machine"


@pytest.mark.slow
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_shows_what_it_was_kept_with(notebook):
    kept, now = code_of(read(notebook)), code_of(ran(notebook))
    for before, after in zip(kept, now, strict=True):
        assert [texts(one).keys() for one in before["outputs"]] == [
            texts(one).keys() for one in after["outputs"]
        ]
        for one, other in zip(before["outputs"], after["outputs"], strict=True):
            for kind, text in texts(one).items():
                found = unlike(text, texts(other)[kind])
                assert not found, "make notebooks, and look at what it changes"


def texts(output):
    """The texts of an output, by kind."""
    by_kind = output.get("data") or {"stdout": output["text"]}
    return {kind: "".join(lines) for kind, lines in by_kind.items()}


def test_outputs_that_differ_by_more_than_a_machine_are_seen():
    assert not unlike("MAP 0.4321 key 0123456789ab", "MAP  0.4322 key ba9876543210")
    assert unlike("MAP 0.43", "MAP 0.47")
    assert unlike("Car 0.43", "Cab 0.43")
    assert outputs("", None) == []
