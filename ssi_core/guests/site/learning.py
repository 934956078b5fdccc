"""What a site's search ranks by: BM25F with `matching`, and a latent part learnt on the site.

The settings of BM25F, the training of ``U'V`` and its weight are chosen on held-out wordings of the
site's links (titles, where links have few words). Of a site that is too small to be divided,
nothing is learnt: BM25F has its defaults. Frequencies and lengths are counted in whole pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from ssi_core.collection import open_collection
from ssi_core.evaluation.candidates import candidates
from ssi_core.evaluation.measures import MEASURES
from ssi_core.evaluation.ranking import rank
from ssi_core.face.documents import Documents
from ssi_core.face.fit_cache import fit_once
from ssi_core.face.fit_tasks import reworded_task
from ssi_core.face.models import Ranker
from ssi_core.face.task import LATENT, Task
from ssi_core.files import read_strings
from ssi_core.guests.site.matching import Matching, Names, names_of
from ssi_core.guests.site.names import NAMES, NamedTask
from ssi_core.models.base import FitOptions, FittedModel
from ssi_core.models.bm25f import Bm25F, settings_of
from ssi_core.models.combined.parts import fitted_parts
from ssi_core.tasks.fields import field_parts
from ssi_core.tasks.unseen import documents_of, texts_in_views
from ssi_core.text.fields import ANCHORS, HEADINGS, TITLE, split
from ssi_core.text.fields import FIELDS as FIELDS_OF_A_PAGE
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput, Float32, Float64, Pairs, TextMatrix, Texts
from ssi_core.types import Task as Data
from ssi_core.views.lexicon import Vocabulary
from ssi_core.views.names import COUNTS, FIELDS
from ssi_core.views.statistics import Statistics
from ssi_core.views.text_view import TextView
from ssi_core.views.weighting import Weighting

DIMENSIONS = 32
BUDGET = 400_000
"""Triples of a training."""
_TRAINING: Mapping[str, Any] = {
    "model": "bilinear",
    "diagonal": "none",
    "view": LATENT[0],
    "dimensions": DIMENSIONS,
    "init_std": 0.01,
    "margin": 0.1,
    "rates": (0.05,),
    "negatives": 16,
    "stop_by": "mrr",
}
_STARTS = (None, "link", NAMES)
"""What a training learns first: nothing, the links of whole pages, or the pages' own names."""
_BETAS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_MEASURE = "mrr"
_QUERIES = 1000


@dataclass(frozen=True)
class Latent:
    """The latent part: ``u = sum_i idf_i U_i / |idf|`` over the words i of a query.

    Attributes
    ----------
    words : sequence of str
        Words of the rows.
    idf : float32 (words,)
        Weights of the words in a query, before it has unit length.
    embedding : float32 (words, N)
        ``U``.
    pages : float32 (pages, N)
        ``V d`` of each page, times the weight of the part.
    """

    words: Sequence[str]
    idf: Float32
    embedding: Float32
    pages: Float32

    def scores(self, words: Iterable[str]) -> Float64:
        """Return what the part gives each page for the words of a query, each counted once."""
        known = [self._rows[word] for word in words if word in self._rows]
        length = float(np.linalg.norm(self.idf[known]))
        if not length:
            return np.zeros(len(self.pages))
        found: Float64 = self.pages @ (self.idf[known] @ self.embedding[known] / length)
        return found

    @cached_property
    def _rows(self) -> Mapping[str, int]:
        return {word: row for row, word in enumerate(self.words)}


