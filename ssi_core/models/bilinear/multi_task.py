"""``U_F' V_E`` learnt beside retrieval within each of the two languages (journal paper, 2.4.2).

A step for a query in another language, ``f(q_F, d_E) = q_F' (U_F' V_E) d_E`` (equation 9), then a
step of each further objective, which shares an array with it by its name::

    f(q_E, d_E) = q_E' (V_E' V_E) d_E      equation 10, on the links of the documents
    f(q_E, d_E) = q_E' (U_E' V_E) d_E      its other form
    f(q_F, d_F) = q_F' (U_F' U_F) d_F      the same for U_F, on the links of the queries
    f(q_F, d_F) = q_F' (U_F' V_F) d_F      its other form

so that both languages have a good latent space although few queries are known with their answers.
Queries are ranked by the first; ``U_E`` and ``V_F`` are not kept.

Within one language it learns several kinds of queries together (`tasks.auxiliary`): titles, anchors
and drawn words of the documents beside the task's own queries, with the same two maps and the same
diagonal. Validation, which ends the training and chooses the rate, is that of the task's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from ssi_core.bounds import Positive, Values
from ssi_core.models.bilinear.low_rank import LowRank
from ssi_core.models.bilinear.terms import Groups, Objective, Term
from ssi_core.tasks.translations import MONOLINGUAL


@dataclass(frozen=True)
class MultiTask(LowRank):
    """``U_F' V_E`` and further objectives that share ``V_E``, ``U_F`` or both.

    Parameters
    ----------
    auxiliary : tuple of str or mapping
        Further objectives, each a step after that of the model. ``task``: a further task
        (``task.auxiliary``); its name alone is enough. ``query``, ``document``: maps of its term,
        by default those of the model, ``U_F`` and ``V_E`` (the same if tied); any other name is a
        map that only these objectives share. ``weight``: multiple of the first rate, by default 1.
        Objectives share the diagonal, unless their queries and documents have other words.
    length : float or list of float or None
        As in ``bilinear``.
    storage : str
        As in ``bilinear``.
    adagrad : bool
        As in ``bilinear``.
    others
        See `LowRank`; ``pairs`` is a share of the model's own objective alone.
    """

    name: ClassVar[str] = "multi_task"
    diagonal: Literal["none", "identity", "alpha", "learned"] = "none"
    auxiliary: tuple[str | Mapping[str, Any], ...] = (
        {"task": MONOLINGUAL, "query": "V_E", "document": "V_E"},
    )
    length: Positive | Values[Positive] | None = None
    storage: Literal["float32", "float16"] = "float32"
    adagrad: bool = False

    def __post_init__(self) -> None:
        """Refuse objectives that are none, and maps that are not there to be shared."""
        super().__post_init__()
        tasks = [group[0].task for group in self.groups()]
        if len(tasks) < 2 or len(set(tasks)) < len(tasks):
            raise ValueError("auxiliary: expected at least one objective, each on another task")

    def groups(self) -> Groups:
        """Return the model's own objective and those beside it, which take turns."""
        term = self.term("U_F", "V_E")
        same = {"V_E": term.document}

        def further(values: str | Mapping[str, Any]) -> Objective:
            one = Objective.of(values, "U_F", "V_E")
            query, document = (same.get(name, name) for name in one.term[:2])
            return replace(one, term=Term(query, document, term.form, term.diagonal))

        return ((Objective("", term),), *((further(values),) for values in self.auxiliary))
