"""Learning to rank in Python: files of LETOR, and each ranker of pairs by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from ssi_core.reranking.base import FittedReranker
from ssi_core.reranking.measures import means, per_query
from ssi_core.reranking.pairs import PairFeatures
from ssi_core.reranking.rankers import load_reranker, reranker_named
from ssi_core.types import BadInput, Float64


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
        self.fitted_ = self._settings.fit(train, valid)
        return self

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
        """Write the ranker to a directory, which ``ssi rerank score`` takes as a MODEL.

        Parameters
        ----------
        directory : str or Path
            Directory to write; a ranker that is there is replaced.
        """
        self._trained().save(Path(directory))

    @classmethod
    def load(cls, directory: str | Path) -> Reranker:
        """Read a ranker that ``save`` has written.

        Parameters
        ----------
        directory : str or Path
            Directory of the ranker.
        """
        fitted = load_reranker(Path(directory))
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
