"""Rules that say which clicks count, and with what weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from ssi_core.guests.click_logs.columns import LogMap
from ssi_core.remedies import typed
from ssi_core.types import BadInput

Clicks: TypeAlias = Literal["all", "first", "weighted", "inverse"]


@dataclass(frozen=True)
class Rules:
    """Settings of the aggregation of rows; the fields are the artefact's configuration.

    Attributes
    ----------
    clicks : Clicks
        "all": every click alike; "first": only the first position counts (the paper); "weighted": a
        pair weighs what its relevance is estimated to be, clicks / looks, where looks are the sum
        of the propensities of its showings (`kernels.ranking.examination`); "inverse": every click,
        by one over the propensity of its position.
    clip : float
        With "inverse": largest of these weights.
    most_broken : float
        Share of rows that may be in quarantine.
    """

    clicks: Clicks = "all"
    clip: float = 10.0
    most_broken: float = 0.05

    @property
    def by_propensity(self) -> bool:
        """Tell whether propensities are estimated, so that every showing counts."""
        return self.clicks in ("weighted", "inverse")

    def __post_init__(self) -> None:
        if self.clicks not in get_args(Clicks):
            known = ", ".join(get_args(Clicks))
            raise ValueError(f"clicks={self.clicks!r}: expected one of {known}")
        if self.clip < 1:
            raise ValueError(f"clip={self.clip}: expected a weight >= 1")
        if not 0 <= self.most_broken <= 1:
            raise ValueError(f"most_broken={self.most_broken}: expected a share, 0 to 1")

    def of(self, form: LogMap) -> Rules:
        """Return the rules, which suit the logs of a map.

        Raises
        ------
        BadInput
            The clicks need a position or the showings that were not clicked, and the map has none.
        """
        if self.clicks != "all" and "position" not in form.columns:
            raise BadInput(
                f"{form.where}: [columns]: no position: "
                + (
                    "which clicks are of the first one"
                    if self.clicks == "first"
                    else "how often a place is looked at"
                )
                + f" cannot be known ({typed('clicks', self.clicks)}). Take "
                f"{typed('clicks', 'all')}: every click "
                "counts alike, against all that was shown and not clicked. Or name the column of "
                "the positions, where the log has one row for each showing."
            )
        if self.by_propensity and form.log.all_clicked:
            raise BadInput(
                f"{form.where}: [log]: all_clicked: {typed('clicks', self.clicks)} needs what "
                f"was shown and not clicked, too. Take {typed('clicks', 'all')}."
            )
        return self
