"""Other names of documents: redirects that lead to them, and pages with the same text.

A Wikipedia keeps them as a relation, so that a title from elsewhere (a link from another language,
a click log) finds its document, and a query may be what people call it.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from ssi_core import collection, files
from ssi_core.corpus.links import Settled


def write_redirects(corpus: Path, settled: Settled) -> None:
    """Write the other names of the documents that are written, in the order of their pages."""
    titles = pl.scan_parquet(files.parts_in(corpus / "documents"), glob=False).select("title")
    other = (
        settled.names.lazy()
        .filter(pl.col("destination").is_not_null())
        .join(titles, on="title", how="anti", maintain_order="left")
        .select(source="id", target="destination", text="title")
        .collect()
    )
    with collection.relation_writer(corpus, collection.REDIRECT, collection.NAMED) as writer:
        writer.write(other)