@dataclass(frozen=True)
class Learnt:
    """Pages and their weights.

    Attributes
    ----------
    pages : DataFrame
        Columns id, url, title, text: a row for each page.
    language : str
        Code whose rule splits texts into words.
    words : sequence of str
        Words of the columns of ``exact``.
    exact : CSR float32 (pages, words)
        Weights of BM25F in the pages, idf included.
    names : Names
        What the pages are called.
    k3 : float
        Saturation of the counts of a query.
    latent : Latent or None
        None: it is no gain on validation, or the site is too small to tell.
    facts : mapping
        What was chosen, and on how many queries.
    """

    pages: pl.DataFrame
    language: str
    words: Sequence[str]
    exact: TextMatrix
    names: Names
    k3: float
    latent: Latent | None
    facts: Mapping[str, Any]

    def ranked(self, text: str) -> list[int]:
        """Return the numbers of the pages of a positive score, the best first, without rounding."""
        scores = np.zeros(self.exact.shape[0])
        counts = Counter(tokenize(text, self.language))
        columns = self._columns
        for word, n in counts.items():
            if word in columns:
                weights = self._by_word[:, [columns[word]]].toarray().ravel()
                scores += (self.k3 + 1) * n / (self.k3 + n) * weights
        scores = self.matching.scores(scores, counts)
        if self.latent is not None:
            scores += self.latent.scores(counts)
        order = np.argsort(-scores, kind="stable")
        return [int(page) for page in order if scores[page] > 0]

    @cached_property
    def matching(self) -> Matching:
        """Factors of the pages."""
        return Matching(self.words, self.exact, self.names)

    @cached_property
    def _columns(self) -> Mapping[str, int]:
        return {word: column for column, word in enumerate(self.words)}

    @cached_property
    def _by_word(self) -> sparse.csc_array:
        return self.exact.tocsc().astype(np.float64)


def learn(documents: Documents, *, budget: int = BUDGET, seed: int = 0) -> Learnt:
    """Learn the weights of a site's pages.

    Parameters
    ----------
    documents : Documents
        Pages with their links.
    budget : int
        Triples of each of the three trainings; 0: BM25F alone.
    seed : int
        Seed of the trainings.
    """
    collection = open_collection(documents.path)
    texts = documents_of(collection)
    language = language_of(documents)
    try:
        task = task_of(documents)
    except BadInput:  # too few pages for three sides
        task = None
    chosen: dict[str, Any] = {"latent": 0.0}
    latent = None
    fields = Bm25F()
    if task is not None:
        part, mixed = _chosen(task, budget, seed)
        fields = _fixed(part)
        chosen = {"queries": _asked(task), **settings_of(part)}
        if mixed is not None:
            latent = _latent(mixed, texts)
        chosen["latent"] = 0.0 if mixed is None else float(mixed.arrays["beta"][0])
    words, exact = _exact(fields, texts, language)
    called = pl.DataFrame([split(text) for text in texts["text"]]).select(TITLE, HEADINGS, ANCHORS)
    names = names_of(called, language)
    shown = documents.frame.select("id", "url", "title", "text")
    return Learnt(shown, language, words, exact, names, fields.k3, latent, chosen)


def language_of(documents: Documents) -> str:
    """Return the code of the language that the pages are read in."""
    first = open_collection(documents.path).documents.select("language").head(1).collect()
    return str(first.item() or "")


def task_of(documents: Documents) -> Task:
    """Return the task of a search box, with the links and the names of pages to learn from."""
    task = reworded_task(documents)
    asked = task.artefact.configuration
    with suppress(BadInput):  # too few links to learn from
        task = Task.of(documents, asked["relevant"], queries=asked["queries"], auxiliary=["link"])
    return NamedTask(task.artefact, documents)


def _asked(task: Task) -> str:
    return str(task.artefact.configuration["queries"])


def _chosen(task: Task, budget: int, seed: int) -> tuple[FittedModel, FittedModel | None]:
    """Return BM25F, and its sum with ``U'V`` that has the highest mean, unless that is lower."""
    words = vars(Bm25F.tuned(measure=_MEASURE, phrases=(0.0,)))
    best = fit_once(Ranker("bm25f", **words), task).fitted_
    judge = _Judge(task, best)
    highest, mixed = judge.mean(None), None
    for start in _STARTS if budget else ():
        if start is not None and not _is_enough(task.data.auxiliary.get(start)):
            continue
        training = {**_TRAINING, "learn_first": start, "budget": budget}
        parts = ({"model": "bm25f", **words}, training)
        ranker = Ranker("mixture", random_state=seed, parts=parts, betas=_BETAS)
        for one in _variants(fit_once(ranker, task).fitted_):
            if (mean := judge.mean(one)) > highest:
                highest, mixed = mean, one
    return best, mixed


