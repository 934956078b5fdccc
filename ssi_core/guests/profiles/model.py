"""A directory with the profiles of users and of clusters, as arrays and tables without a pickle."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from ssi_core import files, integrity
from ssi_core.arrays import ArraySpec, ArraySpecs, check_arrays, csr_specs, load_array
from ssi_core.guests.profiles.events import Events
from ssi_core.guests.profiles.profiler import FittedProfiler, Profiler
from ssi_core.guests.profiles.sides import counts_of
from ssi_core.strict import converted, instead
from ssi_core.types import BadInput

FORMAT = 1
_MANIFEST = "profiles.json"
_AGAIN = "Make it again with 'ssi rank profiles fit'."
_ARRAYS = ("common", "theta", "share")
_COUNTS = ("data", "indices", "indptr")


@dataclass(frozen=True)
class ProfileModel:
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
        order = [place for place in np.argsort(-bits, kind="stable") if bits[place] > 0]
        rows = [{"token": self.tokens[place], "bits": float(bits[place])} for place in order]
        for row, place in zip(rows, order if often is not None else (), strict=False):
            row["count"] = int(often[place])
        return rows

    def save(self, directory: Path) -> None:
        """Write a directory of ``.npy`` arrays, names and a manifest; never a pickle.

        Raises
        ------
        Refused
            The directory holds something else, or cannot be written.
        """
        with files.replacing(Path(directory), _MANIFEST, "profiles") as new:
            (new / "arrays").mkdir(parents=True)
            arrays = {name: getattr(self.fitted, name) for name in _ARRAYS}
            arrays |= {name: getattr(self.counts, name) for name in _COUNTS}
            for name, array in arrays.items():
                np.save(new / "arrays" / f"{name}.npy", array, allow_pickle=False)
            names = {"tokens": self.tokens, "users": self.users}
            (new / "strings.json").write_text(json.dumps(names, ensure_ascii=False), "utf-8")
            facts = {"format": FORMAT, "parameters": asdict(self.fitted.profiler)}
            integrity.seal_directory(new, _MANIFEST, facts)

    @classmethod
    def load(cls, directory: Path) -> ProfileModel:
        """Read what `save` wrote.

        Raises
        ------
        BadInput
            The directory holds no profiles, some that were changed, or those of another version.
        """
        directory = Path(directory)
        manifest = integrity.open_sealed(directory, _MANIFEST, "profiles", _AGAIN)
        if manifest["format"] != FORMAT:
            raise BadInput(f"{directory}: another version of ssi has written it. {_AGAIN}")
        with files.reading(directory / _MANIFEST, _AGAIN):
            profiler = Profiler(**converted(Profiler, manifest["parameters"]))
            names = files.read_object(directory / "strings.json", _AGAIN)
            tokens, users = (tuple(map(str, names[name])) for name in ("tokens", "users"))
            place = directory / "arrays"
            arrays = {n: load_array(place / f"{n}.npy") for n in (*_ARRAYS, *_COUNTS)}
            check_arrays(_array_specs(profiler, len(users), len(tokens)), arrays, place, _AGAIN)
        fitted = FittedProfiler.of(profiler, *(arrays[name] for name in _ARRAYS))
        parts = tuple(arrays[name] for name in _COUNTS)
        return cls(tokens, users, fitted, sparse.csr_array(parts, shape=(len(users), len(tokens))))


def _array_specs(profiler: Profiler, users: int, tokens: int) -> ArraySpecs:
    """Declare the distributions and the counts."""
    data, indices, indptr = _COUNTS
    return {
        "common": ArraySpec("float64", (tokens,), least=0, most=1),
        "theta": ArraySpec("float64", (profiler.clusters, tokens), least=0, most=1),
        "share": ArraySpec("float64", (profiler.clusters,), least=0, most=1),
        **csr_specs(users, tokens, (indptr, indices, data), "float64"),
    }
