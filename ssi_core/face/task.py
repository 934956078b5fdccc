"""A task: what is asked, what is relevant, and what is held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from ssi_core import store, types
from ssi_core.collection import open_collection
from ssi_core.face import progress
from ssi_core.face.documents import Documents, read
from ssi_core.face.frames import Texts
from ssi_core.face.show import UNCUT, card, facts_table, folded, html_table, text_table
from ssi_core.remedies import typed_call
from ssi_core.root import user_path
from ssi_core.store import Artefact
from ssi_core.strict import named
from ssi_core.tasks.build import build_task
from ssi_core.tasks.kinds import (
    LINK_OF_TRANSLATION,
    TITLES,
    TRANSLATION,
    Relevant,
    Split,
    only_relevant,
)
from ssi_core.tasks.spec import spec_of
from ssi_core.tasks.task import open_task
from ssi_core.text.fields import FIELDS, TEXT
from ssi_core.types import BadInput, requestable
from ssi_core.views.hashing import parse_view
from ssi_core.views.names import COUNTS

LATENT = ("sublinear:50@30000", "sublinear:200@30000")
"""Views that U and V read: the heaviest words of a text, of the 30,000 most frequent ones."""
VIEWS = ("counts", "raw", "sublinear", "raw-sublinear", *LATENT, "bm25")
"""Weightings of words that a task has by default: those that the models of `ssi_core.face` read."""

Side = Literal["train", "valid", "test"]
SIDES: tuple[Side, ...] = ("train", "valid", "test")


@dataclass(frozen=True)
class Task:
    """Queries, documents and relevant pairs on three sides of a split.

    Attributes
    ----------
    artefact : Artefact
        Manifest of the directory.

    Examples
    --------
    >>> import ssi_core as ssi
    >>> texts = [f"{word} {n}" for n in range(40) for word in ("car", "moon")]
    >>> links = [(n, (n + 2) % 80) for n in range(80)]
    >>> task = ssi.Task.of(ssi.read(texts, links), relevant="link")
    >>> sorted(task.counts["pairs"])
    ['test', 'train', 'valid']
    >>> task.pairs("train").columns
    ['query', 'document', 'weight', 'grade']
    """

    artefact: Artefact

    @classmethod
    @named
    def of(
        cls,
        documents: Documents | Texts,
        relevant: Relevant | None = None,
        *,
        queries: str = "",
        split: Split | None = None,
        words: int | Literal["all"] = "all",
        views: Sequence[str] = VIEWS,
        fields: Sequence[str] | None = None,
        stems: bool = False,
        pool: int | None = None,
        split_seed: int = 0,
        auxiliary: Sequence[str] = (),
        ranked: Literal["pool", "judged"] = "pool",
        out: str | Path | None = None,
    ) -> Task:
        """Make a task of documents, as ``ssi data features`` does, or find it in the store.

        Parameters
        ----------
        documents : Documents
            What `read` returned, or what it takes.
        relevant : str, optional
            "link": what a document links to. "judgement": what was judged relevant to a query.
            "click": what was clicked. "translation", "translation > link": the text on the same
            subject, or what that links to. By default what there is: clicks, judgements or links.
        queries : str, optional
            "documents": a query is a whole document. "words:10": it is 10 random words of one.
            "goals": a page and what its visitor looks for. By default documents for links, else
            the queries that there are.
        split : str, optional
            "pairs": each pair is on a side by itself (the default for links and clicks).
            "documents": each document is, with its links. "queries": judged queries are in five
            folds (the default for judgements). "given": they are on the sides that their publisher
            has fixed. "articles": a query and its translation are on one side. "users", "time": of
            clicks.
        words : int or "all", optional
            Size of the vocabulary: a number of the most frequent words, or all of them.
        views : sequence of str, optional
            Weightings of words that models read: counts, raw, sublinear, binary; ``raw:100`` keeps
            the 100 heaviest words of a text, ``raw@30000`` the 30,000 most frequent of all;
            ``raw-sublinear`` weighs documents by raw counts and queries by sublinear ones.
        fields : sequence of str, optional
            What is read of a document: "text", "title", "headings", "url" (the words of its
            address) and "anchors" (the words of links that lead to it, which only BM25F reads). By
            default all of them; of translations the text.
        stems : bool, optional
            Read the stems of English words (Porter 1980), of documents and of queries: "links" and
            "linking" are then one word.
        pool : int, optional
            Documents that are drawn as candidates of every query; 0: all. By default 10,000 for
            links, and all for judgements.
        split_seed : int, optional
            Key of the hash that gives the sides.
        auxiliary : sequence of str, optional
            Further kinds of queries on the same documents, to learn from only: "anchors", "titles",
            "words:3", "link", "link:3". A model "multi_task" names them in its own ``auxiliary``.
        ranked : str, optional
            "pool", or "judged": a query of the test ranks the documents that were judged for it; of
            clicks that came with judgements, the judged queries are then the test.
        out : str or Path, optional
            Directory to write; by default one of the store.

        Raises
        ------
        BadInput
            There are too few links for three sides, or no judgements.
        """
        if isinstance(documents, Task):
            raise TypeError(f"{documents.path}: it is a Task already: fit(task)")
        docs = documents if isinstance(documents, Documents) else read(documents)
        kind = relevant or only_relevant(open_collection(docs.path))
        every = (TEXT,) if kind in (TRANSLATION, LINK_OF_TRANSLATION) else FIELDS
        spec = spec_of(
            relevant=kind,
            queries=queries,
            fields=every if fields is None else fields,
            split=split,
            words=words,
            views=views,
            stems=stems,
            pool=pool,
            split_seed=split_seed,
            auxiliary=auxiliary,
            ranked=ranked,
        )
        with progress.shown("task") as on_progress:
            return cls(build_task(docs.path, user_path(out), spec=spec, progress=on_progress))

    @classmethod
    def open(cls, directory: str | Path) -> Task:
        """Open a directory that ``ssi data features`` or `of` has written.

        Raises
        ------
        BadInput
            There is no task.
        """
        return cls(store.read(directory, "task"))

    @property
    def path(self) -> Path:
        """Return the directory, which every command takes as a task."""
        return self.artefact.path

    @property
    def key(self) -> str:
        """Return the digest of documents, settings and code that names the directory."""
        return self.artefact.key

    @property
    def counts(self) -> Mapping[str, Any]:
        """Return the counts of words, and of pairs and queries of each side."""
        return self.artefact.counts

    @cached_property
    def data(self) -> types.Task:
        """Open the matrices and pairs, memory mapped."""
        return open_task(self.path)

    def __getstate__(self) -> dict[str, Any]:
        # What was opened is not pickled with a model that names its task: it is opened again.
        return {"artefact": self.artefact}

    @property
    def divisions(self) -> Sequence[types.Task]:
        """Return the tasks that a model is fitted on: the folds, or the one task."""
        return self.data.folds or (self.data,)

    @property
    def hides(self) -> bool:
        """Tell whether documents are read without something that a search should find."""
        configuration = self.artefact.configuration
        return bool(configuration["fields"] != [TEXT] or configuration["queries"] == TITLES)

    def pairs(self, side: Side) -> pl.DataFrame:
        """Return the relevant pairs of a side (of the first fold): ids, weight and grade."""
        if side not in SIDES:
            raise ValueError(f"side={side!r}, expected one of {', '.join(SIDES)}")
        pairs: types.Pairs = getattr(self.divisions[0], side)
        return pl.DataFrame(
            {
                "query": self.data.queries.ids[pairs.rows[:, 0]],
                "document": self.data.documents.ids[pairs.rows[:, 1]],
                "weight": pairs.weight,
                "grade": pairs.grade,
            }
        )

    def __repr__(self) -> str:
        counts = text_table(*self._counts(), left=2, width=UNCUT)
        return "\n".join([self._what(), "", text_table(*self._sides()), "", counts])

    def _repr_html_(self) -> str:
        counts, settings = (html_table(*one) for one in (self._counts(), self._settings()))
        further = folded("Counts", counts) + folded("Settings", settings)
        return card(self._what(), self.path, html_table(*self._sides()), further)

    def _what(self) -> str:
        """Say what is asked, of which documents."""
        asked, documents = self.artefact.configuration, self.data.documents
        return (
            f"{len(documents):,} documents, {documents.width(COUNTS):,} words; "
            f"relevant: {asked['relevant']}; queries: {asked['queries']}; split: {asked['split']}"
        )

    def _sides(self) -> tuple[list[str], list[list[str]]]:
        """Return queries and relevant pairs of each side; of folds those of the first."""
        rows = []
        for side in SIDES:
            pairs: types.Pairs = getattr(self.divisions[0], side)
            queries = np.count_nonzero(np.diff(pairs.rows[:, 0], prepend=-1))
            rows.append([side, f"{queries:,}", f"{len(pairs):,}"])
        return ["side", "queries", "pairs"], rows

    def _counts(self) -> tuple[list[str], list[list[str]]]:
        return ["Task", str(self.path)], facts_table(dict(self.counts))

    def _settings(self) -> tuple[list[str], list[list[str]]]:
        settings = self.artefact.configuration.items()
        texts = {k: ", ".join(map(str, v)) if isinstance(v, list) else v for k, v in settings}
        return ["setting", ""], facts_table(texts)


def task_for(given: Any, views: set[str]) -> Task:
    """Return a task to fit on: as it is, or made of documents, with the views that a model reads.

    Raises
    ------
    TypeError
        It is neither; the message says what a task is and how one is made.
    """
    if isinstance(given, Documents):
        return Task.of(given, views=(*VIEWS, *sorted(views - {*VIEWS})))
    return require_task(given)


def require_task(given: Any) -> Task:
    """Refuse what is no task, and say how one is made; see `task_for`."""
    if isinstance(given, Task):
        return given
    raise TypeError(
        f"a {type(given).__name__}, expected a Task: queries, documents, and which documents are "
        "relevant to which query. Make one of texts and links between them: "
        "task = ssi.Task.of(ssi.read(texts, links=links)); or ssi.fit(texts, links) makes it, fits "
        "and compares. There is no array of labels y: a link, a click or a judgement is a label."
    )


def require_views(task: Task, views: set[str], model: str) -> None:
    """Refuse a model that reads a view which a task lacks; the message names what to ask for."""
    views_known = set(task.data.documents.views)
    if lacking := sorted(views - views_known):
        for name in lacking:
            parse_view(name)
        every = requestable(views_known | views)
        relevant = task.artefact.configuration["relevant"]
        made = typed_call("data features", relevant=relevant, views=every)
        raise BadInput(
            f"task {task.path}: it has no view {', '.join(lacking)}, which {model} reads. Make it "
            f"with these: {made}"
        )
