"""Base of the hashers: hyper-parameters as a frozen dataclass, and the fitted hasher."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, TypeAlias

import numpy as np
from pydantic import Field
from scipy import sparse

from ssi_core.estimator import Arrays, Estimator
from ssi_core.guests.codes.packed import Bits, Codes, pack, unpack
from ssi_core.types import BadInput, Float64, Int32

Length: TypeAlias = Annotated[int, Field(ge=1, le=1024)]
"""Bits of a code."""
Seed: TypeAlias = Annotated[int, Field(ge=0, le=2**63 - 1)]
"""Seed of every random choice."""
Neighbours: TypeAlias = Annotated[int, Field(ge=1, le=10_000)]
"""Neighbours of a text in a graph."""


@dataclass(frozen=True)
class Hasher(Estimator):
    """Base of the hyper-parameter dataclasses; a subclass gives ``learn`` and ``decide``.

    Sizes of ``array_specs`` are the numbers of training "texts" and of "words".

    Parameters
    ----------
    bits : int
        Length of a code.
    seed : int
        Seed of every random choice.
    """

    noun: ClassVar[str] = "hasher"
    nested: ClassVar[bool] = True
    """The first bits of a longer code are the shorter code."""
    supervised: ClassVar[bool] = False
    """It learns from the classes of the training texts."""
    bits: Length = 16
    seed: Seed = 0

    def fit(self, rows: sparse.csr_array, labels: Int32 | None = None) -> FittedHasher:
        """Learn codes of rows, and the function that gives other rows their codes.

        Parameters
        ----------
        rows : CSR (n, D)
            Vectors of the training texts.
        labels : int32 (n,), optional
            Their classes, which a supervised hasher needs and others do not read.

        Raises
        ------
        BadInput
            There are too few rows for the bits, or no labels.
        """
        rows = as_rows(rows)
        if self.supervised and labels is None:
            raise BadInput(f"{self.name}: it learns from classes. Give each training text a label.")
        if labels is not None and len(labels) != rows.shape[0]:
            raise BadInput(
                f"{self.name}: {rows.shape[0]} texts have {len(labels)} labels. Give one each."
            )
        arrays, bits, facts = self.learn(rows, labels, np.random.default_rng(self.seed))
        return FittedHasher(self, arrays, pack(bits), facts)

    def learn(
        self, rows: sparse.csr_array, labels: Int32 | None, rng: np.random.Generator
    ) -> tuple[Arrays, Bits, dict[str, Any]]:
        """Return the arrays of the hash function, the bits of the rows, and facts."""
        raise TypeError(f"{type(self).__name__} does not learn")

    def decide(self, arrays: Arrays, rows: sparse.csr_array) -> Float64:
        """Return a value for each bit of each row; the bit is on where it is above 0."""
        raise TypeError(f"{type(self).__name__} does not decide")

    def first(self, arrays: Arrays, bits: int) -> Arrays:
        """Return the arrays of the first bits: columns of each array, as far as they have some."""
        return {name: array[..., :bits] for name, array in arrays.items()}


@dataclass(frozen=True)
class FittedHasher:
    """A hash function, and the codes of the texts that it was learnt from.

    Attributes
    ----------
    hasher : Hasher
        Hyper-parameters.
    arrays : Arrays
        Name -> array.
    codes : uint64 (n, words)
        Codes of the training texts.
    facts : dict
        Numbers that the training measured.
    """

    hasher: Hasher
    arrays: Arrays
    codes: Codes
    facts: dict[str, Any] = field(default_factory=dict)

    def encode(self, rows: sparse.csr_array) -> Codes:
        """Return the codes of rows by the hash function, uint64 (n, words).

        Parameters
        ----------
        rows : CSR (n, D)
            Vectors of texts, in the columns of the training.
        """
        values = self.hasher.decide(self.arrays, as_rows(rows))
        return pack(values > 0)

    def shortened(self, bits: int) -> FittedHasher:
        """Return the hasher of the first bits, which for a nested one is that of a new training.

        Raises
        ------
        ValueError
            Its first bits are no shorter code, or there are fewer.
        """
        if not self.hasher.nested or bits > self.hasher.bits:
            raise ValueError(f"bits={bits}: {self.hasher} has no code of so many first bits")
        codes = pack(unpack(self.codes, bits))
        arrays = self.hasher.first(self.arrays, bits)
        return FittedHasher(replace(self.hasher, bits=bits), arrays, codes, self.facts)


def as_rows(rows: Any) -> sparse.csr_array:
    """Return rows as CSR of float64; an array is taken as it is."""
    return sparse.csr_array(rows, dtype=np.float64)
