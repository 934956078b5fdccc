"""Ids, titles and languages of texts whose source gives none."""

from __future__ import annotations

import hashlib

import polars as pl

from ssi_core import collection
from ssi_core.collection import PartWriter

PLACEHOLDER = "en"
"""Language of texts of which it is not known yet; see `language.name_languages`."""


def id_of(text: str) -> str:
    """Id of a text that has no other: 16 hexadecimal digits.

    >>> id_of("Cheap boats")
    'e838f8fe1ea8cb60'
    """
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def as_listed(names: pl.Series, ids: pl.Series) -> pl.Series:
    """Return names as the ids have them: pandas writes 12 as 12.0 where a column lacks a value.

    >>> as_listed(pl.Series(["1.0", "2", "3.0"]), pl.Series(["1", "2.0", "3", "3.0"])).to_list()
    ['1', '2.0', '3.0']
    """
    ways = names, names.str.replace(r"^(\d+)\.0$", "$1"), names.str.replace(r"^(\d+)$", "$1.0")
    known = (pl.when(way.is_in(ids.implode())).then(way) for way in ways)
    return pl.select(pl.coalesce(*known, names)).to_series()


def title_or_beginning() -> pl.Expr:
    """Return the title of a text, or how the text begins where it has none."""
    beginning = collection.beginning(pl.col("text"))
    return pl.coalesce(pl.when(pl.col("title") != "").then("title"), beginning)


def write_texts(writer: PartWriter, texts: pl.DataFrame, language: str | None) -> None:
    """Write id, title (or null) and text as documents; None: each has its language in a column."""
    writer.write(
        texts.select(
            "id",
            title=title_or_beginning(),
            language=pl.col("language") if language is None else pl.lit(language),
            text=pl.col("text"),
        ).pipe(collection.timeless)
    )
