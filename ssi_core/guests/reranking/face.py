"""Learning to rank in Python: each ranker of pairs by its name, on files or behind a model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from ssi_core.estimator import parse
from ssi_core.face.compare import Comparison, compare
from ssi_core.face.estimator import Estimator
from ssi_core.face.models import SSI, Ranker
from ssi_core.face.task import Task
from ssi_core.guests.reranking.base import FittedReranker
from ssi_core.guests.reranking.measures import means, per_query
from ssi_core.guests.reranking.pairs import PairFeatures
from ssi_core.guests.reranking.rankers import load_reranker, reranker_named
from ssi_core.models import MODELS
from ssi_core.models.base import Model
from ssi_core.models.bm25 import Bm25
from ssi_core.models.combined.parts import fitted_parts
from ssi_core.strict import cut, instead
from ssi_core.types import BadInput, Float64

logger = logging.getLogger(__name__)

FIRST, RERANKED = "first stage", "reranked"
"""Names of the two rows of `gain`."""


def models_named(names: Sequence[str], task: Task | None = None) -> tuple[Model, ...]:
    """Return models by their names: "ssi" as `SSI`, BM25 tuned, others with their defaults.

    Parameters
    ----------
    names : sequence of str
        Names of models, or "ssi".
    task : Task, optional
        The task to train them on. Where it lacks a view that `SSI` reads, as one of ``ssi data
        features`` without ``--views``, "ssi" reads the view raw; this is logged.

    Raises
    ------
    BadInput
        There is no such model, or a name comes twice.
    """
    if not names or len(set(names)) < len(names):
        raise BadInput(f"models: {', '.join(names) or 'none'}; expected some names, each once.")
    models = []
    for name in names:
        if name != "ssi" and name not in MODELS:
            raise BadInput(f"no model {instead(name, ['ssi', *MODELS])}")
        settings = {"tuned": True} if name == Bm25.name else {}
        models.append(_ssi_on(task) if name == "ssi" else parse(MODELS[name], settings))
    return tuple(models)


def _ssi_on(task: Task | None) -> Model:
    model = SSI().ranker()
    if task is not None and (lacking := model.views() - {*task.data.documents.views}):
        names = ", ".join(sorted(lacking))
        logger.warning("task %s has no view %s; ssi reads raw", task.path, names)
        model = SSI(view="raw", diagonal_view="raw").ranker()
    return model


def gain(model: Estimator, task: Task, *, threads: int = 1) -> Comparison:
    """Measure a fitted model ``reranked`` on all candidates, beside its first stage.

    Parameters
    ----------
    model : Estimator
        What ``behind(...).fit(task)`` returned.
    task : Task
        The task that it was fitted on.
    """
    alone = [fitted_parts(fold)[0] for fold in model.folds_]
    first = Ranker(alone[0].model.name, **vars(alone[0].model)).take(task, alone, [])
    measures = ("map", "ndcg_at_10", "p_at_10")
    return compare(
        {FIRST: first, RERANKED: model}, task, measures=measures, baseline=FIRST, threads=threads
    )


class Reranker:
    r"""A ranker of (query, document) pairs by its name, with hyper-parameters.

    Parameters
    ----------
    ranker : str
        Name: ``"rankrls"``, ``"greedy_rankrls"``, ``"ranknet"``, ``"rankboost"``, ``"adarank"``,
        ``"coordinate_ascent"``, or ``"lambdamart"``, which needs LightGBM.
    **parameters
        Hyper-parameters of the ranker; the others have its defaults.

    Attributes
    ----------
    fitted_ : FittedReranker
        The trained ranker: its arrays, the features that it reads, its facts.

    Raises
    ------
    ValueError
        There is no such ranker, or a parameter is unknown or not allowed.

    Examples
    --------
    >>> from pathlib import Path
    >>> import ssi_core as ssi
    >>> cells = [(q, d) for q in range(5) for d in range(3)]
    >>> lines = [f"{d} qid:{q} 1:{d / 9 + q / 5} 2:{(d + q) % 2}" for q, d in cells]
    >>> _ = Path("pairs.txt").write_text("\n".join(lines))
    >>> pairs = ssi.read_letor("pairs.txt")
    >>> ranker = ssi.Reranker("greedy_rankrls", most=1).fit(pairs)
    >>> ranker.fitted_.facts["selected"]
    ['1']
    >>> ranker.measure(pairs)["letor_map"]
    1.0
    >>> ranker.save("reranker")
    >>> (ssi.Reranker.load("reranker").score(pairs) == ranker.score(pairs)).all()
    np.True_
    """

    fitted_: FittedReranker

    def __init__(self, ranker: str, **parameters: Any) -> None:
        self.ranker, self.parameters = ranker, parameters
        self._settings = reranker_named(ranker, parameters, "Reranker")

    def fit(self, train: PairFeatures, valid: PairFeatures | None = None) -> Self:
        """Train on the pairs of some queries.

        Parameters
        ----------
        train : PairFeatures
            What `read_letor` returned.
        valid : PairFeatures, optional
            Other queries, which choose settings and rounds.

        Raises
        ------
        BadInput
            There is no order to learn, or the features of the two are not the same.
        """
        for pairs in (train, valid):
            if not isinstance(pairs, PairFeatures | None):
                raise TypeError(f"{cut(repr(pairs))}: expected pairs. Read: ssi.read_letor(path)")
        self.fitted_ = self._settings.fit(train, valid)
        return self

    def behind(
        self,
        first: str | Estimator,
        *others: str | Estimator,
        depth: int = 100,
        queries: int = 1000,
        random_state: int = 0,
    ) -> Ranker:
        """Return a model to be fitted on a task: a first stage, and this ranker behind it.

        ``fit`` trains all models on the task, and then the ranker on what they say of the first
        documents of its queries. The model is searched, measured and saved as any other.

        Parameters
        ----------
        first : str or Estimator
            Model that ranks all documents: a name of a model, or an estimator with its settings.
        *others : str or Estimator
            Further models, whose scores are features, too.
        depth : int, optional
            Documents of a query that are put into another order.
        queries : int, optional
            Queries of a side at most that the ranker learns from.
        random_state : int, optional
            Seed of the trainings.

        Examples
        --------
        >>> import ssi_core as ssi
        >>> ssi.Reranker("rankrls").behind("bm25", ssi.SSI(dimensions=20), depth=50).ranker().depth
        50
        """
        models = [
            one.ranker() if isinstance(one, Estimator) else models_named([one])[0]
            for one in (first, *others)
        ]
        parts = tuple({"model": model.name, **asdict(model)} for model in models)
        return Ranker(
            "reranked",
            parts=parts,
            ranker=self.ranker,
            settings=self.parameters,
            depth=depth,
            queries=queries,
            random_state=random_state,
        )

    def score(self, pairs: PairFeatures) -> Float64:
        """Return a score for each pair.

        Parameters
        ----------
        pairs : PairFeatures
            Pairs with the features of the training.
        """
        return self._trained().score(pairs)

    def measure(self, pairs: PairFeatures) -> dict[str, float]:
        """Return the measures of LETOR 4.0, means over the queries.

        Parameters
        ----------
        pairs : PairFeatures
            Pairs with their grades.
        """
        return means(per_query(pairs, self.score(pairs)))

    def save(self, directory: str | Path) -> None:
        """Write the ranker to a directory, which ``ssi rank rerank score`` takes as a MODEL.

        Parameters
        ----------
        directory : str or Path
            Directory to write; a ranker that is there is replaced.
        """
        self._trained().save(directory)

    @classmethod
    def load(cls, directory: str | Path) -> Reranker:
        """Read a ranker that ``save`` has written.

        Parameters
        ----------
        directory : str or Path
            Directory of the ranker.
        """
        fitted = load_reranker(directory)
        ranker = cls(fitted.ranker.name, **vars(fitted.ranker))
        ranker.fitted_ = fitted
        return ranker

    def _trained(self) -> FittedReranker:
        if "fitted_" not in vars(self):
            raise BadInput(f"{self!r} is not fitted; call fit(pairs) first")
        return self.fitted_

    def __repr__(self) -> str:
        shown = [repr(self.ranker), *(f"{n}={v!r}" for n, v in self.parameters.items())]
        return f"Reranker({', '.join(shown)})"
