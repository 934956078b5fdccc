"""A directory with all that gives a text its code: words, hash function, codes of the texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ssi_core.arrays import ArraySpec
from ssi_core.estimator import Contents, Fitted, Format, Saved
from ssi_core.guests.codes.base import FittedHasher, Hasher
from ssi_core.guests.codes.hashers import HASHERS
from ssi_core.guests.codes.packed import BallIndex, Codes
from ssi_core.guests.codes.words import Words
from ssi_core.types import Int32


@dataclass(frozen=True)
class CodeModel(Fitted[Hasher]):
    """A fitted hasher with its words, and the identifiers of the texts that have codes.

    Attributes
    ----------
    words : Words
        Vocabulary and weights.
    fitted : FittedHasher
        Hash function, and the codes of the training texts.
    ids : tuple of str
        Identifier of each training text.
    """

    words: Words
    fitted: FittedHasher
    ids: tuple[str, ...]
    form: ClassVar[Format] = Format("codes", "codes.json", "Train it again.", names="hasher")
    kinds: ClassVar[Mapping[str, type[Hasher]]] = HASHERS

    @classmethod
    def of(
        cls,
        hasher: Hasher,
        texts: tuple[str, ...],
        labels: Int32 | None = None,
        ids: tuple[str, ...] | None = None,
    ) -> CodeModel:
        """Learn words and codes of texts.

        Parameters
        ----------
        hasher : Hasher
            Hyper-parameters.
        texts : tuple of str
            Training texts, which are also those that are searched.
        labels : int32 (texts,), optional
            Their classes, for a supervised hasher.
        ids : tuple of str, optional
            Their identifiers; else their numbers.
        """
        words = Words.of(texts)
        fitted = hasher.fit(words.rows(texts), labels)
        named = ids if ids is not None else tuple(map(str, range(len(texts))))
        return cls(words, fitted, named)

    def encode(self, texts: tuple[str, ...]) -> Codes:
        """Return the codes of texts by the hash function."""
        return self.fitted.encode(self.words.rows(texts))

    def knows(self, text: str) -> bool:
        """Tell whether a text has a word with a weight; the code of one without says nothing."""
        return bool(self.words.rows((text,)).nnz)

    def index(self) -> BallIndex:
        """Return the codes of the training texts as an index."""
        return BallIndex(self.fitted.codes, self.fitted.hasher.bits)

    def contents(self) -> Contents[Hasher]:
        """Return the hasher with the arrays of the words and of the codes."""
        fitted = self.fitted
        arrays = {"codes": fitted.codes, "idf": self.words.idf, **fitted.arrays}
        strings = {"stems": self.words.stems, "ids": self.ids}
        return Contents(fitted.hasher, arrays, {"facts": fitted.facts}, strings)

    @classmethod
    def restored(cls, saved: Saved[Hasher]) -> CodeModel:
        """Read words and hasher; the codes are those of as many texts as have an identifier."""
        hasher, (stems, ids) = saved.settings, saved.strings("stems", "ids")
        specs = {
            **hasher.array_specs({"texts": len(ids), "words": len(stems)}),
            "codes": ArraySpec("uint64", (len(ids), -(-hasher.bits // 64))),
            "idf": ArraySpec("float64", (len(stems),), least=0),
        }
        arrays = dict(saved.arrays(specs))
        codes, idf = arrays.pop("codes"), arrays.pop("idf")
        return cls(
            Words(stems, idf), FittedHasher(hasher, arrays, codes, saved.facts["facts"]), ids
        )
