"""What `fit` returns: a model, its measures beside a baseline, and why it was chosen."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ssi_core.evaluation.comparison import LEVEL
from ssi_core.evaluation.measures import TITLES
from ssi_core.face.compare import EITHER, Comparison
from ssi_core.face.documents import Documents
from ssi_core.face.estimator import Estimator
from ssi_core.face.index import Index
from ssi_core.face.models import SSI, Ranker
from ssi_core.face.show import WIDTH
from ssi_core.face.task import LATENT, Task
from ssi_core.models.bm25f import Bm25F
from ssi_core.models.choice.untrained import learns
from ssi_core.tasks import kinds

RELATED = "related"
"""Directory of the model of related documents, below that of the search."""


@dataclass(frozen=True)
class Fit:
    """A model that was fitted by `fit`, measured beside the strongest that learns nothing.

    Attributes
    ----------
    task : Task
        Task that it was fitted on.
    model : SSI or Ranker
        The fitted model.
    comparison : Comparison
        Measures on the test side of BM25F, of the strongest model that learns nothing, chosen on
        validation (the baseline), and of the model; of BM25F alone where nothing says what people
        ask for.
    label : str
        Name of the model in the comparison: "SSI" where it has learned from pairs, else what was
        chosen, such as "BM25F" or "LSI + BM25".
    documents : Documents or None
        Documents that were read; None where a task was given.
    cpu_seconds : mapping
        Seconds of the processor by stage: read, task, fit, compare. What was found in the store
        took next to none.
    related : Fit or None
        The model that finds documents related to a document, where this one answers what people
        type; None where one kind of query was asked for.
    """

    task: Task
    model: Estimator
    comparison: Comparison
    label: str = "SSI"
    documents: Documents | None = None
    cpu_seconds: Mapping[str, float] = field(default_factory=dict)
    related: Fit | None = None

    @property
    def choices(self) -> list[str]:
        """Return what was chosen, in words: once for each fold."""
        otherwise = repr(self.model) if isinstance(self.model, SSI) else self.label
        return [one.facts.get("choice", otherwise) for one in self.model.folds_]

    @property
    def _is_plain(self) -> bool:
        """Tell whether nothing said what people ask for, so that no choice was made."""
        return isinstance(self.model.ranker(), Bm25F)

    @property
    def facts(self) -> Mapping[str, Any]:
        """Return what the choice followed from: trials and p; nothing without ``auto``."""
        facts: Mapping[str, Any] = self.model.fitted_.facts.get("auto", {})
        return facts

    @property
    def asked(self) -> str:
        """Return the queries that the model was made for, in words."""
        configuration = self.task.artefact.configuration
        relevant, queries = configuration["relevant"], configuration["queries"]
        plain = f"{relevant}: {queries}"
        return _ASKED.get((relevant, queries)) or _ASKED.get((relevant, ""), plain)

    @property
    def reason(self) -> str:
        """Return in one sentence what was chosen, and why; of folds what was chosen in each."""
        several = Counter(self.choices)
        if self._is_plain:
            near = "" if self.related else " Related documents have the highest cosine of TF-IDF."
            return (
                "No clicks, judgements or enough words of links say what people ask for: "
                f"{self.label} has its documented settings.{near}"
            )
        if not self.facts:
            return f"Settings: {', '.join(several)}, the documented defaults."
        if len(self.choices) > 1:
            names = "; ".join(f"fold {n}: {name}" for n, name in enumerate(self.choices, 1))
            return (
                f"Chosen: {names}. The model that is saved was chosen and fitted once more on the "
                f"judged queries of all folds: {self.model.fitted_.facts['choice']}."
            )
        names = ", ".join(several)
        settings = {str(trial["settings"]) for trial in self.facts["trials"]}
        tried = f"{len(settings)} setting{'s' * (len(settings) != 1)}"
        return (
            f"Chosen: {names}: {self.facts['reason']}; {tried} tried, with "
            f"{self.facts['triples']:,} triples in all."
        )

    @property
    def verdict(self) -> str:
        """Return in one sentence how the model compares with the strongest that learns nothing."""
        base, measure = self.comparison.baseline, self.comparison.measures[0]
        has_learned = any(map(learns, self.label.split(EITHER)))
        if self.label == base:
            return f"Nothing was learned from pairs: the model is {base}."
        test = self.comparison.against(self.label, measure)
        better = test.difference > 0
        verb = "is not told apart from"
        if test.p < LEVEL:
            verb = "is better than" if better else "is worse than"
        before = "" if has_learned else "Nothing was learned from pairs. "
        return (
            f"{before}{self.label} {verb} {base}, the strongest model that learns nothing: "
            f"{TITLES[measure]} {test.difference:+.3f}, 95 % interval {test.low:+.3f} to "
            f"{test.high:+.3f}, p {test.p:.2g}, {test.queries} queries."
        )

    @property
    def words(self) -> str:
        """Return how many words are known, and how many of them U and V have vectors for."""
        counts, views = self.task.counts, self.task.data.documents.views
        hidden = ""
        if self.task.artefact.configuration["queries"] == kinds.TITLES:
            hidden = " Words that stand in titles alone are not among them, for these are hidden."
        latent = [len(views[name].words) for name in LATENT if name in views]
        learned = any(map(learns, self.label.split(EITHER)))
        if not (latent and learned):
            return f"Words: {counts['words']:,}.{hidden}"
        of_latent = f"; U and V have vectors for the {latent[0]:,} most frequent"
        return f"Words: {counts['words']:,} in the exact part{of_latent}.{hidden}"

    def index(self, out: str | Path | None = None) -> Index:
        """Return the index of the documents under the model.

        Where there is a model of related documents, ``related`` of the index asks it; where BM25F
        was not learned from anything, the cosine of TF-IDF.

        Parameters
        ----------
        out : str or Path, optional
            Directory to write; by default one of the store.
        """
        texts = self.task if self.documents is None else self.documents
        index = self.model.index(texts, out=out)
        if self._neighbours is None:
            return index
        path = None if out is None else Path(out).parent / RELATED / "index"
        return index.relating(self._neighbours.index(texts, out=path))

    @cached_property
    def _neighbours(self) -> Estimator | None:
        """Return the model that finds related documents, where it is another one."""
        if self.related is not None:
            return self.related.model
        # BM25 is for short queries: a whole document finds its like by the cosine.
        return Ranker("tfidf").fit(self.task) if self._is_plain else None

    def save(self, directory: str | Path) -> Index:
        """Write the model and in it the index of the documents.

        Of judged queries in folds it is fitted once more, on those of all folds.

        ``ssi search MODEL TEXT``, ``ssi related MODEL DOCUMENT`` and ``ssi export MODEL`` then need
        nothing else.

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
        if self._neighbours is not None:
            self._neighbours.save(Path(directory) / RELATED)
        return self.index(Path(directory) / "index")

    def __str__(self) -> str:
        parts = [] if self.documents is None else [_filled(self.documents.account)]
        parts.append(self._part())
        if self.related is not None:
            parts.append(self.related._part())
        return "\n\n".join(parts)

    def _part(self) -> str:
        notes = (self.verdict, self.reason, self.words)
        return "\n".join([self.asked, str(self.comparison), *map(_filled, notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        read = () if self.documents is None else (self.documents.account,)
        return self._html(*read) + ("" if self.related is None else self.related._html())

    def _html(self, *notes: str) -> str:
        """Return the table and what is said of it."""
        return self.comparison.html(self.asked, self.verdict, self.reason, self.words, *notes)


def _filled(note: str) -> str:
    return textwrap.fill(note, WIDTH, break_on_hyphens=False)


_ASKED = {
    ("link", "documents"): "Related documents: what a document links to",
    ("anchor", "anchors"): "Search: words of links, and the documents that they lead to",
    ("self", "titles"): "Search: titles, hidden in the documents, and their documents",
    ("self", ""): "Search: some words of a document, and the document",
    ("link", ""): "Related documents: some words of a document, and what it links to",
    ("click", ""): "Search: queries of the log, and their documents",
    ("judgement", ""): "Search: judged queries",
}
"""What was asked, by ``relevant`` and ``queries`` of the task, as a heading."""
