"""Describe the objectives of a training: each on a task, with a term and a weight.

A term here is ``f(q, d) = q' A' B d`` and names its two maps, A of queries and B of documents.
Terms that use one name share the array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError

from ssi_core.models.bounds import Positive
from ssi_core.types import BadInput, Task, Texts


class Maps(NamedTuple):
    """Names of the maps of a term of low rank: that of its queries, and that of its documents."""

    query: str
    document: str


@dataclass(frozen=True)
class Objective:
    """The margin ranking loss of a term on a task.

    Attributes
    ----------
    task : name of a further task (``task.also``); "": the task of the model itself
    term : `Maps`
    weight : its rate as a multiple of that of the first objective
    """

    task: str
    term: Maps
    weight: float = 1.0

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Objective:
        """Read ``task``, ``query``, ``document`` and ``weight``; ValueError says what is wrong."""
        values = dict(values)
        weight = values.pop("weight", 1.0)
        if set(values) != set(_NAMES) or not all(
            isinstance(value, str) and value for value in values.values()
        ):
            raise ValueError(
                f"an objective has {', '.join(_NAMES)} (names) and weight, not {values!r}"
            )
        try:
            _WEIGHT.validate_python(weight)
        except ValidationError:
            raise ValueError(f"weight={weight!r}; expected a number above 0") from None
        return cls(values["task"], Maps(values["query"], values["document"]), float(weight))

    def sides(self, task: Task) -> tuple[tuple[str, Texts], tuple[str, Texts]]:
        """Return each map's name with the texts of a task that it reads."""
        return (self.term.query, task.queries), (self.term.document, task.documents)


_NAMES = ("task", "query", "document")
_WEIGHT: TypeAdapter[float] = TypeAdapter(Positive)


def widths(objectives: Sequence[Objective], tasks: Sequence[Task], view: str) -> dict[str, int]:
    """Return how many words each map reads, in the order in which the objectives name them.

    Parameters
    ----------
    objectives, tasks : aligned
    view : that all maps read

    Raises
    ------
    BadInput
        A map would read texts whose columns mean different words.
    """
    words: dict[str, int] = {}
    spaces: dict[str, str] = {}
    for objective, task in zip(objectives, tasks, strict=True):
        for name, texts in objective.sides(task):
            space = texts.views[view].space
            if spaces.setdefault(name, space) != space:
                raise BadInput(
                    f"task {task.path}: the objective on {objective.task!r} lets {name!r} read "
                    f"other words than an objective before it: view {view!r} means {space[:12]} "
                    f"there and {spaces[name][:12]} here. Give it a map of its own."
                )
            words[name] = texts.matrix(view).shape[1]
    return words
