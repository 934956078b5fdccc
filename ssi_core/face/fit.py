"""From texts to a measured model in one call: `fit` reads, makes a task, trains and compares."""

from __future__ import annotations

import os
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ssi_core import store
from ssi_core.collection import TRANSLATION, open_collection
from ssi_core.face.compare import Comparison, compare
from ssi_core.face.documents import Documents, read
from ssi_core.face.estimator import Estimator
from ssi_core.face.index import Index
from ssi_core.face.kept import fit_once
from ssi_core.face.models import BM25, SSI, TfIdf
from ssi_core.face.show import WIDTH
from ssi_core.face.task import Task
from ssi_core.tasks.spec import Split, fields_of, only_relevant
from ssi_core.types import BadInput

LABEL = "SSI"
"""Name of the fitted model in the comparison."""
_MEASURES = ("map", "ndcg_at_10", "mrr", "rank_loss")
_OF_TASK = "task"


@dataclass(frozen=True)
class Fit:
    """A model that was fitted by `fit`, measured beside two that learn nothing.

    Attributes
    ----------
    task : Task
        Task that it was fitted on.
    model : SSI
        The fitted model.
    comparison : Comparison
        Measures on the test side of BM25, TF-IDF and the model; tests of the first two against the
        model.
    documents : Documents or None
        Documents that were read; None where a task was given.
    cpu_seconds : mapping
        Seconds of the processor by stage: read, task, fit, compare. What was found in the store
        took next to none.
    """

    task: Task
    model: SSI
    comparison: Comparison
    documents: Documents | None = None
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def choices(self) -> list[str]:
        """Return what was chosen, in words: once for each fold."""
        return [one.facts.get("choice", repr(self.model)) for one in self.model.folds_]

    @property
    def facts(self) -> Mapping[str, Any]:
        """Return what the choice followed from: trials and p; nothing without ``auto``."""
        facts: Mapping[str, Any] = self.model.fitted_.facts.get("auto", {})
        return facts

    @property
    def reason(self) -> str:
        """Return in one sentence what was chosen, and why."""
        several = Counter(self.choices)
        folds = len(self.choices)
        names = (f"{name} ({n} of {folds} folds)" if folds > 1 else name
                 for name, n in several.most_common())  # fmt: skip
        if not self.facts:
            return f"Not chosen, but fixed: {', '.join(several)} with its documented settings."
        settings = {str(trial["settings"]) for trial in self.facts["trials"]}
        tried = f"{len(settings)} setting{'s' * (len(settings) != 1)}"
        return (
            f"Chosen: {', '.join(names)}: {self.facts['reason']}; {tried} tried, with "
            f"{self.facts['triples']:,} triples in all."
        )

    def index(self, out: str | Path | None = None) -> Index:
        """Return the index of the documents under the model (of the first fold).

        Parameters
        ----------
        out : str or Path, optional
            Directory to write; by default one of the store.
        """
        texts = self.task if self.documents is None else self.documents
        return self.model.index(texts, out=out)

    def save(self, directory: str | Path) -> Index:
        """Write the model (of the first fold) and in it the index of the documents.

        ``ssi search MODEL TEXT`` and ``ssi export MODEL`` then need nothing else.

        Parameters
        ----------
        directory : str or Path
            Directory to write; a model that is there is replaced.

        Returns
        -------
        Index
            The index, ready to be searched and exported.
        """
        self.model.save(directory)
        return self.index(Path(directory) / "index")

    def __str__(self) -> str:
        return f"{self.comparison}\n{textwrap.fill(self.reason, WIDTH)}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.comparison.html(self.reason)


