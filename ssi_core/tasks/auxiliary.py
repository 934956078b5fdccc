"""Tasks beside a task: other kinds of queries on its documents, that training alone sees.

=============  ===================================================  ================================
kind           relevant                                             side
=============  ===================================================  ================================
``anchors``    documents that training links with the wording lead  of the wording
               to, weighed by how often they do
``titles``     the document of that title, or of that redirect      of the document
``words:N``    the document that the words were drawn of            of the document
``link``       what the document links to                           of the link
``link:N``     what the document that the words were drawn of       of the link
               links to
=============  ===================================================  ================================

Each kind is divided as the task of this kind is with the same seed, and what it tests is in none of
them: a model that has learnt ``titles`` beside links can be tested on the task of titles. Nor is
anything trained on that would tell what the task itself tests:

- a link is on the side that the task gives it, with ``cold`` and frozen sets, and an anchor only
  counts through its training links;
- a wording has one side, the last of those that its kinds give it; judged queries are a test;
- where anchors are tested, a link with a tested wording is none to learn from;
- where names of documents are tested, ``link:N`` draws no words of those documents;
- cold documents have no names, and no words are drawn of them.

A link of the test changes nothing here, nor does an anchor of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ssi_core import files
from ssi_core.arrays import load_array, load_csr
from ssi_core.collection import INGEST
from ssi_core.tasks.frozen import excluded_pairs
from ssi_core.tasks.keywords import write_keyword_queries
from ssi_core.tasks.kinds import ANCHOR, ANCHORS, JUDGEMENT, LINK, SELF, TITLES, words_of
from ssi_core.tasks.layout import AUXILIARY, COLD, MATRICES, PAIRS
from ssi_core.tasks.links import links_of
from ssi_core.tasks.names import (
    anchors_of,
    side_of_sources,
    titles_of,
    write_name_queries,
    write_names,
)
from ssi_core.tasks.pairs import keys, load_pairs, write_pairs
from ssi_core.tasks.queries import load_exclude, load_queries
from ssi_core.tasks.reading import language_of
from ssi_core.tasks.split import (
    NO_SIDE,
    SPLITS,
    TEST,
    TRAIN,
    VALID,
    Splits,
    side_of_rows,
)
from ssi_core.tasks.task_builder import Names, TaskBuilder
from ssi_core.tasks.texts import write_two_sided
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput, Int32, Pairs, Task
from ssi_core.views.counting import matrix_path
from ssi_core.views.names import COUNTS
from ssi_core.views.text_view import TextView
from ssi_core.views.weighting import Weighting


def path_of(task: Path, kind: str) -> Path:
    """Return the directory of a kind of queries in that of a task."""
    return task / AUXILIARY / kind.replace(":", "-")


def write_auxiliary_pairs(builder: TaskBuilder) -> Mapping[str, Names]:
    """Write the pairs of each kind beside a task that has its own; return the names among them.

    Raises
    ------
    BadInput
        A kind has no pair to learn from.
    """
    divided = _Divided(builder)
    names: dict[str, Names] = {}
    counts: dict[str, dict[str, Any]] = {}
    if builder.spec.auxiliary:
        builder.counts[AUXILIARY] = counts
    for kind in builder.spec.auxiliary:
        path = path_of(builder.path, kind)
        path.mkdir(parents=True)
        facts = counts[kind] = {}
        if kind in (ANCHORS, TITLES):
            named = divided.names(kind)
            facts["pairs"], facts["queries"], names[kind] = write_names(builder, path, named)
            facts |= divided.skipped[kind]
        else:
            rows, sides = divided.pairs(kind)
            seen = np.where(sides == TEST, NO_SIDE, sides)
            facts["pairs"] = write_pairs(path / PAIRS, rows, seen)
        if not facts["pairs"][SPLITS[TRAIN]]:
            raise BadInput(
                f"{builder.collection.path}: auxiliary={kind!r}: none of its pairs is left to "
                "learn from. Ingest more documents, or leave it out."
            )
    return names


def write_auxiliary_queries(
    builder: TaskBuilder, names: Mapping[str, Names], view: TextView
) -> None:
    """Write the queries of each kind, in the words of the documents."""
    for kind in builder.spec.auxiliary:
        path, facts = path_of(builder.path, kind), builder.counts[AUXILIARY][kind]
        if kind in names:
            write_name_queries(builder, path, names[kind], view)
        elif kind == LINK:
            write_two_sided(builder, path, view)
        else:
            facts |= write_keyword_queries(
                path,
                builder.documents.select("id", "title"),
                load_csr(matrix_path(builder.path / MATRICES, COUNTS)),
                view.statistics,
                [Weighting(COUNTS), *builder.spec.weightings],
                words=words_of(kind),
                draws=builder.spec.query_draws,
                seed=builder.spec.split_seed,
                known=not kind.startswith(LINK),
            )


def open_auxiliary(task: Task, path: Path, kinds: tuple[str, ...]) -> Task:
    """Complete an opened task, and its folds, with the tasks beside it, which test nothing."""
    auxiliary = {**task.auxiliary, **{kind: _open(task, path, kind) for kind in kinds}}
    folds = tuple(replace(fold, auxiliary=auxiliary) for fold in task.folds)
    return replace(task, auxiliary=auxiliary, folds=folds)


def _open(task: Task, path: Path, kind: str) -> Task:
    directory = path_of(path, kind)
    return replace(
        task,
        queries=load_queries(directory, task.documents),
        train=load_pairs(directory, SPLITS[TRAIN]),
        valid=load_pairs(directory, SPLITS[VALID]),
        test=Pairs.of(()),
        exclude=load_exclude(directory, len(task.documents)),
        auxiliary={},
        folds=(),
        key=f"{task.key} {kind}",
    )


@dataclass(frozen=True)
class _Divided:
    """Links, documents and names of a task, each with its side.

    Attributes
    ----------
    builder : TaskBuilder
        With the task's own pairs on the disk.
    skipped : mapping
        Kind of names -> counts of what was left out, by reason.
    """

    builder: TaskBuilder
    skipped: Mapping[str, dict[str, Any]] = field(default_factory=lambda: {ANCHORS: {}, TITLES: {}})

    def pairs(self, kind: str) -> tuple[Int32, Splits]:
        """Return the pairs of documents, or of words of them, and their sides."""
        if not kind.startswith(LINK):
            rows = np.arange(len(self.documents), dtype=np.int32)
            return np.column_stack([rows, rows]), self.documents
        rows, sides = self.links
        if kind != LINK and self.builder.spec.relevant == SELF:
            sides = np.maximum(sides, self.documents[rows[:, 0]])
        return rows, sides

    def names(self, kind: str) -> pl.DataFrame:
        """Return the names that may be learnt from, each on the side of its wording."""
        if kind == TITLES:
            known = pl.Series(self.documents != NO_SIDE)
            named = self.titles.filter(known.gather(self.titles["d"]))
        else:
            named = self.anchors.join(_frame(*self.links, "link"), on=["s", "d"])
        sided = named.drop("side").join(self.wordings, on="key").filter(pl.col("side") != TEST)
        return sided if kind == TITLES else sided.filter(pl.col("link") <= pl.col("side"))

    @cached_property
    def documents(self) -> Splits:
        """Side of each document; none of a cold one."""
        builder = self.builder
        sides = side_of_sources(builder)
        if builder.spec.cold:
            sides[load_array(builder.path / COLD)] = NO_SIDE
        return sides

    @cached_property
    def links(self) -> tuple[Int32, Splits]:
        """Links of training and validation, sorted, and their sides."""
        builder, spec = self.builder, self.builder.spec
        if spec.relevant == LINK:
            parts = [load_pairs(builder.path, SPLITS[side]).rows for side in (TRAIN, VALID)]
            rows = np.concatenate(parts)
            sides = np.repeat(np.array([TRAIN, VALID], np.int8), [len(part) for part in parts])
            order = np.argsort(keys(rows))
            return rows[order], sides[order]
        rows, titles = links_of(builder), builder.documents["title"]
        sides = side_of_rows(titles, rows, seed=spec.split_seed)
        if builder.frozen:
            sides[excluded_pairs(builder.frozen, LINK, titles, titles, rows)] = TEST
        if spec.relevant == ANCHOR:
            sides = np.maximum(sides, self._sides_of_anchors(rows))
        return rows[sides != TEST], sides[sides != TEST]

    def _sides_of_anchors(self, rows: Int32) -> Splits:
        """Return the last side of the anchors of each link."""
        worded = self.anchors.drop("side").join(self.wordings, on="key")
        last = worded.group_by("s", "d").agg(pl.col("side").max())
        links = _frame(rows, np.zeros(len(rows), np.int8), "none")
        joined = links.join(last, on=["s", "d"], how="left", maintain_order="left")
        sides: Splits = joined["side"].fill_null(TRAIN).to_numpy()
        return sides

    @cached_property
    def anchors(self) -> pl.DataFrame:
        """Anchors with the rows s of their sources: d, key, text, weight, side."""
        anchors = anchors_of(self.builder, self.skipped[ANCHORS], "text", "source", "target")
        ids = self.builder.documents.select(source="id").with_row_index("s")
        return anchors.join(ids, on="source")

    @cached_property
    def titles(self) -> pl.DataFrame:
        """Titles and redirects: d, key, text, weight, side."""
        return titles_of(self.builder, self.skipped[TITLES])

    @cached_property
    def wordings(self) -> pl.DataFrame:
        """Side of each wording, the last of those that the kinds of queries give it."""
        kinds = self.builder.spec.kinds
        sided = [getattr(self, kind).select("key", "side") for kind in (ANCHORS, TITLES)
                 if kind in kinds]  # fmt: skip
        if self.builder.spec.relevant == JUDGEMENT:
            sided.append(self._judged())
        sides: pl.DataFrame = pl.concat(sided).group_by("key").agg(pl.col("side").max())
        return sides

    def _judged(self) -> pl.DataFrame:
        """Return the wordings of the judged queries, which are the test."""
        collection = self.builder.collection
        texts = files.read_strings(collection.parts("queries"), "text", remedy=INGEST)["text"]
        language = language_of(collection.path, self.builder.documents["language"])
        wordings = [" ".join(tokenize(text, language)) for text in texts]
        return pl.DataFrame(
            {"key": wordings, "side": np.full(len(wordings), TEST, np.int8)},
            schema={"key": pl.String, "side": pl.Int8},
        )


def _frame(rows: Int32, sides: Splits, name: str) -> pl.DataFrame:
    """Return the rows s and d of links, and their sides under a name."""
    ends = {"s": rows[:, 0].astype(np.uint32), "d": rows[:, 1].astype(np.uint32)}
    return pl.DataFrame({**ends, name: sides})
