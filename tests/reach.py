"""Which tests run a line of the code, and how long each of them takes.

One run of all tests under coverage.py is kept in .cache/reach, a folder of tests at a time: a line
of the code has the tests that ran it, those of the kernels as Python. What other processes ran, and
what numba compiled, is not seen. A test that failed is left out.

    python -m tests.reach

As a plugin of pytest, it asks the tests that a file lists, in that order, for so many seconds.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KEPT = ROOT / ".cache/reach"

seconds: Counter[str] = Counter()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Leave the tests that are asked, in the order of the list; a file stands for its tests."""
    if "SSI_ASK" in os.environ:
        asked = Path(os.environ["SSI_ASK"]).read_text(encoding="utf-8").splitlines()
        place = {test: n for n, test in reversed(list(enumerate(asked)))}
        places = {}
        for item in items:
            known = place.keys() & {item.nodeid, item.nodeid.split("::")[0]}
            if known:
                places[item] = min(place[test] for test in known)
        config.hook.pytest_deselected(items=[item for item in items if item not in places])
        items[:] = sorted(places, key=lambda item: places[item])


@pytest.hookimpl(trylast=True)
def pytest_runtest_logfinish():
    if time.process_time() > float(os.environ.get("SSI_ASK_SECONDS", "inf")):
        pytest.exit("the seconds are over", returncode=0)


def pytest_runtest_logreport(report):
    seconds[report.nodeid] += float("inf") if report.failed else report.duration


def pytest_sessionfinish():
    if kept := os.environ.get("SSI_REACH"):
        passed = {test: took for test, took in seconds.items() if took < float("inf")}
        Path(kept).write_text(json.dumps(passed), encoding="utf-8")


def parts() -> dict[str, list[str]]:
    """Return the parts of the run: the kernels as Python, and all tests by their folder."""
    folders = {test.relative_to(ROOT).parts[1] for test in (ROOT / "tests").glob("*/**/test_*.py")}
    single = [test.relative_to(ROOT).as_posix() for test in (ROOT / "tests").glob("test_*.py")]
    by_folder = {folder: [f"tests/{folder}"] for folder in sorted(folders)}
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    kernels = re.findall(r"^KERNELS := (.*)$", rules, re.MULTILINE)[0].split()
    return {"as_python": kernels, **by_folder, "single": sorted(single), "examples": ["ssi_core"]}


def measure(part: str, tests: list[str]) -> None:
    """Run tests under coverage, unless that is kept; say what it took."""
    data, took = KEPT / f"{part}.coverage", KEPT / f"{part}.json"
    if took.exists():
        return
    KEPT.mkdir(parents=True, exist_ok=True)
    # Commands leave PYTHONSAFEPATH behind, under which the folder of a project is not on the path.
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment |= {"COVERAGE_FILE": str(data), "SSI_REACH": str(took)}
    if part == "as_python":
        environment["NUMBA_DISABLE_JIT"] = "1"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.reach", "--cov=ssi_core"]
    command += ["--cov=flows", "--cov-context=test", "--cov-report=", *tests]
    before = os.times()
    subprocess.run(command, cwd=ROOT, env=environment, check=False)
    after = os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    print(f"{part}: {cpu:.0f} CPU seconds of {after.elapsed - before.elapsed:.0f}", flush=True)


@lru_cache(maxsize=1)
def durations() -> dict[str, float]:
    """Return the seconds of each test that was measured."""
    known: dict[str, float] = {}
    for kept in sorted(KEPT.glob("*.json")):
        known |= json.loads(kept.read_text(encoding="utf-8"))
    return known


@lru_cache
def contexts(path: str, as_python: bool) -> dict[int, set[str]]:
    """Return the lines of a file that ran, each with its tests; what is set up serves a file."""
    from coverage import CoverageData

    found: dict[int, set[str]] = {}
    for kept in KEPT.glob("*.coverage"):
        if (kept.stem == "as_python") == as_python:
            data = CoverageData(str(kept))
            data.read()
            for line, tests in data.contexts_by_lineno(str(ROOT / path)).items():
                for test in filter(None, tests):
                    name, _, when = test.rpartition("|")
                    shared = when == "setup"
                    found.setdefault(line, set()).add(name.split("::")[0] if shared else name)
    return found


def statement(scope: ast.AST, line: int) -> range:
    """Return the lines of the innermost statement that holds a line, not of its body."""
    held = [
        node
        for node in ast.walk(scope)
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or line)
    ]
    inner = max(held, key=lambda node: node.lineno)
    body = getattr(inner, "body", [])
    return range(inner.lineno, body[0].lineno if body else (inner.end_lineno or line) + 1)


def tests_of(path: str, line: int, as_python: bool) -> set[str] | None:
    """Return the tests, or files of tests, that run a line; None where no run was seen.

    A line of a function is run by the tests that run it, or the statement that it is in. Any other
    line, as a default or a constant, is run by those of its function or file; so is one of a
    function that was not seen to run. What runs the lines of a class need not be all that reads one
    of its fields.
    """
    ran = contexts(path, as_python)
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    scopes = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if min([node, *node.decorator_list], key=lambda one: one.lineno).lineno <= line
        if line <= (node.end_lineno or line)
    ]
    for scope in sorted(scopes, key=lambda node: -node.lineno):
        body = range(scope.body[0].lineno, (scope.end_lineno or line) + 1)
        found = set[str]().union(*(ran.get(row, set()) for row in body))
        if found and line in body:
            rows = [line] if line in ran else statement(scope, line)
            found = set().union(*(ran.get(row, set()) for row in rows))
            return known(found)
        if found:
            return known(found)
    return known(set().union(*ran.values())) or None


def known(tests: set[str]) -> set[str]:
    """Return those of tests and files of tests that passed when they were measured."""
    passed = durations()
    return {test for test in tests if "::" not in test or test in passed}


def cheapest(tests: Iterable[str]) -> list[str]:
    """Return tests by their seconds; a file of tests after the tests of any."""
    passed = durations()
    return sorted(tests, key=lambda test: ("::" not in test, passed.get(test, 0.0), test))


def beside(tests: Iterable[str]) -> set[str]:
    """Return the other tests of the same files and parameters, as one may keep what all look at."""
    alike = {(test.split("::")[0], test.partition("[")[2]) for test in tests if "[" in test}
    return {
        test for test in durations() if (test.split("::")[0], test.partition("[")[2]) in alike
    }.difference(tests)


def main() -> None:
    """Run what is not kept of the code of this commit."""
    trees = ["git", "rev-parse", "HEAD:ssi_core", "HEAD:flows"]
    code = subprocess.run(trees, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    if not (of := KEPT / "code").exists() or of.read_text(encoding="utf-8") != code:
        shutil.rmtree(KEPT, ignore_errors=True)
        KEPT.mkdir(parents=True)
        of.write_text(code, encoding="utf-8")
    for part, tests in parts().items():
        measure(part, tests)


if __name__ == "__main__":
    main()
