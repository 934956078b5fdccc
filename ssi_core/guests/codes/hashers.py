"""The table of contents: name -> hasher.

To add one: a class in a file of this folder and one line in `HASHERS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ssi_core.guests.codes.base import Hasher
from ssi_core.guests.codes.projections import (
    BinarisedLsi,
    CentredLsi,
    CoHashing,
    IterativeQuantisation,
    RandomPlanes,
    SpectralHashing,
)
from ssi_core.guests.codes.sth import KernelSelfTaught, SelfTaught, SupervisedSelfTaught
from ssi_core.strict import read_named

HASHERS: Mapping[str, type[Hasher]] = {
    hasher.name: hasher
    for hasher in (
        SelfTaught,  # Zhang et al. 2010
        SupervisedSelfTaught,  # Zhang et al. 2010, extensions
        KernelSelfTaught,  # the same
        BinarisedLsi,  # Deerwester et al. 1990
        CentredLsi,  # the same
        IterativeQuantisation,  # Gong and Lazebnik 2011
        CoHashing,  # Zhang et al. 2010, ECIR
        SpectralHashing,  # Weiss et al. 2008
        RandomPlanes,  # Charikar 2002
    )
}


def hasher_named(name: str, parameters: Mapping[str, Any], where: str) -> Hasher:
    """Build a hasher of its name and hyper-parameters.

    Raises
    ------
    BadInput
        There is no such hasher, or a parameter is unknown or out of bounds; the message begins
        with ``where``.
    """
    return read_named(HASHERS, "hasher", name, parameters, where)
