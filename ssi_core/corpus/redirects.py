"""Other titles of documents: redirects that lead to them, and pages with the same text.

A corpus of a Wikipedia keeps them beside its documents, so that a title from elsewhere (a link from
another language, a click log) finds its document.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from ssi_core import files
from ssi_core.collection import PartWriter
from ssi_core.corpus.links import Settled

SCHEMA: Mapping[str, pl.DataType] = {"title": pl.String(), "id": pl.String()}
"""Schema of ``redirects/part-*.parquet``: distinct titles, ids of documents."""

_TABLE = "redirects"


def write_redirects(corpus: Path, settled: Settled) -> int:
    """Write the other titles of the documents that are written; returns how many."""
    own = pl.scan_parquet(files.parts_in(corpus / "documents"), glob=False).select("title")
    other = (
        settled.names.lazy()
        .filter(pl.col("destination").is_not_null())
        .join(own, on="title", how="anti", maintain_order="left")
        .select("title", id="destination")
        .collect()
    )
    with PartWriter(corpus / _TABLE, SCHEMA) as writer:
        writer.write(other)
    return other.height


def read_redirects(corpus: Path) -> pl.LazyFrame:
    """Open the other titles of a corpus; there are none where the source has no redirects."""
    if not (corpus / _TABLE).is_dir():
        return pl.LazyFrame(schema=dict(SCHEMA))
    return pl.scan_parquet(files.parts_in(corpus / _TABLE), glob=False)
