"""Run the notebooks as a stranger does, and keep what they show: python -m tests.face.notebooks.

An output is kept as a notebook has it: what a cell prints, and the value of its last line as text
and as HTML. Paths are those below the folder in which it runs.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))

VOLATILE = {
    r"\b[0-9a-f]{12,}\b": "KEY",  # of the code and of what was read
    r"[\s─]+": " ",  # columns are as wide as the longest number, lines as a path leaves room
}
"""Parts of outputs that change although nothing is wrong, and what is compared in their place."""
_SCRATCH = re.compile(rf"{re.escape(tempfile.gettempdir())}/ssi-\w+/")
_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")

CELLS = """
import ast, json, os, sys, tempfile

def captured(run):
    sys.stdout.flush()
    with tempfile.TemporaryFile() as file:
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            value = run()
        finally:
            sys.stdout.flush()
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        return value, file.read().decode()

names = {"__name__": "__main__"}
told = []
for source in json.load(sys.stdin):
    *before, last = ast.parse(source).body
    shown = isinstance(last, ast.Expr)
    whole = compile(ast.Module(before if shown else [*before, last], []), "<cell>", "exec")
    def run():
        exec(whole, names)
        if shown:
            return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
    value, printed = captured(run)
    data = None if value is None else {"text/plain": repr(value)}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = value._repr_html_()
    told.append([printed, data])
print(json.dumps(told))
"""


def environment():
    """The environment of a stranger: that of the tests without settings of this project."""
    ours = ("SSI_", "PREFECT_", "MLFLOW_")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return clean | {"PATH": path, "PYTHONPATH": str(ROOT)}


def run_in(place, sources):
    """Run cells one after the other in a process of their own.

    Returns
    -------
    list of (str, dict or None)
        What each cell prints, and its value by MIME type. Folders that end with the process are
        left out of paths.
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", CELLS],
        cwd=place, env=environment(), input=json.dumps(sources), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    told = done.stdout.splitlines()[-1].replace(f"{place}/", "")
    return json.loads(_SCRATCH.sub("", told))


def read(notebook):
    """What a file of a notebook holds."""
    return json.loads(notebook.read_text(encoding="utf-8"))


def code_of(held):
    """The cells of a notebook that run."""
    return [cell for cell in held["cells"] if cell["cell_type"] == "code"]


def outputs(printed, data):
    """The outputs of a cell, as a notebook keeps them."""
    found = []
    if printed:
        found.append({"name": "stdout", "output_type": "stream", "text": lines(printed)})
    if data is not None:
        shown = {kind: lines(text) for kind, text in sorted(data.items())}
        result = {"data": shown, "execution_count": None, "metadata": {}}
        found.append({**result, "output_type": "execute_result"})
    return found


def lines(text):
    return text.splitlines(keepends=True)


def ran(notebook):
    """The notebook as it is after it ran in an empty folder, whose name is short."""
    held = read(notebook)
    cells = code_of(held)
    with tempfile.TemporaryDirectory() as path:
        told = run_in(Path(path).resolve(), ["".join(cell["source"]) for cell in cells])
    for cell, (printed, data) in zip(cells, told, strict=True):
        cell["outputs"] = outputs(printed, data)
    return held


def unlike(kept, shown):
    """How two texts differ but for volatile parts, and for numbers as another machine has them."""
    both = []
    for text in (kept, shown):
        for pattern, word in VOLATILE.items():
            text = re.sub(pattern, word, text)
        both.append(text)
    words = [_NUMBER.sub("#", text) for text in both]
    if words[0] != words[1]:
        return words
    numbers = [[float(n.replace(",", "")) for n in _NUMBER.findall(text)] for text in both]
    pairs = zip(*numbers, strict=True)
    return [pair for pair in pairs if not math.isclose(*pair, rel_tol=0.02, abs_tol=0.002)]


def main():
    for notebook in NOTEBOOKS:
        text = json.dumps(ran(notebook), indent=1, ensure_ascii=False)
        notebook.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
