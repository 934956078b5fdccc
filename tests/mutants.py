"""Mutants: one small change of the code each, which the tests of its room should notice.

Places are drawn by a seed over all files, by their lines of code; an operator of cosmic-ray changes
one place in a copy of the tree. The tests nearest to the file run on each of them first; those of
other rooms that import it, of the interface and of its room on those that are left. A test that
fails, or does not end in time, must pass without the change. A kernel that is changed is compiled
anew.

    python -m tests.mutants --number 150 --out mutants.jsonl

A draw that was stopped goes on: what the file holds of the same seed and commit is not run again.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.house import lines_of_code, room_of

ROOT = Path(__file__).parents[1]
UNUSED = (
    "core/NoOp",  # changes nothing
    "core/RemoveDecorator",  # takes a kernel's compiler away, and no result changes
    "core/VariableInserter",  # these two need arguments
    "core/VariableReplacer",
    "core/ExceptionReplacer",  # fails where an exception's name has a dot
)
"""Operators that are not drawn."""
TESTS_OF = {
    "ssi_core/command": "tests/flows/commands",
    "ssi_core/datasets": "tests/datasets",
    "ssi_core/sample": "tests/sample",
}
"""Folders of tests whose name does not follow from the room's."""
CONTRACTS = {
    "": "tests/flows/test_interface.py",
    "ssi_core/models": "tests/docs/test_reference.py",
}
"""Beginning of a path -> tests over registries, which declare the interface of what it holds."""


@dataclass(frozen=True)
class Mutant:
    """A change: the operator's occurrence in a file, and the line before and after it."""

    path: str
    operator: str
    occurrence: int
    line: int
    before: str
    after: str


@dataclass(frozen=True)
class Fate:
    """What became of a mutant: found (by which test), survived, or not decided (why)."""

    outcome: str
    by: str
    seconds: float


def passive(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the spans that never run: annotations, and imports for the checker of types."""
    spans: list[ast.AST] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            spans.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
            spans.append(node.returns)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            spans.append(node)
    return [
        ((span.lineno, span.col_offset), (span.end_lineno, span.end_col_offset))  # type: ignore[attr-defined]
        for span in spans
    ]


def changes(source: str) -> dict[tuple[int, int], list[tuple[str, int]]]:
    """Return the operators and their occurrences at each place of a source that runs."""
    nodes, never = list(ast_nodes(get_ast(source))), passive(source)
    found: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for name in plugins.operator_names():
        if name in UNUSED:
            continue
        operator = plugins.get_operator(name)()
        places = (start for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, place in enumerate(places):
            if not any(start <= place < end for start, end in never):
                found.setdefault(place, []).append((name, occurrence))
    return found


def mutated(source: str, operator: str, occurrence: int) -> str:
    """Return the source with one change."""
    changed = mutate_code(source, plugins.get_operator(operator)(), occurrence)
    assert changed is not None, (operator, occurrence)
    return changed


def is_another_program(source: str, other: str) -> bool:
    """Return whether a changed source can be parsed, and not to the same tree."""
    try:
        return ast.dump(ast.parse(other)) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def draw(number: int, seed: int) -> list[Mutant]:
    """Draw mutants: files by their lines of code, then places of the file and one change of each.

    What is no other program (parentheses, or no program at all) is drawn again.
    """
    chance = random.Random(seed)
    sizes = {
        file: lines_of_code(file.read_text(encoding="utf-8"))
        for package in ("ssi_core", "flows")
        for file in sorted((ROOT / package).rglob("*.py"))
    }
    files, weights = list(sizes), list(sizes.values())
    drawn: dict[tuple[str, tuple[int, int]], Mutant] = {}
    known: dict[Path, dict[tuple[int, int], list[tuple[str, int]]]] = {}
    while len(drawn) < number:
        file = chance.choices(files, weights)[0]
        source = file.read_text(encoding="utf-8")
        if file not in known:
            known[file] = changes(source)
        if not known[file]:
            continue
        offset = chance.choice(sorted(known[file]))
        operator, occurrence = chance.choice(known[file][offset])
        other = mutated(source, operator, occurrence)
        if not is_another_program(source, other):
            continue
        path = file.relative_to(ROOT).as_posix()
        rows = zip(source.splitlines(), other.splitlines(), strict=False)
        at, before, after = next((n, a, b) for n, (a, b) in enumerate(rows, 1) if a != b)
        drawn[path, offset] = Mutant(path, operator, occurrence, at, before.strip(), after.strip())
    return list(drawn.values())


def nearest(path: str) -> list[list[str]]:
    """Return the tests to run for a file: those that import it, those of its room; or else all.

    Those of the room that import it come first, then those that import it elsewhere, then those of
    the interface.
    """
    file = Path(path)
    module = ".".join(file.with_suffix("").parts).removesuffix(".__init__")
    parent, _, name = module.rpartition(".")
    imports = re.compile(
        rf"import {re.escape(module)}\b|from {re.escape(module)} import"
        rf"|from {re.escape(parent)} import [^\n]*\b{re.escape(name)}\b"
    )
    room = room_of(file)
    folder = ROOT / TESTS_OF.get(room, f"tests/{room.removeprefix('ssi_core/')}")
    alone = room in ("ssi_core", "flows")  # files that are in no room
    tests = sorted((ROOT / "tests").rglob("test_*.py"))
    importing = [test for test in tests if imports.search(test.read_text(encoding="utf-8"))]
    importing.sort(key=lambda test: test.stem != f"test_{file.stem}")
    close = [test for test in importing if alone or folder in test.parents]
    elsewhere = [test for test in importing if test not in close]
    stages = [[test.relative_to(ROOT).as_posix() for test in tests] for tests in (close, elsewhere)]
    stages.append([test for start, test in CONTRACTS.items() if path.startswith(start)])
    single = ROOT / f"tests/test_{Path(room).name}.py"
    if not alone:
        inner = folder / "/".join(file.parts[len(Path(room).parts) : -1])
        found = [each for each in (inner, folder, single) if each.exists()]
        stages += [[each.relative_to(ROOT).as_posix()] for each in found]
    return [stage for n, stage in enumerate(stages) if stage and stage not in stages[:n]] or [
        ["tests"]
    ]


def copy_of_the_tree() -> Path:
    """Return a folder with the committed files, and the compiled kernels of this tree."""
    tree = Path(tempfile.mkdtemp(prefix="mutants-"))
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True)
    subprocess.run(["tar", "-x", "-C", tree], input=archive.stdout, check=True)
    if (kernels := ROOT / ".cache/tests").is_dir():
        shutil.copytree(kernels, tree / ".cache/tests")
    # The environment has the project of this tree installed, which would hide the copy.
    (tree / "sitecustomize.py").write_text(
        "import sys\nsys.meta_path[:] = [finder for finder in sys.meta_path"
        " if '__editable__' not in getattr(finder, '__module__', '')]\n",
        encoding="utf-8",
    )
    # Bytecode that is known by its source's digest is that of the source, whatever was changed.
    compiled = ["-q", "--invalidation-mode", "checked-hash", "ssi_core", "flows"]
    subprocess.run([sys.executable, "-m", "compileall", *compiled], cwd=tree, check=True)
    return tree


def run_tests(tree: Path, tests: list[str], seconds: float) -> tuple[int | None, str]:
    """Run tests until one fails; return pytest's exit code, None if out of time, and its words."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-rfE", "-p", "no:cacheprovider", *tests]
    # New bytecode is known by the size and the second of its source, which a change may not alter.
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, timeout=seconds, capture_output=True, text=True
        )
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout + done.stderr


