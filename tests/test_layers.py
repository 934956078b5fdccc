"""The layers of the house: imports point down only, rooms on one line stay apart."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from ssi_core import code

ROOT = Path(__file__).parents[1]

# From the roof down. The rooms of one line do not import each other.
LINES = [
    {"flows"},
    {"__main__"},
    {"sample"},
    {"guests", "datasets"},
    {"command"},
    {"face"},
    {"experiment", "serving"},
    {"models"},
    {"training"},
    {"selection"},
    {"evaluation"},
    {"tasks"},
    {"views", "corpus"},
    {"scoring"},
    {"text", "collection"},
    {"estimator"},
    {"arrays"},
    {"parts"},
    {"pool"},
    {"threads"},
    {"store", "resources"},
    {"integrity", "code", "extras", "bounds"},
    {"files", "held", "locks", "root", "strict"},
    {"types", "errors", "recorder", "private"},
    {"kernels"},
    {"compiled"},
    {"cache", "deferred", "garbage", "registry", "remedies"},
    {"system"},
]
LEVEL = {room: -n for n, line in enumerate(LINES) for room in line}
SOURCES = sorted((ROOT / "ssi_core").rglob("*.py")) + sorted((ROOT / "flows").rglob("*.py"))


def room_of(module):
    """Room of a dotted module of ours; None for the bare package, and for what is not ours."""
    parts = module.split(".")
    if parts[0] == "flows":
        return "flows"
    return parts[1] if parts[0] == "ssi_core" and len(parts) > 1 else None


def guest_of(module):
    """Name of the guest that a module belongs to; None in the core."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["ssi_core", "guests"] and len(parts) > 2 else None


def is_kernel(module):
    """Tell whether a module holds kernels: those of the core, of a guest, or of the sample."""
    return "kernels" in module.split(".")[1:3] or "_kernels" in module or ".kernels." in module


def module_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(source, *, top=False):
    """(module, line) of every import; ``from ssi_core import store`` names ``ssi_core.store``."""
    tree = ast.parse(source)
    for node in tree.body if top else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((name.name, node.lineno) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: relative imports hide the room"
            bare = node.module in ("ssi_core", "flows")
            yield from (
                (f"{node.module}.{name.name}" if bare else node.module, node.lineno)
                for name in node.names
            )


def broken(module, source):
    """Rules that a file breaks, in words."""
    own = room_of(module)
    for imported, line in imports(source):
        package, room = imported.split(".")[0], room_of(imported)
        at = f"{module}:{line} imports {imported}"
        if own != "flows" and package in ("prefect", "mlflow"):
            yield f"{at}: only flows knows {package}"
        if room is not None and own is not None and room != own and LEVEL[room] >= LEVEL[own]:
            yield f"{at}: {own} is not above {room}"
        guest, other = guest_of(module), guest_of(imported)
        if guest is not None and other is not None and guest != other:
            yield f"{at}: guests do not import each other"
        known = sys.stdlib_module_names | {"numpy", "numba", "llvmlite", "ssi_core"}
        foreign = package not in known or (
            guest and package == "ssi_core" and not is_kernel(imported)
        )
        judge = ("evaluate", "ranking", "slates")
        judged = imported in [f"ssi_core.evaluation.{module}" for module in judge]
        if own == "models" and judged and module != "ssi_core.models.base":
            yield f"{at}: a model takes the judge that FitOptions hands in"
        if is_kernel(module) and foreign:
            yield f"{at}: kernels know numpy, numba and its llvmlite only"


def test_imports_point_down_only():
    assert [
        rule
        for path in SOURCES
        for rule in broken(module_of(path), path.read_text(encoding="utf-8"))
    ] == []


def test_every_room_has_a_line():
    found = {room_of(module_of(path)) for path in SOURCES} - {None}

    assert found <= set(LEVEL)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("ssi_core.models.latent.lsi", "import mlflow.pyfunc"),
        ("ssi_core.store", "def f():\n    from prefect import flow"),
        ("ssi_core.models.latent.lsi", "from ssi_core.serving.index import Index"),
        ("ssi_core.views.weighting", "from ssi_core.corpus import table"),
        ("ssi_core.types", "from ssi_core import store"),
        ("ssi_core.text.tokenizer", "import flows.cli"),
        ("ssi_core.models.latent.lsi", "from ssi_core.evaluation.ranking import Validator"),
        ("ssi_core.kernels.training.sweep", "import scipy.sparse"),
        ("ssi_core.kernels.training.sweep", "from ssi_core.types import Task"),
        ("ssi_core.face.results", "from ssi_core.guests.summary import found"),
        ("ssi_core.guests.feeds.compare", "from ssi_core.guests.codes.words import stems_of"),
        ("ssi_core.guests.reranking.kernels.ranknet", "from ssi_core.types import Float64"),
    ],
)
def test_a_breach_is_seen(module, source):
    assert len(list(broken(module, source))) == 1


def imported_by_file(root):
    """Module -> modules of ours that it imports anywhere, but for type checkers."""
    files = code.modules_below(root)
    graph = {}
    for name, file in files.items():
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        _, names = code._read(file.read_text(encoding="utf-8"))
        homes = {code.module_of(code.absolute(one, package), files) for one in names}
        graph[name] = homes - {None, name}
    return graph


def circles(graph):
    """Modules that reach themselves by what they import."""
    reached = {name: set(homes) for name, homes in graph.items()}
    grown = True
    while grown:
        grown = False
        for homes in reached.values():
            further = set().union(*(reached.get(home, set()) for home in homes)) - homes
            homes |= further
            grown |= bool(further)
    return sorted(name for name, homes in reached.items() if name in homes)


def test_no_file_imports_itself_by_way_of_others():
    assert circles(imported_by_file(ROOT)) == []


def test_a_circle_is_seen():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]


def test_a_model_loads_few_modules():
    count = "print(sum(name.startswith('ssi_core') for name in sys.modules))"
    program = f"import sys, ssi_core.models.bm25; {count}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert int(done.stdout) <= 25


LIGHT = {
    *(f"ssi_core.{name}" for name in ("locks", "pool", "private", "root", "system", "threads")),
    *(f"ssi_core.command.{name}" for name in ("signals", "text")),
}
"""Modules of the library that import nothing heavy."""


@pytest.mark.parametrize(
    "name", ["environment", "training.workers", "servers.server", "servers.processes"]
)
def test_what_every_command_loads_is_light(name):
    # `ssi --help` and each row worker load these before anything is asked of them.
    source = (ROOT / "flows" / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8")
    modules = {module for module, _ in imports(source, top=True)} - LIGHT

    assert {module.split(".")[0] for module in modules} <= sys.stdlib_module_names | {"flows"}
