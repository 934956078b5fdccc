"""Tell whether two rows of a table are compared like with like.

A claim is about models. It is not like with like

- where the rows read different words: a row reads what the widest of its views reads, that of its
  diagonal included, so many of the most frequent words and so many of the heaviest of a text;
- where a row adds hashed words to a model, and the other row is that model on another view: such a
  claim would be about the view as much as about the hashing.

How counts are weighted, and into what language a query was rewritten, belong to the models.
"""

from __future__ import annotations

from dataclasses import dataclass

from ssi_core.experiment.tables import Row
from ssi_core.features.hashing import Hashing, parse_view
from ssi_core.features.rewriting import Rewriting
from ssi_core.models.base import Model
from ssi_core.models.mixture import Mixture
from ssi_core.types import BadInput


@dataclass(frozen=True)
class Words:
    """Words that a row reads: the most frequent ones, and the heaviest of a text; None: all."""

    frequent: int | None
    heaviest: int | None

    def __str__(self) -> str:
        frequent = "" if self.frequent is None else f"the {self.frequent:,} most frequent words"
        if self.heaviest is None:
            return frequent or "all words"
        return f"the {self.heaviest:,} heaviest of {frequent or 'all words'}"


def unlikeness(first: Row, second: Row) -> str:
    """Return why a claim between two rows is not like with like; "" where it is."""
    try:
        rankers = first.ranker(), second.ranker()
    except BadInput:
        return ""  # of an earlier version, whose parameters are not known any more
    words = [_words(ranker) for ranker in rankers]
    if words[0] != words[1]:
        one, other = sorted(map(str, words))
        return f"one row reads {one}, the other {other}"
    bases = [_base(ranker) for ranker in rankers]
    if any(hashes for _, hashes in bases) and type(bases[0][0]) is type(bases[1][0]):
        one, other = sorted(str(getattr(base, "view", "")) for base, _ in bases)
        if one != other:
            return f"hashed words are added to one, and their models read {one} and {other}"
    return ""


def _words(ranker: Model) -> Words:
    frequent: list[int | None] = []
    heaviest: list[int | None] = []
    for name in ranker.views():
        view = parse_view(name)
        # Hashed words are those that the frequent ones leave.
        weighting = view.weighting if isinstance(view, Hashing | Rewriting) else view
        frequent.append(None if isinstance(view, Hashing) else weighting.words)
        heaviest.append(weighting.cut)
    return Words(_widest(frequent), _widest(heaviest))


def _widest(numbers: list[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return max(known) if known and len(known) == len(numbers) else None


def _base(ranker: Model) -> tuple[Model, bool]:
    """Return the model that a row adds hashed words to, and True; else the row's own model."""
    if isinstance(ranker, Mixture):
        first, second = ranker.models()
        if any(view.startswith("cfh:") for view in second.views()):
            return first, True
    return ranker, False