def fate(tree: Path, mutant: Mutant, tests: list[str], seconds: float) -> Fate:
    """Change the copy, run tests, and put the file back."""
    began = time.monotonic()
    file = tree / mutant.path
    source = file.read_text(encoding="utf-8")
    try:
        file.write_text(mutated(source, mutant.operator, mutant.occurrence), encoding="utf-8")
        code, words = run_tests(tree, tests, seconds)
    finally:
        file.write_text(source, encoding="utf-8")
    outcome, by = "survived", ""
    if code not in (0, 5):
        failed = re.search(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", words, re.MULTILINE)
        by = failed[1] if failed else "out of time" if code is None else "collection"
        again = [by] if failed else tests if code is None else []
        fails_anyway = again and run_tests(tree, again, seconds)[0] != 0
        outcome = "not decided" if fails_anyway else "found"
    return Fate(outcome, by, round(time.monotonic() - began, 1))


def table(records: list[dict[str, object]]) -> Table:
    """Return mutants by room: run, found, survived."""
    counts: dict[str, Counter[str]] = {}
    for record in records:
        counts.setdefault(room_of(Path(str(record["path"]))), Counter())[
            str(record["outcome"])
        ] += 1
    shown = Table("room", *(f"{head:>11}" for head in ("run", "found", "survived", "not decided")))
    for room, of in [*sorted(counts.items()), ("all", sum(counts.values(), Counter[str]()))]:
        cells = (of.total(), of["found"], of["survived"], of["not decided"])
        shown.add_row(room, *(f"{cell:>11}" for cell in cells))
    return shown


def main() -> None:
    """Draw mutants, run the tests on each, and print what survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--number", type=int, default=150, help="Number of mutants.")
    parser.add_argument("--seed", type=int, help="Seed of the draw. Default: a new one.")
    parser.add_argument("--seconds", type=float, default=900, help="Limit of one run of tests.")
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"), help="File of results.")
    chosen = parser.parse_args()
    seed = secrets.randbelow(2**31) if chosen.seed is None else chosen.seed
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    console = Console()
    console.print(f"seed {seed}, commit {commit[:12]}")
    lines = chosen.out.read_text(encoding="utf-8").splitlines() if chosen.out.exists() else []
    last: dict[Mutant, dict[str, object]] = {}
    of_mutant = [field.name for field in fields(Mutant)]
    for record in map(json.loads, lines):
        if (record["seed"], record["commit"]) == (seed, commit):
            last[Mutant(**{name: record[name] for name in of_mutant})] = record
    drawn = draw(chosen.number, seed)
    stages = {mutant: nearest(mutant.path) for mutant in drawn}
    tree = copy_of_the_tree()
    try:
        for stage in range(max(map(len, stages.values()))):
            for mutant in track(drawn, f"mutants, tests {stage + 1}", console=console):
                before = last.get(mutant, {"stage": -1, "outcome": "survived"})
                settled = before["outcome"] == "found" or before["stage"] >= stage  # type: ignore[operator]
                if settled or stage >= len(stages[mutant]):
                    continue
                result = fate(tree, mutant, stages[mutant][stage], chosen.seconds)
                record = {"seed": seed, "commit": commit, "stage": stage}
                record |= {**asdict(mutant), **asdict(result)}
                if before["outcome"] == "not decided" and result.outcome == "survived":
                    record["outcome"] = "not decided"
                last[mutant] = record
                with chosen.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(record, ensure_ascii=False) + "\n")
    finally:
        shutil.rmtree(tree, ignore_errors=True)
    for mutant, record in last.items():
        if record["outcome"] != "found":
            place = f"{record['outcome']}: {mutant.path}:{mutant.line}"
            said = f"{place}\n  - {mutant.before}\n  + {mutant.after}"
            console.print(said, markup=False, highlight=False)
    console.print(table(list(last.values())))


if __name__ == "__main__":
    main()