def _is_enough(first: Data | None) -> bool:
    return first is not None and bool(len(first.train) and len(first.valid))


def _variants(mixed: FittedModel) -> list[FittedModel]:
    return [
        replace(mixed, arrays={**mixed.arrays, "beta": np.array([beta], np.float32)})
        for beta in _BETAS
        if beta
    ]


class _Judge:
    """Means of rankings over validation, whose pages have no name that is held out."""

    def __init__(self, task: Task, exact: FittedModel) -> None:
        data = task.data
        self._over = candidates(data, "valid", _QUERIES, 0)
        self._queries = data.queries.take(self._over.queries)
        self._pages = data.documents.take(self._over.documents)
        view = exact.view(COUNTS, "document")
        assert isinstance(view, TextView)
        pages = exact.embed_documents(self._pages).sparse
        queries = exact.embed_queries(self._queries).sparse
        assert pages is not None
        assert queries is not None
        assert data.path is not None
        called = read_strings(field_parts(data.path), TITLE, HEADINGS, ANCHORS)
        names = names_of(called[self._over.documents], view.language)
        matching = Matching(list(view.words), pages, names)
        asked = (tokenize(text, view.language) for text in self._queries.titles)
        self._exact = (queries @ pages.T).toarray().astype(np.float32)
        for row, words in enumerate(asked):
            self._exact[row] = matching.scores(self._exact[row], words)

    def mean(self, mixed: FittedModel | None) -> float:
        """Return the mean of the exact part, or of its sum with the other part of a mixture."""
        scores = self._exact
        if mixed is not None:
            _, part = fitted_parts(mixed)
            queries = part.embed_queries(self._queries).dense
            pages = part.embed_documents(self._pages).dense
            assert queries is not None
            assert pages is not None
            scores = scores + mixed.arrays["beta"][0] * (queries @ pages.T)
        ranks = rank(lambda first, last: scores[first:last].copy(), self._over)
        return float(MEASURES[_MEASURE](ranks).mean())


def _fixed(fitted: FittedModel) -> Bm25F:
    """Return the model that has the chosen settings as its only ones."""
    chosen: dict[str, Any] = {name: (value,) for name, value in settings_of(fitted).items()}
    return Bm25F(**chosen)


def _latent(mixed: FittedModel, texts: pl.DataFrame) -> Latent:
    _, part = fitted_parts(mixed)
    pages = part.embed_documents(texts_in_views(texts, part.document_views)).dense
    view = part.view(LATENT[0], "query")
    assert pages is not None
    assert isinstance(view, TextView)
    embedding = np.asarray(part.arrays["U"], np.float32)
    idf = view.idf[: len(view.words)]
    beta = np.float32(mixed.arrays["beta"][0])
    return Latent(list(view.words), idf, embedding[: len(idf)], pages * beta)


def _exact(fields: Bm25F, texts: pl.DataFrame, language: str) -> tuple[Sequence[str], TextMatrix]:
    """Return the words of whole pages, and their weights in the pages."""
    every = {word for text in texts["text"] for word in tokenize(text, language)}
    words = Vocabulary(pl.Series(sorted(every), dtype=pl.String))
    idf = np.zeros(len(words), np.float32)
    view = TextView(
        language, words, Statistics(idf, len(texts), 1.0), Weighting(COUNTS),
        fields=FIELDS_OF_A_PAGE,
    )  # fmt: skip
    pages = texts_in_views(texts, {COUNTS: view, FIELDS: view.named(FIELDS)})
    fitted = fields.learn(_unasked(pages), np.random.default_rng(0), FitOptions())
    exact = fitted.embed_documents(pages).sparse
    assert exact is not None
    return list(words), exact


def _unasked(pages: Texts) -> Data:
    """Return a task without queries: BM25F with fixed settings reads the documents alone."""
    none = Pairs.of(np.empty((0, 2), np.int32))
    exclude = sparse.csr_array((len(pages), len(pages)), dtype=np.bool_)
    return Data(pages, pages, none, none, none, exclude, key="")
