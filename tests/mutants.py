"""Mutants: one small change of the code each, which the tests of its room should notice.

Places are drawn by a seed over all files, by their lines of code; an operator of cosmic-ray changes
one place in a copy of the tree. The tests of its room that run the changed line are asked first,
the cheapest before the others, then those over all of the code, then those of other rooms, for so
many seconds, until one fails (tests/reach.py says which run a line). A test that fails, or does not
end in time, must pass without the change. A kernel that is changed runs as Python, then compiled.

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
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks.house import lines_of_code, room_of
from tests import reach

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
OVER_ALL = (
    "tests/flows/test_interface.py",
    "tests/test_defaults.py",
    "tests/docs/test_reference.py",
)
"""Tests of all of the code, which run no line of it: options, defaults, names, settings."""
OUT_OF_TIME = "out of time"
STARTING = 6
"""Seconds of the processor, at most, in which a process is ready to run tests."""


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


@cache
def sizes(packages: tuple[str, ...] = ("ssi_core", "flows")) -> dict[Path, int]:
    """Return the lines of code of each file."""
    return {
        file: lines_of_code(file.read_text(encoding="utf-8"))
        for package in packages
        for file in sorted((ROOT / package).rglob("*.py"))
    }


def draw(number: int, seed: int) -> list[Mutant]:
    """Draw mutants: files by their lines of code, then places of the file and one change of each.

    What is no other program (parentheses, or no program at all) is drawn again.
    """
    chance = random.Random(seed)
    lines = sizes()
    files, weights = list(lines), list(lines.values())
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


def of_room(path: str, test: str) -> bool:
    """Return whether a test, or a file of tests, is of the room of a file of the code."""
    room, file = room_of(Path(path)), Path(test.split("::")[0])
    folder = Path(TESTS_OF.get(room, f"tests/{room.removeprefix('ssi_core/')}"))
    if room in ("ssi_core", "flows"):  # files that are in no room
        folder = Path("tests" if room == "ssi_core" else "tests/flows")
        return file.parent == folder or imported(path, file.as_posix())
    single = Path(f"tests/test_{Path(room).name}.py")
    return folder in file.parents or file == single or Path(room) in file.parents


def imported(path: str, test: str) -> bool:
    """Return whether a file of tests imports a file of the code."""
    module = ".".join(Path(path).with_suffix("").parts).removesuffix(".__init__")
    parent, _, name = map(re.escape, module.rpartition("."))
    imports = (
        rf"import {re.escape(module)}\b|from {re.escape(module)} import"
        rf"|from {parent} import [^\n]*\b{name}\b"
    )
    return re.search(imports, (ROOT / test).read_text(encoding="utf-8")) is not None


def is_compiled(path: str) -> bool:
    """Return whether a file holds kernels: compiled, their lines are not seen to run."""
    return "kernels/" in path or path.endswith("_kernels.py")


def asked(mutant: Mutant, as_python: bool) -> list[str]:
    """Return the tests to ask: those of the room that run the line, over all, and elsewhere.

    Behind those of the room come others with their parameters: what a test makes first, as a fit of
    a model, the next ones look at. Where no run was seen, those that import the file are asked, or
    else those of the room; of a compiled kernel both.
    """
    if as_python:
        return reach.cheapest(reach.tests_of(mutant.path, mutant.line, True) or ())
    measured = {test.split("::")[0] for test in reach.durations()}
    everywhere = sorted((ROOT / "tests").rglob("test_*.py"))
    files = [test.relative_to(ROOT).as_posix() for test in everywhere]
    found = reach.tests_of(mutant.path, mutant.line, False)
    if found is None or is_compiled(mutant.path):
        found, measured = found or set(), set()
    found |= {test for test in files if test not in measured and imported(mutant.path, test)}
    own = [test for test in reach.cheapest(found) if of_room(mutant.path, test)]
    if not own and not any(of_room(mutant.path, test) for test in measured):
        own = [test for test in files if of_room(mutant.path, test)]
    likely = f"test_{Path(mutant.path).stem}.py"
    own.sort(key=lambda test: test.endswith(".py") and Path(test).name != likely)
    if is_compiled(mutant.path):  # what imported it first is all that was seen of it
        own += [test for test in files if of_room(mutant.path, test) and test not in own]
    own += reach.cheapest(reach.beside(own))
    overall = [test for test in OVER_ALL if test not in own]
    return [*own, *overall, *(test for test in reach.cheapest(found) if test not in own)]


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


def run_tests(
    tree: Path, tests: list[str], seconds: float, as_python: bool = False
) -> tuple[int | None, str]:
    """Run tests in their order until one fails, or for so many seconds of the processor.

    Return pytest's exit code, None if it did not end, and its words.
    """
    listed = tree / ".asked"
    listed.write_text("\n".join(tests), encoding="utf-8")
    named = dict.fromkeys(test.split("::")[0] for test in tests)
    files = [test for test in named if (tree / test).exists()]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-rfE", "-p", "no:cacheprovider"]
    # New bytecode is known by the size and the second of its source, which a change may not alter.
    environment = {
        **os.environ,
        "PYTHONPATH": str(tree),
        "PYTHONDONTWRITEBYTECODE": "1",
        "SSI_ASK": str(listed),
        "SSI_ASK_SECONDS": str(seconds),
    }
    if as_python:
        environment["NUMBA_DISABLE_JIT"] = "1"
    limit = f"ulimit -t {2 * seconds + STARTING:.0f}; exec timeout {10 * seconds + 60:.0f} "
    command = ["bash", "-c", limit + shlex.join([*command, "-p", "tests.reach", *files])]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True)
    out_of_time = done.returncode in (124, 137, -9, -24, 152)
    return None if out_of_time else done.returncode, done.stdout + done.stderr


def fate(
    tree: Path, mutant: Mutant, tests: list[str], seconds: float, as_python: bool = False
) -> Fate:
    """Change the copy, run tests, and put the file back."""
    began = time.monotonic()
    file = tree / mutant.path
    source = file.read_text(encoding="utf-8")
    try:
        file.write_text(mutated(source, mutant.operator, mutant.occurrence), encoding="utf-8")
        code, words = run_tests(tree, tests, seconds, as_python)
    finally:
        file.write_text(source, encoding="utf-8")
    outcome, by = "survived", "the seconds are over" if "seconds are over" in words else ""
    if code not in (0, 5):
        outcome, by = "found", (failed(words) or [OUT_OF_TIME if code is None else "collection"])[0]
        if by == OUT_OF_TIME and run_tests(tree, tests, seconds, as_python)[0] != 0:
            outcome = "not decided"
    return Fate(outcome, by, round(time.monotonic() - began, 1))


def failed(words: str) -> list[str]:
    """Return the tests, or files of tests, that pytest says have failed."""
    return re.findall(r"^(?:FAILED|ERROR) ((?:tests|ssi_core)/.+?)(?: - .*)?$", words, re.MULTILINE)


def fail_anyway(tree: Path, tests: set[str]) -> set[str]:
    """Return those of tests that fail without a change."""
    again, broken = sorted(tests), set[str]()
    while again:
        now = failed(run_tests(tree, again, 3600)[1])
        broken |= {test for test in again if test in now}
        again = again[again.index(now[0]) + 1 :] if now and now[0] in again else []
    return broken


def by_whom(record: dict[str, object]) -> str:
    """Return the outcome of a record, and for what was found, whose test did."""
    path, by = str(record["path"]), str(record["by"])
    if record["outcome"] != "found":
        return str(record["outcome"])
    if by.split("::")[0] in OVER_ALL:
        return "over all"
    return "elsewhere" if "/" in by and not of_room(path, by) else "of the room"


def table(records: list[dict[str, object]]) -> Table:
    """Return mutants by room: run, found by whose tests, survived."""
    counts: dict[str, Counter[str]] = {}
    for record in records:
        room = room_of(Path(str(record["path"])))
        counts.setdefault(room, Counter())[by_whom(record)] += 1
    kinds = ("of the room", "over all", "elsewhere", "survived", "not decided")
    shown = Table(box=None)
    shown.add_column("room", no_wrap=True)
    for head in ("run", *kinds):
        shown.add_column(head, justify="right")
    for room, of in [*sorted(counts.items()), ("all", sum(counts.values(), Counter[str]()))]:
        cells = (of.total(), *(of[kind] for kind in kinds))
        shown.add_row(room, *map(str, cells))
    return shown


def main() -> None:
    """Draw mutants, run the tests on each, and print what survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--number", type=int, default=150, help="Number of mutants.")
    parser.add_argument("--seed", type=int, help="Seed of the draw. Default: a new one.")
    parser.add_argument("--seconds", type=float, default=90, help="Of tests, for each mutant.")
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
    tree = copy_of_the_tree()
    try:
        for mutant in track(drawn, "mutants", console=console):
            if mutant in last:
                continue
            kernel = asked(mutant, as_python=True) if is_compiled(mutant.path) else []
            result = fate(tree, mutant, kernel, chosen.seconds, True) if kernel else None
            if result is None or result.outcome != "found":
                result = fate(tree, mutant, asked(mutant, False), chosen.seconds)
            last[mutant] = {"seed": seed, "commit": commit, **asdict(mutant), **asdict(result)}
            with chosen.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(last[mutant], ensure_ascii=False) + "\n")
        broken = fail_anyway(tree, {by for each in last.values() if "/" in (by := str(each["by"]))})
    finally:
        shutil.rmtree(tree, ignore_errors=True)
    for record in last.values():
        if record["by"] in broken:
            record["outcome"] = "not decided"
    for mutant, record in last.items():
        if record["outcome"] != "found":
            place = f"{record['outcome']}: {mutant.path}:{mutant.line}"
            said = f"{place}\n  - {mutant.before}\n  + {mutant.after}"
            console.print(said, markup=False, highlight=False)
    console.print(table(list(last.values())))


if __name__ == "__main__":
    main()
