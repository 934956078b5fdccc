"""The words of links as a query log: they find the titles that the links lead to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ssi_core.datasets.wikipedia.source import Dumps


class Anchors(Dumps):
    """Read the anchor log of Wikipedia dumps: the words of links find the titles they lead to.

    A link is a click of its author. Its words are the query, the title of the page that it leads to
    is the document, and the number of such links is the number of clicks; the dump need not have
    that page. Redirects are followed as far as the dumps have them, and are pairs themselves: the
    title of a redirect finds the title that it stands for.

    Only titles are documents. --judgements adds judged queries: the directory of Discernatron, or
    a table (CSV, TSV, JSON lines, parquet) with the columns query, document (a title) and grade.
    A query that is clicked and judged is one query; the clicks on judged titles stay, and are
    counted (pairs_of_judged_documents).

    Links to files, categories and calendar years, and links without words are left out, and
    counted by the reason.
    """

    flow = "ingest-clicks"
    examples = (
        "ssi data ingest anchors enwiki-pages-articles.xml.bz2 --out anchors",
        "ssi data ingest anchors enwiki-*.xml.bz2 --judgements discernatron/ --out anchors",
    )
    origin = "anchors"
    builder = "ssi_core.datasets.wikipedia.anchors:build"

    judgements: Path | None = Field(
        default=None,
        description="Judgements: the directory of Discernatron, or a table of query, document and "
        "grade",
    )
    equal: Literal["keep", "drop"] = Field(
        default="keep", description="Whether to keep or drop pairs whose words are the title itself"
    )

    def inputs(self) -> Sequence[Path]:
        """Return the dumps and the judgements."""
        from ssi_core.corpus.judged.rows import judgement_files

        return (*self.paths, *(judgement_files(self.judgements) if self.judgements else ()))

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        return {**super().identity(), "equal": self.equal}
