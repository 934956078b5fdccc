"""Tasks that `fit` makes of documents: for what people type, for links, for judged queries."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ssi_core import store
from ssi_core.collection import ANCHOR, CLICK, JUDGEMENT, LINK, TRANSLATION, open_collection
from ssi_core.corpus.tables.roles import JUDGEMENTS, QUERIES
from ssi_core.evaluation.measures import MEASURES
from ssi_core.evaluation.ranking import Validator
from ssi_core.evaluation.significance import is_clearly_higher
from ssi_core.face import frames
from ssi_core.face.documents import Documents, read, read_source
from ssi_core.face.task import Task
from ssi_core.held import held_in
from ssi_core.models.bm25f import Bm25F
from ssi_core.remedies import spelled, typed
from ssi_core.root import user_path
from ssi_core.tasks.kinds import fields_of, only_relevant
from ssi_core.tasks.names import NoSide
from ssi_core.text.tokenizer import stemmed
from ssi_core.types import BadInput
from ssi_core.views.names import COUNTS

_ENOUGH = {"valid": 30, "test": 100}
"""Wordings of links on a side, without which titles are asked for."""
_SPLITS = 50
"""Splits of few documents that are tried: one in twenty is of validation."""
_OF_TASK, _OF_MODEL = "task", "model"


def is_searched(source: Documents) -> bool:
    """Tell whether what people type is to be made up, as there are no clicks and judgements."""
    relevant = open_collection(source.path).relevant
    return not {CLICK, JUDGEMENT, TRANSLATION} & set(relevant)


def has_related(source: Documents) -> bool:
    """Tell whether links say which documents are related, beside what people type."""
    relevant = open_collection(source.path).relevant
    return LINK in relevant and not {CLICK, TRANSLATION} & set(relevant)


def search_task(documents: Documents, stems: bool = False) -> Task:
    """Return a task whose queries are like those that people type.

    They are the words of links, where enough of them are held out or more than titles, else three
    words of a document. Titles are not among them: a document that is asked for its title hides it,
    and so shows nothing of what titles are worth to a search.

    Raises
    ------
    BadInput
        There are too few documents for three sides.
    """
    with suppress(BadInput):
        task = reworded_task(documents, stems)
        if asks_wordings(task):
            return task
    for seed in range(_SPLITS):
        with suppress(BadInput):
            return Task.of(documents, "self", queries="words:3", stems=stems, split_seed=seed)
    try:
        return Task.of(documents, "self", queries="words:3", stems=stems)
    except NoSide:
        raise BadInput(
            f"{documents.path}: its documents ({len(documents):,}) are too few, or too much alike, "
            "to hold some of them out for a test. Give more documents."
        ) from None


def asks_wordings(task: Task) -> bool:
    """Tell whether the queries of a task are the words of links."""
    return bool(task.artefact.configuration["relevant"] == ANCHOR)


def reworded_task(documents: Documents, stems: bool = False) -> Task:
    """Return a task whose queries are words that people have chosen for a document.

    They are the words of links, as of `search_task`, else titles, else three words of a document.

    Raises
    ------
    BadInput
        There are too few documents for three sides.
    """
    worded = None
    if ANCHOR in open_collection(documents.path).relevant:
        with suppress(BadInput):
            worded = Task.of(documents, "anchor", stems=stems)
            queries = worded.counts["queries"]
            if all(queries[side] >= least for side, least in _ENOUGH.items()):
                return worded
    try:
        titles = Task.of(documents, "self", stems=stems)
    except BadInput:
        return worded or Task.of(documents, "self", queries="words:3", stems=stems)
    if worded and worded.counts["queries"]["valid"] > titles.counts["queries"]["valid"]:
        return worded
    return titles


def with_stems(
    make: Callable[[bool], Task],
    stems: bool | None,
    measure: str,
    *,
    judge: Callable[[bool], Task] | None = None,
) -> Task:
    """Return a task of words or of stems; None: of stems if BM25F is clearly better on validation.

    It is the validation of the tasks that ``judge`` makes, or else ``make``. Judged queries in
    folds validate in one fold and test in another, so that there is no choice: they are read as
    they are. So are texts without stems.
    """
    if stems is not None:
        return make(stems)
    judge = judge or make
    try:
        tasks, values = [judge(False)], []
    except BadInput:  # too few documents: what is made says so, if it is too few as well
        return make(False)
    language = tasks[0].data.documents.views[COUNTS].language
    if len(tasks[0].divisions) > 1 or stemmed(language) is None:
        return tasks[0] if judge is make else make(False)
    tasks.append(judge(True))
    for task in tasks:
        words = Bm25F.tuned(measure=measure)
        validator = Validator(task.data, "valid", words.validation_queries)
        fitted = words.fit(task.data, np.random.default_rng(0))
        values.append(MEASURES[measure](validator.ranks(fitted)))
    chosen = is_clearly_higher(values[1], values[0])
    return tasks[chosen] if judge is make else make(chosen)


def with_judgements(
    source: Documents | Task,
    queries: frames.Rows,
    qrels: frames.Rows | None,
    columns: Mapping[str, str],
) -> Documents:
    """Return documents with judged queries beside them; see `fit`."""
    if isinstance(source, Task):
        raise BadInput(f"{source.path}: a task is made already, and queries go with documents.")
    if qrels is None:
        raise BadInput(
            f"queries without judgements: give both ({typed('queries')} and {typed('qrels')})."
        )
    with tempfile.TemporaryDirectory(prefix="ssi-") as folder, frames.unnamed(Path(folder)):
        given = {
            name: _file(data, Path(folder) / f"{name}.jsonl", roles)
            for name, data, roles in (("queries", queries, QUERIES), ("qrels", qrels, JUDGEMENTS))
        }
        return Documents(read_source("judged", {"paths": source.path, "columns": columns, **given}))


def _file(data: Any, path: Path, roles: Mapping[str, Any]) -> Path:
    """Return the file that is meant; what is in memory is written."""
    if isinstance(data, str | Path):
        return user_path(data)
    frames.write_rows(frames.rows_of(data, *roles), path)
    return path


def opened(data: Documents | Task | frames.Texts, given: Mapping[str, Any]) -> Documents | Task:
    """Return the documents or the task that are meant; files are read."""
    path = user_path(data)
    held = "" if path is None else held_in(path)
    if held == _OF_MODEL:
        raise BadInput(f"{path} holds a model, which is fitted already. Name texts, or a log.")
    if path is not None and held == _OF_TASK:
        data = Task(store.read(path))
    if not isinstance(data, Documents | Task):
        return read(data, **given)
    if names := [name for name, value in given.items() if value is not None]:
        raise BadInput(
            f"{data.path}: {', '.join(map(spelled, names))} go with files. Leave them out."
        )
    return data


def task_of(source: Documents | Task, given: Mapping[str, Any], stems: bool = False) -> Task:
    """Return the task of documents, or the one that is there."""
    if isinstance(source, Task):
        if names := ", ".join(spelled(name) for name, value in given.items() if value):
            raise BadInput(
                f"{source.path}: a task is made already. Leave out {names}, or name the texts."
            )
        task = source
    else:
        kind = given["ask"] or only_relevant(open_collection(source.path))
        if kind.startswith(TRANSLATION):
            raise BadInput(
                f"{source.path}: its queries are in another language than its documents, which "
                "BM25 cannot compare. 'ssi lab pipeline sample-mates --corpus DIRECTORY' trains "
                "models of two vocabularies."
            )
        fields: dict[str, Any] = {**fields_of(kind), "split": given["split"], "stems": stems}
        ranked: Any = "judged" if given["judged"] else "pool"
        task = Task.of(source, **fields, auxiliary=given["auxiliary"], ranked=ranked)
    return task
