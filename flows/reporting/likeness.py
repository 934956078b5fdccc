"""Tell whether two rows of a table are compared like with like.

A claim is about models. It is not like with like

- where the rows read different words: a row reads what the widest of its views reads, that of its
  diagonal included, so many of the most frequent words and so many of the heaviest of a text;
- where a row adds hashed words to a model, and the other row is that model on another view: such a
  claim would be about the view as much as about the hashing.

How counts are weighted, and into what language a query was rewritten, belong to the models.

A table may have a row once more on other words (`Row.like`). A claim that is not like with like is
then tested on such rows: a dense W, which reads 100 words of a text, against the ``U'V + I`` that
reads the same 100.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product

from ssi_core.experiment.tables import Row
from ssi_core.models.base import Model
from ssi_core.models.combined.mixture import Mixture
from ssi_core.types import BadInput
from ssi_core.views.hashing import Hashing, parse_view
from ssi_core.views.rewriting import Rewriting


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
        return ""  # of another version, some of whose parameters are not known here
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


def compared(above: str, below: str, rows: Sequence[Row]) -> tuple[Row, Row] | None:
    """Choose the rows that a claim is tested on: its own, or those that stand in their places.

    Of the pairs that are like with like it is the one with the fewest stand-ins, then the first of
    the table; where there is no such pair, the claim's own rows. None: these are not there either.

    Parameters
    ----------
    above, below : str
        Labels that the claim names.
    rows : sequence of Row
        Those of the table to choose from.
    """
    one, other = ([r for r in rows if label in (r.label, r.like)] for label in (above, below))
    pairs = sorted(
        ((a, b) for a, b in product(one, other) if a is not b),
        key=lambda pair: (pair[0].label != above) + (pair[1].label != below),
    )
    named = [(a, b) for a, b in pairs if (a.label, b.label) == (above, below)]
    return next(chain((pair for pair in pairs if not unlikeness(*pair)), named), None)


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
    """Return the model without hashed words, and whether the row adds any."""
    if isinstance(ranker, Mixture):
        first, second = ranker.models()
        if any(view.startswith("cfh:") for view in second.views()):
            return first, True
    return ranker, False
