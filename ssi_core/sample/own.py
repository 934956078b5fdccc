"""The sample as somebody's own files: a table of articles, one of links, and a log of clicks."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from ssi_core.sample.dumps import whole_file
from ssi_core.types import Refused

ARTICLES, LINKS, CLICKS = "articles.jsonl", "links.csv", "clicks.csv"
CLICKS_MAP = "clicks.toml"

_MAP = f"""# ssi data ingest clicks {CLICKS} --map {CLICKS_MAP} --documents {ARTICLES} --out clicks
[columns]
query_text = "words"
document = "page"
clicks = "clicks"
"""


def write_own(
    directory: Path,
    documents: pl.DataFrame,
    links: pl.DataFrame,
    anchors: pl.DataFrame,
    *,
    force: bool = False,
) -> dict[str, int]:
    """Write documents, their links and a log of clicks as files that ``ssi data ingest`` reads.

    The log is made up of the words of links: whoever searches with them clicks the document that
    the links lead to, once for each link.

    Parameters
    ----------
    directory : Path
        Made if it is not there; gets ``articles.jsonl``, ``links.csv``, ``clicks.csv`` and
        ``clicks.toml``, which names the columns of the log.
    documents : DataFrame
        Columns id, title, text.
    links : DataFrame
        Columns source, target: ids of documents. The file has the words of each, too.
    anchors : DataFrame
        Columns source, target, text, weight: words of links, and how often they are there.
    force : bool, optional
        Replace files of these names that hold something else.

    Returns
    -------
    dict
        ``documents``, ``links``, ``clicks``.

    Raises
    ------
    Refused
        A file of one of these names holds something else.
    """
    clicks, worded = _clicks(anchors), _worded(links, anchors)
    files = {
        ARTICLES: documents.select("id", "title", "text").write_ndjson(),
        LINKS: worded.write_csv(),
        CLICKS: clicks.write_csv(),
        CLICKS_MAP: _MAP,
    }
    if not force:
        _require_free(directory, files)
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        with whole_file(directory / name) as file:
            file.write(text)
    counts = {"documents": len(documents), "links": len(worded)}
    return counts | {"clicks": int(clicks["clicks"].sum())}


def _worded(links: pl.DataFrame, anchors: pl.DataFrame) -> pl.DataFrame:
    """Return source, target and words, a row for each use of a wording."""
    ends = ["source", "target"]
    rows = links.select(ends).join(anchors, on=ends, how="left", maintain_order="left_right")
    times = pl.col("text").repeat_by(pl.col("weight").fill_null(1).cast(pl.Int64))
    return rows.select(*ends, words=times).explode("words")


def _clicks(anchors: pl.DataFrame) -> pl.DataFrame:
    """Return words, page and clicks, a row for each wording of links to a document."""
    clicks = pl.col("weight").sum().cast(pl.Int64).alias("clicks")
    pairs = anchors.group_by(pl.col("text").alias("words"), pl.col("target").alias("page"))
    return pairs.agg(clicks).sort("words", "page")


def _require_free(directory: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = directory / name
        if path.exists() and (not path.is_file() or path.read_bytes() != text.encode()):
            raise Refused(
                f"{path}: it exists and holds something else. Name another directory with --out, "
                "or replace it with --force."
            )
