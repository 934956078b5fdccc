"""Binary codes in Python: each hasher by its name, and search in a Hamming ball."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from ssi_core.guests.codes.hashers import hasher_named
from ssi_core.guests.codes.model import CodeModel
from ssi_core.guests.codes.packed import BallIndex, Codes
from ssi_core.strict import cut, whole
from ssi_core.types import BadInput


class Hasher:
    r"""A method that gives texts binary codes, by its name, with hyper-parameters.

    Parameters
    ----------
    method : str
        Name: ``"sth"``, ``"sths"``, which needs labels, ``"kernel_sth"``, ``"lsi"``, ``"lch"``,
        ``"spectral"`` or ``"lsh"``.
    **parameters
        Hyper-parameters, such as ``bits``; the others have the defaults of the method.

    Attributes
    ----------
    model_ : CodeModel
        The words, the hash function, and the codes of the training texts.

    Raises
    ------
    ValueError
        There is no such method, or a parameter is unknown or not allowed.

    Examples
    --------
    >>> import ssi_core as ssi
    >>> texts = ["cats purr", "a cat purrs softly", "ships sail", "a ship sails the sea"] * 5
    >>> hasher = ssi.Hasher("lsi", bits=2).fit(texts)
    >>> hasher.encode(["the cats"]).shape
    (1, 1)
    >>> near = hasher.search("purring cat", radius=0)
    >>> {texts[number].split()[-1] for number in near} <= {"purr", "softly"}
    True
    >>> hasher.save("codes")
    >>> ssi.Hasher.load("codes").search("purring cat", radius=0) == near
    True
    """

    model_: CodeModel

    def __init__(self, method: str, **parameters: Any) -> None:
        self.method, self.parameters = method, parameters
        self._settings = hasher_named(method, parameters, "Hasher")
        self._index: BallIndex | None = None

    def fit(self, texts: Sequence[str], labels: Sequence[str] | None = None) -> Self:
        """Learn words and codes of texts.

        Parameters
        ----------
        texts : sequence of str
            Training texts, which are also those that ``search`` finds.
        labels : sequence of str, optional
            Their classes, for ``"sths"``.

        Raises
        ------
        BadInput
            There are too few texts for the bits, or labels are missing.
        """
        numbers = None
        if labels is not None:
            numbers = np.unique(np.array(labels), return_inverse=True)[1].astype(np.int32)
        self.model_ = CodeModel.of(self._settings, _listed(texts), numbers)
        self._index = None
        return self

    def encode(self, texts: Sequence[str]) -> Codes:
        """Return the codes of texts, uint64 (texts, words); bit i is bit i % 64 of word i // 64.

        Parameters
        ----------
        texts : sequence of str
            Any texts.
        """
        return self._trained().encode(_listed(texts))

    def search(self, text: str, radius: int = 1) -> list[int]:
        """Return the numbers of training texts in the Hamming ball of a text, the nearest first.

        A text without a word that the training texts have, and that tells them apart, finds none.

        Parameters
        ----------
        text : str
            Any text.
        radius : int
            Largest number of bits that differ.
        """
        model, radius = self._trained(), whole("radius", radius, 0)
        if not model.knows(*_listed([text])):
            return []
        if self._index is None:
            self._index = model.index()
        rows: list[int] = self._index.search(model.encode((text,))[0], radius).tolist()
        return rows

    def save(self, directory: str | Path) -> None:
        """Write the codes to a directory, which ``ssi rank codes search`` takes as a MODEL.

        Parameters
        ----------
        directory : str or Path
            Directory to write; codes that are there are replaced.
        """
        self._trained().save(directory)

    @classmethod
    def load(cls, directory: str | Path) -> Hasher:
        """Read codes that ``save`` or ``ssi rank codes fit`` has written.

        Parameters
        ----------
        directory : str or Path
            Directory of the codes.
        """
        model = CodeModel.load(directory)
        hasher = cls(model.fitted.hasher.name, **vars(model.fitted.hasher))
        hasher.model_ = model
        return hasher

    def _trained(self) -> CodeModel:
        if "model_" not in vars(self):
            raise BadInput(f"{self!r} is not fitted; call fit(texts) first")
        return self.model_

    def __repr__(self) -> str:
        shown = [repr(self.method), *(f"{n}={v!r}" for n, v in self.parameters.items())]
        return f"Hasher({', '.join(shown)})"


def _listed(texts: Iterable[str]) -> tuple[str, ...]:
    """Return texts as a tuple; a text alone would be one text for each of its letters."""
    if isinstance(texts, str):
        raise TypeError(f"{cut(repr(texts))}: a text alone, expected a list of texts")
    listed = tuple(texts)
    for number, text in enumerate(listed):
        if not isinstance(text, str):
            raise TypeError(f"text {number}: {cut(repr(text))} is no text")
    return listed
