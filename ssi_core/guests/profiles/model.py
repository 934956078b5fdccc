"""A directory with the profiles of users and of clusters, as arrays and tables without a pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy import sparse

from ssi_core.arrays import CSR_PARTS, csr_specs
from ssi_core.estimator import Contents, Fitted, Format, Saved
from ssi_core.guests.profiles.events import Events
from ssi_core.guests.profiles.profiler import FittedProfiler, Profiler
from ssi_core.guests.profiles.sides import counts_of
from ssi_core.strict import instead
from ssi_core.types import BadInput

_ARRAYS = ("common", "theta", "share")


@dataclass(frozen=True)
class ProfileModel(Fitted[Profiler]):
    """Fitted profiles with the names of tokens and users.

    Attributes
    ----------
    tokens, users : tuple of str
        Names of the columns and of the rows of ``counts``.
    fitted : FittedProfiler
        Distributions and clusters.
    counts : CSR float64 (users, tokens)
        How often each user did what a token names.
    """

    tokens: tuple[str, ...]
    users: tuple[str, ...]
    fitted: FittedProfiler
    counts: sparse.csr_array
    form: ClassVar[Format] = Format(
        "profiles", "profiles.json", "Make it again with 'ssi rank profiles fit'."
    )
    kinds: ClassVar[Mapping[str, type[Profiler]]] = {Profiler.name: Profiler}

    @classmethod
    def of(cls, events: Events, profiler: Profiler, *, least_users: int = 3) -> ProfileModel:
        """Learn profiles of all users from all of their actions.

        Parameters
        ----------
        events : Events
            Actions of users.
        profiler : Profiler
            Hyper-parameters.
        least_users : int
            A token is kept where so many users have it.

        Raises
        ------
        BadInput
            No token is left, or there are fewer users than clusters.
        """
        users = events.tokens.select("user", "token").unique().group_by("token").len()
        tokens = tuple(users.filter(pl.col("len") >= least_users)["token"].sort().to_list())
        if not tokens:
            raise BadInput(f"{events.name}: no token is of {least_users} users. Give more clicks.")
        kept = events.tokens.filter(pl.col("token").is_in(tokens))
        names = tuple(kept["user"].unique().sort().to_list())
        counts = counts_of(kept, names, tokens)
        return cls(tokens, names, profiler.fit(counts), counts)

    def user(self, name: str) -> dict[str, Any]:
        """Return a user's cluster and tokens: name, count, and the bits that each contributes.

        Raises
        ------
        BadInput
            There is no such user.
        """
        if name not in self.users:
            raise BadInput(f"no user {instead(name, self.users)}")
        counts = self.counts[[self.users.index(name)]]
        profiles = self.fitted.profile(counts)
        often = counts.toarray()[0]
        parts = {"against_all": profiles.bits_all, "against_cluster": profiles.bits_cluster}
        return {
            "user": name,
            "cluster": int(profiles.cluster[0]),
            **{part: self._tokens(bits.toarray()[0], often) for part, bits in parts.items()},
        }

    def cluster(self, number: int) -> dict[str, Any]:
        """Return a cluster's share of the users and its tokens, with the bits of each.

        Raises
        ------
        BadInput
            There is no such cluster.
        """
        clusters = len(self.fitted.share)
        if not 0 <= number < clusters:
            raise BadInput(f"no cluster {number}; there are 0 to {clusters - 1}")
        return {
            "cluster": number,
            "share": float(self.fitted.share[number]),
            "tokens": self._tokens(self.fitted.bits[number]),
        }

    def _tokens(self, bits: Any, often: Any = None) -> list[dict[str, Any]]:
        order = [offset for offset in np.argsort(-bits, kind="stable") if bits[offset] > 0]
        rows = [{"token": self.tokens[offset], "bits": float(bits[offset])} for offset in order]
        for row, position in zip(rows, order if often is not None else (), strict=False):
            row["count"] = int(often[position])
        return rows

    def contents(self) -> Contents[Profiler]:
        """Return the distributions and the counts, with the names of users and tokens."""
        arrays = {name: getattr(self.fitted, name) for name in _ARRAYS}
        arrays |= {name: getattr(self.counts, name) for name in CSR_PARTS}
        strings = {"tokens": self.tokens, "users": self.users}
        return Contents(self.fitted.profiler, arrays, strings=strings)

    @classmethod
    def restored(cls, saved: Saved[Profiler]) -> ProfileModel:
        """Read the distributions, and the counts of as many users and tokens as have a name."""
        profiler, (tokens, users) = saved.settings, saved.strings("tokens", "users")
        shape = len(users), len(tokens)
        specs = profiler.array_specs({"tokens": len(tokens)})
        arrays = saved.arrays({**specs, **csr_specs(*shape, CSR_PARTS, "float64")})
        fitted = FittedProfiler.of(profiler, *(arrays[name] for name in _ARRAYS))
        indptr, indices, data = (arrays[name] for name in CSR_PARTS)
        return cls(tokens, users, fitted, sparse.csr_array((data, indices, indptr), shape=shape))
