"""Texts with one class each, divided by their publisher into a training and a test side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from ssi_core.types import BadInput, Int32

SideName: TypeAlias = Literal["train", "test"]


@dataclass(frozen=True)
class LabelledSide:
    """Texts of one side.

    Attributes
    ----------
    ids : tuple of str
        Identifiers, each once.
    texts : tuple of str
        A text for each identifier.
    labels : int32 (texts,)
        Number of the class of each text.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    labels: Int32

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class LabelledTexts:
    """A labelled collection with given sides.

    Attributes
    ----------
    name : str
        Name of the collection.
    classes : tuple of str
        Names of the classes, sorted; a label is a place in them.
    train, test : LabelledSide
        The two sides.
    """

    name: str
    classes: tuple[str, ...]
    train: LabelledSide
    test: LabelledSide


@dataclass(frozen=True)
class LabelledText:
    """A text as a reader yields it.

    Attributes
    ----------
    id : str
        Identifier.
    text : str
        Content to be hashed.
    label : str
        Its class.
    side : "train" or "test"
        Part of the data that the text belongs to.
    """

    id: str
    text: str
    label: str
    side: SideName


def collect(name: str, rows: Iterable[LabelledText], where: str) -> LabelledTexts:
    """Put texts into sides, in their order, and number their classes.

    Raises
    ------
    BadInput
        A side is empty, there is one class alone, an identifier is on a side twice, or a class of
        the test side has no training text; the message begins with ``where``.
    """
    sides: dict[str, list[LabelledText]] = {"train": [], "test": []}
    for row in rows:
        sides[row.side].append(row)
    for side, texts in sides.items():
        if not texts:
            raise BadInput(f"{where}: the {side} side has no text. Give both sides texts.")
        seen: set[str] = set()
        for one in texts:
            if one.id in seen:
                raise BadInput(f"{where}: {one.id!r} is twice on the {side} side. Remove one.")
            seen.add(one.id)
    classes = sorted({one.label for one in sides["train"]})
    if len(classes) < 2:
        raise BadInput(f"{where}: all training texts are of one class. Give two classes or more.")
    number = {label: position for position, label in enumerate(classes)}
    for one in sides["test"]:
        if one.label not in number:
            raise BadInput(
                f"{where}: {one.id!r} of the test side has the class {one.label!r}, which no "
                "training text has. Give it training texts, or leave it out."
            )
    return LabelledTexts(
        name, tuple(classes), *(_side(sides[side], number) for side in ("train", "test"))
    )


def _side(texts: list[LabelledText], number: dict[str, int]) -> LabelledSide:
    labels = np.array([number[one.label] for one in texts], np.int32)
    return LabelledSide(tuple(one.id for one in texts), tuple(one.text for one in texts), labels)
