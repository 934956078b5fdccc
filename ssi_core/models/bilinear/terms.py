"""Describe what a model learns: terms of its score, and objectives of its training, as values.

A term is ``f(q, d) = sum_i diag_i q_i d_i + q' A' B d`` and names its two maps, A of queries and B
of documents. Terms that use one name share the array.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from pydantic import TypeAdapter, ValidationError

from ssi_core.bounds import Positive


class Term(NamedTuple):
    """A term of a score.

    Attributes
    ----------
    query, document : str
        Names of its maps.
    form : str
        Key of `kernels.training.forms.FORMS`; "zero" has no maps, in "per_document" the map of
        documents has a row for each document in the place of each word.
    diagonal : str
        Key of `kernels.training.forms.DIAGONALS`.
    """

    query: str
    document: str
    form: str = "low_rank"
    diagonal: str = "none"


@dataclass(frozen=True)
class Objective:
    """The margin ranking loss of a term on a task.

    Attributes
    ----------
    task : str
        Name of a further task (``task.auxiliary``); "": the task of the model itself.
    term : `Term`
        Maps of queries and documents, and the diagonal.
    weight : float
        Its rate as a multiple of that of the first objective.
    """

    task: str
    term: Term
    weight: float = 1.0

    @classmethod
    def of(cls, values: str | Mapping[str, Any], query: str, document: str) -> Objective:
        """Read an objective beside the model's own; ValueError says what is wrong.

        Parameters
        ----------
        values : str or mapping
            ``task``, and perhaps ``query``, ``document`` and ``weight``; or the task alone.
        query, document : str
            Maps of an objective that names none.
        """
        given = {"task": values} if isinstance(values, str) else dict(values)
        weight = given.pop("weight", 1.0)
        names = {"task": "", "query": query, "document": document} | given
        if len(names) > 3 or not all(isinstance(name, str) and name for name in names.values()):
            raise ValueError(
                "an objective has task, query, document (names) and weight, not "
                f"{values!r}; only the task is needed"
            )
        try:
            _WEIGHT.validate_python(weight)
        except ValidationError:
            raise ValueError(f"weight={weight!r}; expected a number above 0") from None
        return cls(names["task"], Term(names["query"], names["document"]), float(weight))


_WEIGHT: TypeAdapter[float] = TypeAdapter(Positive)

Groups: TypeAlias = tuple[tuple[Objective, ...], ...]
"""Objectives of one group share a triple and step together; groups take turns."""
