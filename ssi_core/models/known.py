"""Documents that a model knows by id and title, whatever collection they come in."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from ssi_core.types import Texts


def fingerprints(texts: Texts) -> NDArray[np.uint64]:
    """Return 64 bits of each text's id and title, uint64 (n,).

    A text of another corpus that happens to have the same id is another text.
    """
    digests = b"".join(
        hashlib.blake2b(f"{id_}\0{title}".encode(), digest_size=8).digest()
        for id_, title in zip(texts.ids, texts.titles, strict=True)
    )
    return np.frombuffer(digests, "<u8").astype(np.uint64)


def rows_of(texts: Texts, known: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the place of each text among ascending fingerprints, and which texts have one."""
    keys = fingerprints(texts)
    if len(known) == 0:
        return np.zeros(len(keys), np.intp), np.zeros(len(keys), np.bool_)
    positions = np.searchsorted(known, keys).clip(max=len(known) - 1)
    present: NDArray[np.bool_] = known[positions] == keys
    return positions, present
