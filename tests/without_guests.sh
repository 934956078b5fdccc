#!/usr/bin/env bash
# The tests of the core on a copy of the tree that has no guest: nothing of the core may need one.
# Every module is imported, and all tests are collected; those run that can see a guest, by a registry,
# a verb, the face or its name. `make test` runs the others. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$PWD/.venv/bin/python
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cp -r ssi_core flows tests benchmarks docs README.md CONTRIBUTING.md CHANGELOG.md Makefile \
  mkdocs.yml prefect.yaml pyproject.toml "$tree"
rm -r "$tree/ssi_core/guests" "$tree/tests/guests" "$tree/flows/tables/reranked.toml"
mkdir -p .cache/tests "$tree/.cache"  # what was compiled is shared
ln -s "$PWD/.cache/tests" "$tree/.cache/tests"
# The environment has the project of this tree installed, which would give the guests again.
cat >"$tree/sitecustomize.py" <<'PYTHON'
import sys

sys.meta_path[:] = [
    finder for finder in sys.meta_path if "__editable__" not in getattr(finder, "__module__", "")
]
PYTHON
cat >"$tree/reaching.py" <<'PYTHON'
import re
from functools import cache

NAMES = re.compile(r"guests|registry|library|import ssi_core as ssi|(MODEL|SOURCE|TARGET|MEASURE|VERB)S")


@cache
def can_see_guests(path):
    return NAMES.search(path.read_text(encoding="utf-8"))


def pytest_collection_modifyitems(config, items):
    config.hook.pytest_deselected(items=[item for item in items if not can_see_guests(item.path)])
    items[:] = [item for item in items if can_see_guests(item.path)]
PYTHON
cd "$tree"
PYTHONPATH=$tree "$python" - <<'PYTHON'
import importlib
import pkgutil

import ssi_core

for module in pkgutil.walk_packages(ssi_core.__path__, "ssi_core."):
    assert not module.name.startswith("ssi_core.guests")
    importlib.import_module(module.name)
PYTHON
PYTHONPATH=$tree "$python" -m pytest -q -p reaching -n 2 --dist loadfile --no-loadscope-reorder "$@" \
  --ignore=tests/flows --ignore=tests/robust --ignore=tests/docs --ignore=tests/benchmarks
