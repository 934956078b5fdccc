"""Bounds of hyper-parameters, stated beside the fields and checked when a model is built.

They refuse what no training could follow (NaN, a rate below zero) and what can only be a slip of
the pen (a rate of 1e300, 10^12 dimensions), in Python as in a table. Whether a model fits into
memory is asked later, where the size of the task is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Annotated, Any, TypeAlias, TypeVar, get_type_hints

from pydantic import Field, TypeAdapter, ValidationError

Rate: TypeAlias = Annotated[float, Field(ge=1e-30, le=1e6, allow_inf_nan=False)]
"""A learning rate; a smaller one is zero in float32."""
RateOrNone: TypeAlias = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
"""A learning rate of a part of the parameters; 0 keeps them as they are."""
Spread: TypeAlias = Annotated[float, Field(ge=1e-9, le=1e3, allow_inf_nan=False)]
"""A standard deviation: with 0, U and V never leave the start."""
Weight: TypeAlias = Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]
"""A factor of a part of the score or of the loss; 0 leaves it out."""
Positive: TypeAlias = Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)]
"""A number that is divided by, or that means nothing at 0."""
Share: TypeAlias = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""A part of a whole, all of it and none of it included."""
Part: TypeAlias = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
"""A part of a whole, and not nothing."""
Mixed: TypeAlias = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
"""A part of a whole, neither nothing nor all of it."""

Prior: TypeAlias = Annotated[float, Field(gt=1, le=1e6, allow_inf_nan=False)]
"""Concentration of a Dirichlet prior whose most likely value has no zero."""

Triples: TypeAlias = Annotated[int, Field(ge=1, le=10**11)]
"""Triples of a training: the most take more than a day."""
Count: TypeAlias = Annotated[int, Field(ge=1, le=10**9)]
"""Number of queries, validations or weights."""
Dimensions: TypeAlias = Annotated[int, Field(ge=1, le=10**6)]
"""Rank of a map."""
Tries: TypeAlias = Annotated[int, Field(ge=1, le=10**6)]
"""Number of trials for one step, or of documents that are looked at for one query."""
Batch: TypeAlias = Annotated[int, Field(ge=2, le=10**5)]
"""Pairs that are told from each other."""

T = TypeVar("T")
Values: TypeAlias = Annotated[tuple[T, ...], Field(min_length=1)]
"""Some of a kind, to choose from."""


def check(model: object) -> None:
    """Refuse values of a dataclass that are outside of the bounds of its fields.

    Raises
    ------
    ValueError
        Names the first such field, its value, and what was expected.
    """
    kind: Any = type(model)
    for name, adapter in _adapters(kind).items():
        value = getattr(model, name)
        try:
            adapter.validate_python(value, strict=True)
        except ValidationError as error:
            raise ValueError(f"{name}={value!r}; {_expected(error)}") from None


@cache
def _adapters(kind: type) -> Mapping[str, TypeAdapter[Any]]:
    hints = get_type_hints(kind, include_extras=True)
    return {f.name: TypeAdapter(hints[f.name]) for f in fields(kind)}


_LIMITS = {"ge": "at least", "gt": "more than", "le": "at most", "lt": "less than"}


def _expected(error: ValidationError) -> str:
    """Say in a few words what was expected, of a list also at which place."""
    problems = error.errors(include_url=False, include_input=False)
    # Of "a number or a list of such", what is wrong with the kind that came.
    problem = next((p for p in problems if not p["type"].endswith("_type")), problems[0])
    words = problem["msg"].replace("Input should be a valid", "expected a")
    words = words.replace("Input should be", "expected")
    for limit, name in _LIMITS.items():
        if limit in problem.get("ctx", {}):
            words = f"expected {name} {problem['ctx'][limit]:g}"
    if problem["type"] == "too_short":
        words = "expected at least one"
    place = next((at for at in problem["loc"] if isinstance(at, int)), None)
    return words if place is None else f"number {place + 1}: {words}"
