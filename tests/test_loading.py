"""What is not used is not loaded."""

import subprocess
import sys
import zipfile

import pytest

from ssi_core import registry
from tests.extensions import install


def loaded(code, *modules):
    """Those of some modules that a program loads."""
    after = f"import sys; print(*[one for one in {modules!r} if one in sys.modules])"
    command = [sys.executable, "-c", f"{code}\n{after}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_an_estimator_is_made_without_kernels_tables_and_matrices():
    heavy = ("numba", "polars", "scipy", "pydantic", "sklearn")
    assert loaded("from ssi_core import BM25, SSI; SSI(dimensions=7), BM25()", *heavy) == []


def test_a_search_loads_neither_a_compiler_of_fortran_nor_tools_for_tests():
    parts = ("scipy.sparse", "numpy.f2py.crackfortran", "unittest.case")
    assert loaded("import ssi_core.serving.searcher", *parts) == ["scipy.sparse"]


def test_a_fit_loads_no_distributions():
    parts = ("scipy.stats", "scipy.special")
    assert loaded("import ssi_core.face.fit", *parts) == ["scipy.special"]


def test_what_was_put_off_loads_when_it_is_used():
    code = (
        "import ssi_core.types, numpy as np, numpy.testing\n"
        "np.testing.assert_array_equal([1], [1]); numpy.f2py.get_include"
    )
    parts = ("numpy.f2py.crackfortran", "unittest.case")
    assert loaded(code, *parts) == [*parts]


def test_help_parses_no_facts_of_packages():
    code = (
        "from ssi_core.command.library import library\n"
        "from ssi_core.command.verb import run\n"
        "run(library, ['--help'])"
    )
    assert "importlib.metadata" not in loaded(code, "importlib.metadata")


@pytest.mark.parametrize("ending", [".dist-info", ".egg-info"])
def test_additions_are_found_in_a_directory(tmp_path, monkeypatch, ending):
    install(tmp_path / "site", monkeypatch, points={"models.lengths": "a:B"})
    (facts,) = (tmp_path / "site").glob("*.dist-info")
    facts.rename(facts.with_suffix(ending))
    monkeypatch.setattr(sys, "path", [])
    assert list(registry._entry_points()) == []
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site")])
    assert [point.name for point in registry._entry_points()] == ["models.lengths"]


def test_additions_are_found_in_an_archive(tmp_path, monkeypatch):
    archive = tmp_path / "site.zip"
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("a-1.0.dist-info/METADATA", "Name: a\nVersion: 1.0\n")
        out.writestr("a-1.0.dist-info/entry_points.txt", "[ssi]\nmodels.a = a:B\n")
    monkeypatch.setattr(sys, "path", [str(archive)])
    assert [point.name for point in registry._entry_points()] == ["models.a"]


def test_a_finder_that_knows_more_packages_is_asked(monkeypatch):
    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            return None

        @staticmethod
        def find_distributions(context):
            asked.append(context)
            return []

    asked = []
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder])
    assert list(registry._entry_points()) == []
    assert asked
