"""Sizes of the rooms: files and lines of code, without docstrings, comments and blank lines.

Nobody enforces them. What holds the structure is tests/test_layers.py. Beside them: how many
modules the import of a model loads, and with --walks how many files a training and a typed query
enter.

    python -m benchmarks.house --walks
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.walks import walks

ROOT = Path(__file__).parents[1]
TOGETHER = ("guests", "datasets", "sample")
"""Rooms of ssi_core outside of its core."""
LOADED = "import sys, {module}; print(sum(name.startswith('ssi_core') for name in sys.modules))"


def lines_of_code(source: str) -> int:
    r"""Return how many lines of a source hold code.

    >>> lines_of_code('"A docstring."\\n\\nx = 1  # one\\n')
    1
    """
    prose = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in {*blank, tokenize.ENDMARKER}:
            held.update(range(token.start[0], token.end[0] + 1))
    return len(held - prose)


def room_of(file: Path) -> str:
    """Return the room of a file of this tree.

    >>> room_of(Path("ssi_core/models/latent/lsi.py"))
    'ssi_core/models'
    >>> room_of(Path("ssi_core/guests/feeds/kernels/spread.py"))
    'ssi_core/guests/feeds'
    """
    parts = file.parts[:-1]
    return "/".join(parts[: 3 if parts[:2] == ("ssi_core", "guests") else 2])


def rooms() -> dict[str, Counter[str]]:
    """Return files and lines of code of each room."""
    sizes: dict[str, Counter[str]] = {}
    for package in ("ssi_core", "flows", "tests"):
        for file in sorted((ROOT / package).rglob("*.py")):
            room = room_of(file.relative_to(ROOT))
            code = lines_of_code(file.read_text(encoding="utf-8"))
            sizes.setdefault(room, Counter()).update(files=1, code=code)
    return sizes


def loaded(module: str) -> int:
    """Return how many modules of ours a fresh process has after an import."""
    program = LOADED.format(module=module)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return int(done.stdout)


def totals(sizes: dict[str, Counter[str]]) -> dict[str, int]:
    """Return lines of code of the whole, and of its core."""
    of = {room: size["code"] for room, size in sizes.items()}
    library = sum(code for room, code in of.items() if room.startswith("ssi_core"))
    outside = sum(
        code
        for room, code in of.items()
        if room.startswith(tuple(f"ssi_core/{name}" for name in TOGETHER))
    )
    flows = sum(code for room, code in of.items() if room.startswith("flows"))
    tests = sum(code for room, code in of.items() if room.startswith("tests"))
    return {"core": library - outside, "ssi_core": library, "flows": flows, "tests": tests}


def main() -> None:
    """Print the sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="Print one JSON object.")
    parser.add_argument("--walks", action="store_true", help="Count the files that calls enter.")
    arguments = parser.parse_args()
    sizes = rooms()
    value: dict[str, Any] = {
        "rooms": {room: dict(size) for room, size in sizes.items()},
        "totals": totals(sizes),
        "loaded": {"ssi_core.models.bm25": loaded("ssi_core.models.bm25")},
    }
    if arguments.walks:
        with tempfile.TemporaryDirectory() as folder:
            value["walks"] = {call: len(walk.files) for call, walk in walks(Path(folder))}
    if arguments.json:
        print(json.dumps(value, indent=1))
        return
    print(f"{'files':>7} {'code':>7}  room")
    for room, size in sizes.items():
        print(f"{size['files']:>7} {size['code']:>7,}  {room}")
    for name, code in value["totals"].items():
        print(f"{'':>7} {code:>7,}  all of {name}")
    for module, count in value["loaded"].items():
        print(f"{count:>7} modules of ours are loaded by importing {module}")
    for call, count in value.get("walks", {}).items():
        print(f"{count:>7} files of ssi_core are entered by {call}")


if __name__ == "__main__":
    main()
