"""Profiles of users in Python: what tells a user from all others, over a log of clicks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from ssi_core.collection import open_collection
from ssi_core.guests.profiles.events import Level, read_events
from ssi_core.guests.profiles.model import ProfileModel
from ssi_core.guests.profiles.profiler import Profiler
from ssi_core.strict import read
from ssi_core.types import BadInput


class Profiles:
    r"""Profiles of the users of a log of clicks, and of clusters of them.

    Parameters
    ----------
    tokens : sequence of str, optional
        What a token names: some of ``"texts"``, ``"labels"``, ``"words"``; by default texts, and
        labels where documents have some.
    **parameters
        Hyper-parameters, such as ``clusters``; the others have their defaults.

    Attributes
    ----------
    model_ : ProfileModel
        Tokens, users, distributions and clusters.

    Raises
    ------
    BadInput
        A parameter is unknown or not allowed.
    """

    model_: ProfileModel

    def __init__(self, tokens: Sequence[Level] | None = None, **parameters: Any) -> None:
        self.tokens, self.parameters = tokens, parameters
        self._profiler = read(Profiler, parameters, "Profiles")

    def fit(self, collection: str | Path) -> Self:
        """Learn the profiles of all users of a log.

        Parameters
        ----------
        collection : str or Path
            Directory of a collection with impressions, as ``ssi data ingest clicks`` makes it.

        Raises
        ------
        BadInput
            No click has a user and a time, or there are fewer users than clusters.
        """
        events = read_events(open_collection(collection), self.tokens)
        self.model_ = ProfileModel.of(events, self._profiler)
        return self

    def user(self, name: str) -> dict[str, Any]:
        """Return a user's cluster and tokens, the tokens with count and bits.

        Parameters
        ----------
        name : str
            The user, as the log names it.
        """
        return self._trained().user(name)

    def cluster(self, number: int) -> dict[str, Any]:
        """Return a cluster's share of the users and its tokens, with their bits.

        Parameters
        ----------
        number : int
            The cluster, from 0 on.
        """
        return self._trained().cluster(number)

    def save(self, directory: str | Path) -> None:
        """Write the profiles to a directory, which ``ssi rank profiles show`` takes as a MODEL.

        Parameters
        ----------
        directory : str or Path
            Directory to write; profiles that are there are replaced.
        """
        self._trained().save(directory)

    @classmethod
    def load(cls, directory: str | Path) -> Profiles:
        """Read profiles that ``save`` or ``ssi rank profiles fit`` has written.

        Parameters
        ----------
        directory : str or Path
            Directory of the profiles.
        """
        model = ProfileModel.load(directory)
        profiles = cls(**vars(model.fitted.profiler))
        profiles.model_ = model
        return profiles

    def _trained(self) -> ProfileModel:
        if "model_" not in vars(self):
            raise BadInput(f"{self!r} is not fitted; call fit(collection) first")
        return self.model_

    def __repr__(self) -> str:
        shown = [f"{n}={v!r}" for n, v in self.parameters.items()]
        return f"Profiles({', '.join(shown)})"
