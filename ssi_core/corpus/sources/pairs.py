"""Translated pairs in tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from ssi_core.corpus.source import Tabular, files, option


class Pairs(Tabular):
    """Read a table of translated pairs: CSV, TSV, JSON lines or parquet, also packed (.gz).

    A row is a text and its translation: the columns query and document, or source and target, or
    the only two columns of the table. Queries are in the language of the first, documents in that
    of the second. A name of a column that is the code of a language, such as ja, says which it is;
    else it is guessed from the script of the texts.

    A text that is there twice is one text, and is in one pair, the first; the others are counted
    (pair_repeated, pair_of_another_text), as are rows without both texts (pair_incomplete).
    """

    flow = "ingest-mates"
    examples = (
        "ssi data ingest pairs ja-en.tsv --out mates",
        "ssi data ingest pairs corpus.csv --column query=german --column document=english --out "
        "mates",
    )
    origin = "pairs"
    builder = "ssi_core.corpus.mates.pairs:build"

    paths: tuple[Path, ...] = files("TABLES", "Tables of pairs")
    languages: tuple[str, str] | None = option(
        None,
        "Codes of the languages of queries and documents; empty: guessed",
        "--languages",
        "QUERIES DOCUMENTS",
    )
    dictionary: Path | None = Field(
        default=None,
        description="Dictionary that translates queries: a line has a term, a tab, a translation",
    )

    @classmethod
    def roles(cls) -> Collection[str]:
        """Return the roles of the two texts."""
        from ssi_core.corpus.tables.roles import PAIRS

        return PAIRS

    def inputs(self) -> Sequence[Path]:
        """Return the tables, and the dictionary."""
        return [*self.paths, *([self.dictionary] if self.dictionary else [])]

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        return {
            "source": self.origin,
            "columns": self.columns,
            "languages": self.languages,
            **self.written,
        }
