"""Actions of users as tokens: the pages that they were on, what they clicked, what they looked for.

An event becomes a token of its kind and of what it was on, at one or more levels: the text itself
(``click-Napoleon``), each of its labels (``click-category:History``), each word of its title
(``click~napoleon``).

Source: X. Shi and others, A compression framework for generating user profiles (2010), section 3,
whose tokens are kinds of events and levels of a taxonomy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import polars as pl

from ssi_core import files
from ssi_core.collection import INGEST, Collection, Side
from ssi_core.text.tokenizer import tokenize
from ssi_core.types import BadInput

Level: TypeAlias = Literal["texts", "labels", "words"]
"""Kind of thing that a token names: a text, a label of a text, or a word of its title."""

_KINDS: tuple[tuple[str, str, Side], ...] = (
    ("page", "query", "queries"),
    ("click", "document", "documents"),
    ("goal", "goal", "documents"),
)
_NEEDED = ("user", "timestamp")


@dataclass(frozen=True)
class Events:
    """Actions of users, in no order.

    Attributes
    ----------
    name : str
        Name of the collection.
    tokens : DataFrame
        Columns ``user``, ``timestamp``, ``token``; a row for each action.
    clicks : DataFrame
        Columns ``user``, ``timestamp``, ``document``; a row for each click.
    counts : dict
        Clicks that were read, and those left out by the reason.
    """

    name: str
    tokens: pl.DataFrame
    clicks: pl.DataFrame
    counts: dict[str, int]


def read_events(opened: Collection, levels: Sequence[Level] | None = None) -> Events:
    """Read the clicks of users from the impressions of a collection.

    A page is viewed at each click on it; a goal counts once for each moment.

    Parameters
    ----------
    opened : Collection
        A collection with impressions.
    levels : sequence of Level, optional
        Levels of the tokens; by default texts, and labels where documents have some.

    Raises
    ------
    BadInput
        The collection has no impressions, no click has a user and a time, a level is unknown, or
        labels are asked for and there are none.
    """
    levels = _checked(opened, levels)
    if not files.parts_in(opened.path / "impressions"):
        raise BadInput(
            f"{opened.path}: it has no impressions. Give a collection of a log of clicks "
            "('ssi data ingest clicks', 'ssi data ingest wikispeedia-clicks')."
        )
    shown = opened.frame("impressions")
    clicks = shown.filter("clicked").drop_nulls(_NEEDED)
    counts = Counter(clicks=len(clicks), shown_not_clicked=int((~shown["clicked"]).sum()))
    counts["click_without_user_or_time"] = int(shown["clicked"].sum()) - len(clicks)
    if clicks.is_empty():
        raise BadInput(
            f"{opened.path}: none of its clicks has a user and a time. Map the columns 'user' and "
            "'timestamp' when the log is ingested."
        )
    frames = []
    for kind, column, side in _KINDS:
        rows = clicks.select("user", "timestamp", id=pl.col(column)).drop_nulls("id")
        if kind == "goal":
            rows = rows.unique(maintain_order=True)
        for level in levels:
            names = _names(opened, side, level)
            named = rows.join(names, on="id", how="inner", maintain_order="left")
            token = pl.lit(kind) + pl.col("name")
            frames.append(named.select("user", "timestamp", token=token))
    tokens = pl.concat(frames)
    return Events(
        opened.path.name, tokens, clicks.select("user", "timestamp", "document"), dict(counts)
    )


def _checked(opened: Collection, levels: Sequence[Level] | None) -> Sequence[Level]:
    labelled = bool(opened.labels("documents"))
    if levels is None:
        return ("texts", "labels") if labelled else ("texts",)
    for level in levels:
        if level not in get_args(Level):
            raise BadInput(f"tokens {level!r}: expected some of {', '.join(get_args(Level))}")
    if "labels" in levels and not labelled:
        raise BadInput(
            f"{opened.path}: its documents have no labels. Use texts or words as tokens."
        )
    if not levels:
        raise BadInput(f"no level of tokens is given: expected {', '.join(get_args(Level))}")
    return levels


def _names(opened: Collection, side: Side, level: Level) -> pl.DataFrame:
    """Return ``id`` and ``name`` of what a token of a level says about the texts of a side."""
    if level == "labels":
        parts = opened.labels(side)
        if not parts:
            return pl.DataFrame(schema={"id": pl.String, "name": pl.String})
        labels = files.read_strings(parts, "id", "column", "value", remedy=INGEST)
        return labels.select(
            "id", name=pl.lit("-") + pl.col("column") + pl.lit(":") + pl.col("value")
        )
    texts = opened.names(side)
    if level == "texts":
        return texts.select("id", name=pl.lit("-") + pl.col("id"))
    rows = [
        (identifier, f"~{word}")
        for identifier, title, language in texts.iter_rows()
        for word in dict.fromkeys(tokenize(title, language))
    ]
    return pl.DataFrame(rows, schema={"id": pl.String, "name": pl.String}, orient="row")
