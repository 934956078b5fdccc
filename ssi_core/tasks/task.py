"""Tasks: from a collection to a task directory, and back into memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ssi_core import files, store
from ssi_core.arrays import load_array, load_csr
from ssi_core.tasks.auxiliary import open_auxiliary
from ssi_core.tasks.build import build_task
from ssi_core.tasks.judged import is_judged, open_judged
from ssi_core.tasks.layout import (
    COLD,
    DOCUMENTS,
    MATRICES,
    PHRASE_VIEW,
    POOL,
    VALID_POOL,
    VIEW,
)
from ssi_core.tasks.pairs import load_pairs
from ssi_core.tasks.queries import load_exclude, load_queries
from ssi_core.tasks.sizes import check_sizes
from ssi_core.tasks.spec import TaskSpec
from ssi_core.tasks.split import SPLITS, TEST, TRAIN, VALID
from ssi_core.tasks.training_part import without_test
from ssi_core.tasks.translations import MONOLINGUAL, open_translations
from ssi_core.types import DERIVED_VIEWS, Int32, Pairs, Task, Texts, View
from ssi_core.views.correlated import hashed_path
from ssi_core.views.counting import matrix_path
from ssi_core.views.hashing import Hashing, load_view, parse_view
from ssi_core.views.names import PHRASES
from ssi_core.views.rewriting import Rewriting
from ssi_core.views.text_view import TextView
from ssi_core.views.text_view import load_view as load_text_view

__all__ = ["TaskSpec", "build_task", "open_task"]


def open_task(path: Path, *, tested: bool = True) -> Task:
    """Open a task directory; its matrices are memory mapped and read when they are used.

    Parameters
    ----------
    path : Path
        Task directory.
    tested : bool
        False: without its test side (`blind.without_test`). The test pairs of links and of clicks
        are then not read at all.
    """
    artefact = store.read(Path(path), "task")
    path = artefact.path
    texts = files.read_strings([path / DOCUMENTS], "id", "title")
    base = load_text_view(path / VIEW)
    with files.reading(path / store.MANIFEST):
        names = [str(name) for name in artefact.configuration["views"] if parse_view(name)]
        given = artefact.configuration["split"] == "given"
        weights = artefact.configuration.get("weights", "clicks")
        listed = artefact.configuration["ranked"] == "judged"
        split_seed = int(artefact.configuration["split_seed"])
        auxiliary = tuple(map(str, artefact.configuration["auxiliary"]))
    views = {name: _load_view(path, name, base) for name in names}
    matrices = {name: load_csr(matrix_path(path / MATRICES, _plain(name))) for name in names}
    for name in DERIVED_VIEWS:
        if matrix_path(path / MATRICES, name).exists():
            matrices[name] = load_csr(matrix_path(path / MATRICES, name))
            views[name] = load_view(path / PHRASE_VIEW) if name == PHRASES else base.named(name)
    judged = is_judged(path)
    documents = Texts(texts["id"], texts["title"], matrices, views)
    if (path / COLD).exists():
        documents = replace(documents, test_only=load_array(path / COLD))
    pairs = [
        Pairs.of(()) if judged or (side == SPLITS[TEST] and not tested)
        else load_pairs(path, side, weights)
        for side in SPLITS
    ]  # fmt: skip
    task = Task(
        queries=load_queries(path, documents),
        documents=documents,
        train=pairs[TRAIN],
        valid=pairs[VALID],
        test=pairs[TEST],
        exclude=load_exclude(path, len(documents)),
        key=artefact.key,
        pool=_load_rows(path / POOL),
        valid_pool=_load_rows(path / VALID_POOL),
        path=path,
    )
    if judged:
        task = open_judged(task, path, split_seed, given=given, listed=listed)
    if (path / MONOLINGUAL).exists():
        task = open_translations(task, path)
    task = open_auxiliary(task, path, auxiliary)
    for one in (task, *task.auxiliary.values()):
        check_sizes(one, path)
    return task if tested else without_test(task)


def _plain(view: str) -> str:
    """Name of the view that documents have where a query is rewritten first."""
    parsed = parse_view(view)
    return str(parsed.weighting) if isinstance(parsed, Rewriting) else view


def _load_view(path: Path, name: str, base: TextView) -> View:
    hashed = isinstance(parse_view(name), Hashing)
    return load_view(hashed_path(path, name)) if hashed else base.named(_plain(name))


def _load_rows(path: Path) -> Int32 | None:
    return load_array(path) if path.exists() else None
