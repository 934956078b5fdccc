"""From texts to a measured model in one call: `fit` reads, makes a task, trains and compares."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from ssi_core.collection import JUDGEMENT, LINK
from ssi_core.corpus.tables.roles import JUDGEMENTS
from ssi_core.evaluation.measures import measure_named
from ssi_core.face import progress
from ssi_core.face.compare import compare, title_of
from ssi_core.face.documents import Documents, known_settings
from ssi_core.face.estimator import Estimator
from ssi_core.face.fit_cache import fit_once
from ssi_core.face.fit_result import Fit
from ssi_core.face.fit_tasks import (
    asks_wordings,
    has_related,
    is_searched,
    opened,
    reworded_task,
    search_task,
    task_of,
    with_judgements,
    with_stems,
)
from ssi_core.face.frames import Links, Rows, Texts
from ssi_core.face.models import SSI, Ranker
from ssi_core.face.task import Task, require_views
from ssi_core.garbage import Garbage
from ssi_core.models.base import FittedModel
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.choice.beside_words import documented
from ssi_core.remedies import typed
from ssi_core.resources import limited
from ssi_core.strict import instead, nearest
from ssi_core.tasks.kinds import Split
from ssi_core.tasks.pairs import joined
from ssi_core.types import BadInput

_MEASURES = ("map", "ndcg_at_10", "mrr")


def fit(
    data: Documents | Task | Texts,
    links: Links | None = None,
    *,
    texts: Documents | Texts | None = None,
    queries: Rows | None = None,
    qrels: Rows | None = None,
    ask: str | None = None,
    auxiliary: Sequence[str] = (),
    split: Split | None = None,
    judged: bool = False,
    stems: bool | None = False,
    auto: bool = True,
    budget: int | None = None,
    measure: str = "map",
    random_state: int = 0,
    threads: int = 1,
    **settings: Any,
) -> Fit:
    """Read documents, fit a model for what people type and one for related documents, measure both.

    The same as `read`, `Task.of`, ``SSI(...).fit`` and `compare` one after the other. What is whole
    stays in the store: the same call again finds it there, and a training that was broken off goes
    on.

    Documents and their links give two models: one for a search box, trained on the words of links,
    and one that finds related documents, trained on the links. Both are measured beside the
    strongest model that learns nothing, chosen on validation, on queries that no part of the choice
    has seen. Where too few links have words, nothing says what people ask for, and the search box
    is BM25F over all fields with its documented settings, measured on words of the texts. Where
    there are judged queries, the first model is trained and tested on these, in five folds. A log
    of clicks, and ``ask``, give one model.

    Parameters
    ----------
    data : str, Path, Documents, Task, frame, list or array
        What `read` takes or returned; or a task, or its directory.
    links : optional
        Links between the documents, as `read` takes them.
    texts : Documents, optional
        Texts of what a log names by ids; see `read`.
    queries : str, Path, frame or list, optional
        Judged queries: a file, or rows, of id and text, as ``ssi data ingest judged`` reads them.
    qrels : str, Path, frame or list, optional
        Their judgements: query, document and grade; a document is named by its id.
    ask : str, optional
        Kind of query that will be asked: "link" (whole documents, answered by what they link to),
        "link:3" (three words of one), "words:3" (three words, answered by the document that has
        them), "titles", "anchors" (the words of links), "click", "judgement". By default clicks or
        judgements, where there are some, and else both kinds: what people type, and links.
    auxiliary : sequence of str, optional
        Further kinds of queries to learn from: "titles", "anchors", "words:3", "link", "link:3".
    split : str, optional
        See `Task.of`.
    judged : bool, optional
        Test on the judged queries of a log with judgements, each on the documents that were judged
        for it.
    stems : bool, optional
        Read the stems of English words, see `Task.of`; None: if BM25F is better with them on
        validation, by more than the standard error. Not with a task that is made, nor with judged
        queries in folds, which have no validation of their own.
    auto : bool, optional
        Choose on validation whether to learn, and how, as ``SSI(auto=True)`` does; else `SSI` has
        its documented settings, and stands beside BM25F where queries look for one document each.
    budget : int, optional
        Triples at most, of all trainings together; by default that of `SSI`.
    measure : str, optional
        Mean that chooses, and the first that is shown: "map", "ndcg_at_10" or "mrr".
    random_state : int, optional
        Seed of every random choice.
    threads : int, optional
        Cores; with 1 the same call gives the same bits.
    **settings
        Further arguments of `read`, such as ``source="clicks"`` and its settings.

    Returns
    -------
    Fit
        Task, model and comparison; prints as tables with sentences on what was chosen, why, and
        what it is worth.

    Raises
    ------
    BadInput
        The documents are damaged, or there is too little to learn from; or options of a task meet a
        task that is made.

    Examples
    --------
    >>> import ssi_core as ssi
    >>> texts = [f"{word} {n} {n % 9}" for n in range(40) for word in ("car", "moon")]
    >>> links = [(n, (n + k) % 80) for n in range(80) for k in (2, 4)]
    >>> fitted = ssi.fit(texts, links, ask="link", auto=False, budget=20_000)
    >>> fitted.label in fitted.comparison.reports
    True
    """
    if settings:
        arguments = [name for name in signature(fit).parameters if name != "settings"]
        for name in settings.keys() - known_settings():
            if nearest(name, arguments):
                raise BadInput(f"fit: no argument {instead(name, arguments)}")
    if queries is not None and ask not in (None, JUDGEMENT):
        raise BadInput(f"{typed('query-type', ask)}: judged queries are not asked. Leave one out.")
    measure, clock = measure_named(measure, _MEASURES), _Clock()
    of_task = {"ask": ask, "auxiliary": auxiliary, "split": split, "judged": judged}
    of_texts = {"links": links, "texts": texts, **settings}
    if queries is None and qrels is not None:
        of_texts["qrels"] = qrels  # a setting of a source that reads judgements itself
    columns = settings.get("columns") or {}
    of_judged = (
        {} if queries is None else {one: columns[one] for one in JUDGEMENTS if one in columns}
    )
    of_texts["columns"] = {one: columns[one] for one in columns if one not in of_judged} or None
    with clock.stage("read"):
        source = opened(data, of_texts)
        if queries is not None:
            source = with_judgements(source, queries, qrels, of_judged)
    how, is_plain = _How(auto, budget, measure, random_state, threads, clock), False

    def made(given: Mapping[str, Any]) -> Task:
        return with_stems(lambda stems: task_of(source, given, stems), stems, measure)

    with clock.stage("task"):
        if isinstance(source, Task):
            task = task_of(source, {**of_task, "stems": stems is not False})
        elif any(of_task.values()) or not is_searched(source):
            task = made(of_task)
        else:
            judge = partial(reworded_task, source)
            task = with_stems(partial(search_task, source), stems, measure, judge=judge)
            is_plain = not asks_wordings(task)
    fitted = _plain(task, source, how) if is_plain else _fitted(task, source, how)
    if isinstance(source, Task) or any(of_task.values()) or not has_related(source):
        return fitted
    try:
        with clock.stage("task"):
            of_links = made({**of_task, "ask": LINK})
    except BadInput:  # too few links for three sides
        return fitted
    return replace(fitted, related=_fitted(of_links, source, how))


@dataclass(frozen=True)
class _How:
    """Arguments of `fit` that both models share."""

    auto: bool
    budget: int | None
    measure: str
    random_state: int
    threads: int
    clock: _Clock

    @property
    def measures(self) -> tuple[str, ...]:
        """Return the means that are shown, the one that chooses first."""
        return tuple(dict.fromkeys((self.measure, *_MEASURES)))


def _fitted(task: Task, source: Documents | Task, how: _How) -> Fit:
    """Fit a model on a task, and compare it."""
    ours = SSI(auto=how.auto, measure=how.measure, random_state=how.random_state)
    if how.budget is not None:
        ours.set_params(budget=how.budget)
    model = ours if how.auto else _documented(task, ours)
    untrained, of_fields = Ranker("untrained", measure=how.measure), _bm25f(how.measure)
    # All of them at once, so that one remedy is enough.
    read = set().union(*(one.ranker().views() for one in (model, untrained, of_fields)))
    require_views(task, read, "fit")
    with how.clock.stage("fit"):
        fit_once(model, task, threads=how.threads)
        if len(task.divisions) > 1:
            model.fitted_ = _of_all_queries(model, task, how.threads)
    with how.clock.stage("compare"):
        base = fit_once(untrained, task, threads=how.threads)
        rankers: dict[str, Estimator] = {"BM25F": of_fields.fit(task)}
        baseline, label = title_of(base), title_of(model)
        rankers |= {baseline: base, label: base if label == baseline else model}
        comparison = compare(
            rankers, task, measures=how.measures, baseline=baseline, threads=how.threads
        )
    documents = source if isinstance(source, Documents) else None
    return Fit(task, model, comparison, label, documents, how.clock.seconds)


def _documented(task: Task, ours: SSI) -> Estimator:
    """Return the model of documented settings, which may stand beside BM25F."""
    measure: Any = ours.measure
    ranker = ours.ranker()
    model = documented(task.divisions[0], ranker, measure)
    if model is ranker:
        return ours
    return Ranker(model.name, random_state=ours.random_state, **vars(model))


def _of_all_queries(model: Estimator, task: Task, threads: int) -> FittedModel:
    """Fit a model once more, on the judged queries of all folds but those that validate."""
    first = task.divisions[0]
    every = replace(first, train=joined(first.train, first.test), test=first.valid)
    rng = np.random.default_rng([model.random_state])
    with limited(threads):
        return model.ranker().fit(every, rng, threads=threads)


def _bm25f(measure: str) -> Ranker:
    return Ranker("bm25f", **vars(Bm25F.tuned(measure=measure)))


def _plain(task: Task, source: Documents | Task, how: _How) -> Fit:
    """Return BM25F with its documented settings, where nothing says what people ask for."""
    with how.clock.stage("fit"):
        model = fit_once(Ranker("bm25f"), task, threads=how.threads)
    label = title_of(model)
    with how.clock.stage("compare"):
        comparison = compare({label: model}, task, measures=how.measures, threads=how.threads)
    documents = source if isinstance(source, Documents) else None
    return Fit(task, model, comparison, label, documents, how.clock.seconds)


def search_model(documents: Documents, *, budget: int | None = None) -> tuple[Estimator, str]:
    """Return the model that answers what people type, and what it is called."""
    task = search_task(documents)
    model: Estimator = Ranker("bm25f")
    if asks_wordings(task):
        model = SSI(auto=True, measure="mrr")
        if budget is not None:
            model.set_params(budget=budget)
    fit_once(model, task)
    return model, title_of(model)


class _Clock:
    """Seconds of the processor by stage, those of worker processes too."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._garbage = Garbage()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure a block, and say what it is."""
        before = _spent()
        with progress.stage(name):
            yield
        self._garbage.collect()
        spent = self.seconds.get(name, 0.0) + _spent() - before
        self.seconds[name] = round(spent, 2)


def _spent() -> float:
    return sum(os.times()[:4])