def fit(
    data: Any,
    links: Any = None,
    *,
    texts: Any = None,
    ask: str | None = None,
    beside: Sequence[str] = (),
    split: Split | None = None,
    judged: bool = False,
    auto: bool = True,
    budget: int | None = None,
    measure: str = "map",
    random_state: int = 0,
    threads: int = 1,
    **settings: Any,
) -> Fit:
    """Read documents, make a task, fit a model and measure it beside BM25 and TF-IDF.

    The same as `read`, `Task.of`, ``SSI(...).fit`` and `compare` one after the other. What is whole
    stays in the store: the same call again finds it there, and a training that was broken off goes
    on.

    Parameters
    ----------
    data : str, Path, Documents, Task, frame, list or array
        What `read` takes or returned; or a task, or its directory.
    links : optional
        Links between the documents, as `read` takes them.
    texts : Documents, optional
        Texts of what a log names by ids; see `read`.
    ask : str, optional
        Kind of query that will be asked: "link" (whole documents, answered by what they link to),
        "link:3" (three words of one), "words:3" (three words, answered by the document that has
        them), "titles", "anchors" (the words of links), "click", "judgement". By default what there
        is: clicks, judgements or links. For a search box take "titles" or "words:3": links teach
        what pages lead to, not what a person looks for.
    beside : sequence of str, optional
        Further kinds of queries to learn from: "titles", "anchors", "words:3", "link", "link:3".
    split : str, optional
        See `Task.of`.
    judged : bool, optional
        Of clicks that came with judgements: test on the judged queries, each of them on the
        documents that were judged for it.
    auto : bool, optional
        Choose on validation whether to learn, and how, as ``SSI(auto=True)`` does; else `SSI` has
        its documented settings.
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
        Task, model and comparison; prints as a table with a sentence on what was chosen, and why.

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
    >>> fitted = ssi.fit(texts, links, auto=False, budget=20_000)
    >>> list(fitted.comparison.reports)
    ['BM25', 'TF-IDF', 'SSI']
    """
    clock = _Clock()
    of_task = {"ask": ask, "beside": beside, "split": split, "judged": judged}
    of_texts = {"links": links, "texts": texts, **settings}
    with clock.stage("read"):
        source = _opened(data, of_texts)
    with clock.stage("task"):
        task = _task(source, of_task)
    model = SSI(auto=auto, measure=measure, random_state=random_state)
    if budget is not None:
        model.set_params(budget=budget)
    with clock.stage("fit"):
        fit_once(model, task, threads=threads)
    with clock.stage("compare"):
        rankers: dict[str, Estimator] = {"BM25": BM25(), "TF-IDF": TfIdf()}
        rankers = {label: one.fit(task) for label, one in rankers.items()}
        measures = tuple(dict.fromkeys((measure, *_MEASURES)))
        comparison = compare(
            {**rankers, LABEL: model}, task, measures=measures, baseline=LABEL, threads=threads
        )
    documents = source if isinstance(source, Documents) else None
    return Fit(task, model, comparison, documents, clock.seconds)


def _opened(data: Any, given: Mapping[str, Any]) -> Documents | Task:
    """Return the documents or the task that are meant; files are read."""
    path = Path(data) if isinstance(data, str | Path) else None
    if path is not None and (path / store.MANIFEST).is_file():
        artefact = store.read(path)
        data = Task(artefact) if artefact.kind == _OF_TASK else data
    if not isinstance(data, Documents | Task):
        return read(data, **given)
    if names := [name for name, value in given.items() if value is not None]:
        raise BadInput(f"{data.path}: {', '.join(names)} go with files. Leave them out.")
    return data


def _task(source: Documents | Task, given: Mapping[str, Any]) -> Task:
    """Return the task of documents, or the one that is there."""
    if isinstance(source, Task):
        if names := [name for name, value in given.items() if value]:
            raise BadInput(
                f"{source.path}: a task is made already, and {', '.join(names)} go with texts. "
                "Leave them out, or name the texts."
            )
        task = source
    else:
        kind = given["ask"] or only_relevant(open_collection(source.path))
        if kind.startswith(TRANSLATION):
            raise BadInput(
                f"{source.path}: its queries are in another language than its documents, which "
                "BM25 cannot compare. 'ssi pipeline sample-mates --corpus DIRECTORY' trains models "
                "of two vocabularies."
            )
        fields: dict[str, Any] = {**fields_of(kind), "split": given["split"]}
        ranked: Any = "judged" if given["judged"] else "pool"
        task = Task.of(source, **fields, beside=given["beside"], ranked=ranked)
    return task


class _Clock:
    """Seconds of the processor by stage, those of worker processes too."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure a block."""
        before = _spent()
        yield
        self.seconds[name] = round(_spent() - before, 2)


def _spent() -> float:
    return sum(os.times()[:4])
