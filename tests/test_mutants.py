"""Mutants of the code: what is drawn, and what becomes of one."""

from __future__ import annotations

import shutil
from functools import partial

import pytest

from tests import mutants, reach

SOURCE = """
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    WIDTH = 3


def area(width: int | None = 2) -> int | None:
    return width * 4
"""

HALF = """

def half(width):
    if width < 0:
        return 0
    return width / 2


class Field:
    size = 4
    unit = lambda: ""
"""

TESTS = ["tests/rooms/test_area.py"]


def test_only_places_that_run_are_changed():
    places = mutants.changes(SOURCE)
    assert {line for line, _ in places} == {8, 9}
    rows = SOURCE.splitlines()
    assert {rows[line - 1][column] for line, column in places if line == 8} == {"2"}


def test_a_seed_draws_the_same_mutants(monkeypatch):
    monkeypatch.setattr(mutants, "sizes", partial(mutants.sizes, ("flows/training",)))
    drawn = mutants.draw(2, 5)
    assert drawn == mutants.draw(2, 5)
    assert drawn != mutants.draw(2, 6)
    for mutant in drawn:
        assert mutant.before != mutant.after
        rows = (mutants.ROOT / mutant.path).read_text(encoding="utf-8").splitlines()
        assert rows[mutant.line - 1].strip() == mutant.before


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A project of one room, with one function and one test of it."""
    room, tests = tmp_path / "ssi_core/rooms", tmp_path / "tests/rooms"
    for folder in (room, tests):
        folder.mkdir(parents=True)
        (folder / "__init__.py").touch()
    (tmp_path / "ssi_core/__init__.py").touch()
    shutil.copy(mutants.ROOT / "tests/reach.py", tmp_path / "tests")
    (room / "area.py").write_text(SOURCE)
    test = "from ssi_core.rooms.area import area\n\n\ndef test_area():\n    assert area({}) == {}\n"
    (tests / "test_area.py").write_text(test.format(3, 12))
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    # To load the plugins that are installed takes longer than all else of a run.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return tmp_path


def mutant(line, after):
    places = mutants.changes(SOURCE)
    for (row, _), found in places.items():
        for operator, occurrence in found:
            if row == line and after in mutants.mutated(SOURCE, operator, occurrence):
                return mutants.Mutant("ssi_core/rooms/area.py", operator, occurrence, line, "", "")
    raise AssertionError(after)


def test_a_change_that_a_test_notices_is_found_by_that_test(tree):
    fate = mutants.fate(tree, mutant(9, "width + 4"), TESTS, 60)
    assert (fate.outcome, fate.by) == ("found", "tests/rooms/test_area.py::test_area")
    assert (tree / "ssi_core/rooms/area.py").read_text() == SOURCE


def test_a_change_that_no_test_notices_survives(tree):
    assert mutants.fate(tree, mutant(8, "= 3)"), TESTS, 60).outcome == "survived"


def test_a_test_that_fails_without_the_change_decides_nothing(tree):
    test = tree / "tests/rooms/test_area.py"
    test.write_text(test.read_text().replace("12", "13"))
    assert mutants.fail_anyway(tree, {f"{TESTS[0]}::test_area"}) == {f"{TESTS[0]}::test_area"}


def test_tests_are_asked_in_their_order(tree):
    test = tree / TESTS[0]
    test.write_text("def test_a():\n    assert 0\n\n\ndef test_b():\n    assert 0\n")
    for first, second in ("ab", "ba"):
        names = [f"{TESTS[0]}::test_{name}" for name in (first, second)]
        assert mutants.failed(mutants.run_tests(tree, names, 60)[1]) == names[:1]
    assert mutants.fail_anyway(tree, {*names}) == {*names}


def test_a_line_has_the_tests_that_ran_it(tree, monkeypatch):
    path = "ssi_core/rooms/area.py"
    area, other, third = (f"{TESTS[0]}::test_{name}" for name in ("area", "other", "third"))
    (tree / path).write_text(SOURCE + HALF)
    with (tree / TESTS[0]).open("a") as file:
        for name, width in (("other", 3), ("third", -3)):
            file.write(f"\n\ndef test_{name}():\n    from ssi_core.rooms.area import half\n")
            file.write(f"    half({width})\n")
            if name == "third":
                file.write("    from ssi_core.rooms.area import Field\n    Field.unit()\n")
    monkeypatch.setattr(reach, "ROOT", tree)
    monkeypatch.setattr(reach, "KEPT", tree / "kept")
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_cov.plugin")
    reach.durations.cache_clear(), reach.contexts.cache_clear()
    reach.measure("rooms", ["tests/rooms"])
    assert reach.tests_of(path, 9, False) == {area}
    assert reach.tests_of(path, 8, False) == {area}, "a default"
    assert reach.tests_of(path, 13, False) == {other, third}
    assert reach.tests_of(path, 14, False) == {third}
    assert reach.tests_of(path, 15, False) == {other}
    for line, what in ((5, "the module"), (19, "a class")):
        assert reach.tests_of(path, line, False) == {area, other, third}, f"a line of {what}"
    reach.durations.cache_clear(), reach.contexts.cache_clear()


def test_tests_with_the_parameters_of_one_that_runs_a_line_are_asked_behind_it(monkeypatch):
    file = "tests/rooms/test_area.py"
    fits, found, other = (f"{file}::test_{name}" for name in ("fits[a]", "found[a]", "fits[b]"))
    kept = dict.fromkeys((fits, found, other, f"{file}::test_a", "tests/test_x.py::test_x[a]"), 0.1)
    monkeypatch.setattr(reach, "tests_of", lambda path, line, as_python: {fits})
    monkeypatch.setattr(reach, "durations", lambda: kept)
    asked = mutants.asked(mutants.Mutant("ssi_core/rooms/area.py", "", 0, 9, "", ""), False)
    assert [test for test in asked if test.startswith(file)] == [fits, found]


@pytest.mark.parametrize("always", [False, True])
def test_time_that_runs_out_is_a_find_unless_it_does_without_the_change(tree, always, monkeypatch):
    monkeypatch.setattr(mutants, "STARTING", 1)
    # The signal is that of the limit, which one of both waits for.
    end = "os.kill(os.getpid(), signal.SIGXCPU)" if always else "pass"
    waits = f"while area(3) != 12 or {always}:\n        {end}"
    body = f"import os, signal\n\n\ndef test_area():\n    {waits}\n"
    (tree / TESTS[0]).write_text(f"from ssi_core.rooms.area import area\n{body}")
    fate = mutants.fate(tree, mutant(9, "width + 4"), TESTS, 0)
    assert (fate.outcome, fate.by) == ("not decided" if always else "found", "out of time")


def test_a_kernel_is_asked_of_all_tests_of_its_room(monkeypatch):
    """Compiled, none of its lines is seen to run but those of the first import."""
    room = "tests/kernels/"
    seen = f"{room}test_candidates.py"
    monkeypatch.setattr(reach, "tests_of", lambda path, line, as_python: {seen})
    monkeypatch.setattr(reach, "durations", dict)
    kernel = mutants.Mutant("ssi_core/kernels/ranking/candidates.py", "", 0, 117, "", "")
    asked = mutants.asked(kernel, as_python=False)
    own = [test for test in asked if test.startswith(room)]
    assert {seen, f"{room}test_words.py"} < {*own}
    assert asked[: len(own)] == own
