"""Documents and queries of a task as files, for another system to rank.

The files are those of BEIR (Thakur et al. 2021), with ids as a run of TREC has them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import polars as pl

from ssi_core import files, store
from ssi_core.evaluation.trec import escape
from ssi_core.remedies import typed_call
from ssi_core.tasks.kinds import ANCHOR, JUDGEMENT, SELF, TITLES
from ssi_core.tasks.names import without_titles
from ssi_core.tasks.reading import raw_texts, texts_at
from ssi_core.types import BadInput, Int32, Task

CORPUS, QUERIES = "corpus.jsonl", "queries.jsonl"
_TITLED = (ANCHOR, SELF, JUDGEMENT)
"""Relations whose queries are short texts, which the task keeps as titles."""


def write_texts(task: Task, directory: Path) -> tuple[Path, Path]:
    """Write the documents, and the queries of validation and test, each as a line of JSON.

    A document has ``_id``, ``title`` and ``text``, a query ``_id`` and ``text``. Where titles are
    the queries, documents have no title, and their texts are without it, as models read them.

    Raises
    ------
    BadInput
        The queries are drawn words, without ids of their own, or texts that the task does not keep.
    """
    if task.path is None:
        raise BadInput(f"this task is in memory only. Make it first: {typed_call('data features')}")
    settings = store.read(task.path, "task").configuration
    if not task.same and task.queries.ids.n_unique() < len(task.queries):
        raise BadInput(
            f"{task.path}: its queries are words drawn from documents, and several have one id, so "
            "no run can name them. Make a task whose queries have ids of their own."
        )
    if not task.same and settings["relevant"] not in _TITLED:
        raise BadInput(
            f"{task.path}: the task does not keep the texts of its queries. Use the texts that "
            "were ingested; they have the same ids."
        )
    directory.mkdir(parents=True, exist_ok=True)
    _write(
        directory / CORPUS, _documents(task, raw_texts(task.path), settings["queries"] == TITLES)
    )
    _write(directory / QUERIES, _queries(task))
    return directory / CORPUS, directory / QUERIES


def _documents(task: Task, parts: Iterable[Path], untitled: bool) -> Iterator[dict[str, str]]:
    first = 0
    for part in parts:
        texts = files.read_strings([part], "text")["text"].to_list()
        rows = slice(first, first + len(texts))
        titles = task.documents.titles[rows]
        if untitled:
            (cut,) = without_titles(iter([[text.encode() for text in texts]]), titles)
            texts = [text.decode() for text in cut]
            titles = pl.repeat("", len(texts), eager=True)
        for id_, title, text in zip(task.documents.ids[rows], titles, texts, strict=True):
            yield {"_id": escape(id_), "title": title, "text": text}
        first += len(texts)


def _queries(task: Task) -> Iterator[dict[str, str]]:
    rows = measured(task)
    assert task.path is not None
    texts = texts_at(raw_texts(task.path), rows) if task.same else task.queries.titles[rows]
    for id_, text in zip(task.queries.ids[rows], texts, strict=True):
        yield {"_id": escape(id_), "text": text}


def measured(task: Task) -> Int32:
    """Return the rows of the queries that have a relevant document in validation or test."""
    sides = [side for one in (task, *task.folds) for side in (one.valid, one.test)]
    rows: Int32 = np.unique(np.concatenate([side.rows[:, 0] for side in sides]))
    return rows


def _write(path: Path, lines: Iterable[dict[str, str]]) -> None:
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    temporary.rename(path)
