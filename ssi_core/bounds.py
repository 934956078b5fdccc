"""Bounds of hyper-parameters, stated beside the fields and checked when a model is built.

They refuse what no training could follow (NaN, a rate below zero) and what can only be a slip of
the pen (a rate of 1e300, 10^12 dimensions), in Python as in a table. Whether a model fits into
memory is asked later, where the size of the task is known.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import BeforeValidator, Field

from ssi_core.strict import measure_key

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
Times: TypeAlias = Annotated[int, Field(ge=0, le=100)]
"""Number of repetitions, or 0 for none."""
Dimensions: TypeAlias = Annotated[int, Field(ge=1, le=10**6)]
"""Rank of a map."""
Tries: TypeAlias = Annotated[int, Field(ge=1, le=10**6)]
"""Number of trials for one step, or of documents that are looked at for one query."""
Batch: TypeAlias = Annotated[int, Field(ge=2, le=10**5)]
"""Pairs that are told from each other."""

Mean: TypeAlias = Annotated[Literal["map", "ndcg_at_10", "mrr"], BeforeValidator(measure_key)]
"""A mean over queries that settings are chosen by."""
MeanOrLoss: TypeAlias = Annotated[
    Literal["rank_loss", "map", "mrr", "ndcg_at_10"], BeforeValidator(measure_key)
]
"""What a training is stopped by."""

T = TypeVar("T")
Values: TypeAlias = Annotated[tuple[T, ...], Field(min_length=1)]
"""Some of a kind, to choose from."""
