"""Users in three sides by time; of each user, what comes first is known and the rest is predicted.

Users are put in the order of their first action: the earlier ones train, later ones choose
settings, the last ones test. A user of one side has no action after the next side begins, so that
everything of the training comes before everything of the test. The actions of a user are cut at
half of the moments at which there are some: tokens before the cut make the profile, documents
clicked after it are predicted: at all moments, or at the next one alone, where users who come often
have no more of them than others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from ssi_core.guests.profiles.events import Events
from ssi_core.types import BadInput

Later: TypeAlias = Literal["all", "next"]
SIDES = ("train", "valid", "test")
_SHARES = (0.6, 0.8)


@dataclass(frozen=True)
class Side:
    """Users of a side.

    Attributes
    ----------
    users : tuple of str
        Their names, sorted.
    counts : CSR float64 (users, tokens)
        How often each user did what a token names, before the cut.
    clicked : bool (users, targets)
        Whether the user clicked on a target after it.
    """

    users: tuple[str, ...]
    counts: sparse.csr_array
    clicked: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.users)


@dataclass(frozen=True)
class Divided:
    """Users before and after their cut, on three sides.

    Attributes
    ----------
    tokens : tuple of str
        Sorted tokens; a token's place is its column.
    targets : tuple of str
        Sorted documents whose later clicks are predicted.
    train, valid, test : Side
        The three sides.
    skipped : dict
        What was left out, by the reason.
    """

    tokens: tuple[str, ...]
    targets: tuple[str, ...]
    train: Side
    valid: Side
    test: Side
    skipped: dict[str, int]


def divide(
    events: Events, *, later: Later = "all", least_users: int = 3, least_clicks: int = 10
) -> Divided:
    """Divide users by time, and the actions of each user.

    Parameters
    ----------
    events : Events
        Actions of users.
    later : Later
        Whether all clicks after the cut are predicted, or those of the next moment.
    least_users : int
        A token is kept where so many training users have it before their cut.
    least_clicks : int
        A document is a target where so many training users clicked it after their cut.

    Raises
    ------
    BadInput
        A side has no user with actions at two moments, or no token or target is left.
    """
    skipped: Counter[str] = Counter()
    clicks, bounds = events.clicks, _bounds(events.clicks)
    moments = _moments(clicks, bounds, skipped)
    seen = events.tokens.join(moments, on=["user", "timestamp"]).filter("before")
    after = clicks.join(moments, on=["user", "timestamp"]).filter(~pl.col("before"))
    after = after.filter("next") if later == "next" else after
    after = after.select("side", "user", "document").unique()
    tokens = _frequent(seen.select("side", "user", "token").unique(), "token", least_users)
    targets = _frequent(after, "document", least_clicks)
    users = {
        side: tuple(moments.filter(side=side)["user"].unique().sort().to_list()) for side in SIDES
    }
    for what, held in (("token", tokens), ("target", targets), *users.items()):
        if not held:
            raise BadInput(
                f"{events.name}: too few clicks: no {what} is left. Profiles need users who click "
                f"at two moments or more, and {least_clicks} of them on one document."
            )
    kept = seen.filter(pl.col("token").is_in(tokens))
    skipped["action_of_rare_token"] = len(seen) - len(kept)
    sides = {}
    for side, names in users.items():
        counts = counts_of(kept.filter(side=side), names, tokens)
        pairs = after.filter(pl.col("document").is_in(targets), side=side)
        clicked = np.zeros((len(names), len(targets)), np.bool_)
        clicked[_numbers(pairs["user"], names), _numbers(pairs["document"], targets)] = True
        sides[side] = Side(names, counts, clicked)
    return Divided(tokens, targets, **sides, skipped=dict(skipped))


def counts_of(
    tokens: pl.DataFrame, users: tuple[str, ...], columns: tuple[str, ...]
) -> sparse.csr_array:
    """Count the tokens of users: CSR float64 (users, columns).

    Parameters
    ----------
    tokens : DataFrame
        Columns ``user`` and ``token``, of the users and columns alone.
    """
    known = tokens.group_by("user", "token").len().sort("user", "token")
    entries = _numbers(known["user"], users), _numbers(known["token"], columns)
    values = known["len"].to_numpy().astype(np.float64)
    counts = sparse.csr_array((values, entries), shape=(len(users), len(columns)))
    counts.sort_indices()
    return counts


def _bounds(clicks: pl.DataFrame) -> Mapping[str, object]:
    """Return the moment at which each side ends; the last one has no end."""
    first = clicks.group_by("user").agg(pl.col("timestamp").min())["timestamp"].sort()
    starts = [min(len(first) - 1, int(share * len(first))) for share in _SHARES]
    return dict(zip(SIDES, (first[position] for position in starts), strict=False))


def _moments(
    clicks: pl.DataFrame, bounds: Mapping[str, object], skipped: Counter[str]
) -> pl.DataFrame:
    """Return user, timestamp, side, and whether the moment is before the cut, or next to it."""
    first = pl.col("timestamp").min().over("user")
    train, valid = (pl.lit(bounds[name]) for name in SIDES[:2])
    side = pl.when(first < train).then(pl.lit("train")).when(first < valid).then(pl.lit("valid"))
    end = pl.when(first < train).then(train).when(first < valid).then(valid)
    sided = clicks.with_columns(side=side.otherwise(pl.lit("test")), end=end)
    kept = sided.filter((pl.col("timestamp") < pl.col("end")).fill_null(True))
    skipped["click_after_the_end_of_the_side"] = len(sided) - len(kept)
    moments = kept.select("user", "timestamp", "side").unique().sort("user", "timestamp")
    moments = moments.with_columns(
        number=pl.int_range(pl.len()).over("user"), several=pl.len().over("user")
    )
    alone = moments.filter(pl.col("several") < 2)
    skipped["user_with_one_moment"] = alone["user"].n_unique()
    return moments.filter(pl.col("several") > 1).select(
        "user",
        "timestamp",
        "side",
        before=pl.col("number") < pl.col("several") // 2,
        next=pl.col("number") == pl.col("several") // 2,
    )


def _frequent(rows: pl.DataFrame, column: str, least: int) -> tuple[str, ...]:
    """Return the values that so many training users have, sorted."""
    known = rows.filter(side="train").group_by(column).len().filter(pl.col("len") >= least)
    return tuple(known[column].sort().to_list())


def _numbers(values: pl.Series, names: tuple[str, ...]) -> NDArray[np.int64]:
    number_of = dict(zip(names, range(len(names)), strict=True))
    return np.array([number_of[value] for value in values], np.int64)
