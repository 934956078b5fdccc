"""OpenSearch's User Behavior Insights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from ssi_core.corpus.source import LANGUAGE, Tabular, files, option

if TYPE_CHECKING:
    from ssi_core.types import Progress


class Ubi(Tabular):
    """Read User Behavior Insights (UBI 1.x): queries and events as OpenSearch keeps them.

    FILES are exports of ubi_queries and ubi_events, in any order, together or apart: JSON lines
    (also those of a bulk request, or with each document in _source), CSV, TSV or parquet, plain
    or packed; or directories of such files. Queries and events are joined by their query_id.

    What one query_id showed for one wording is a slate: its impressions, or, without these, the
    response of the query. Positions begin with 0 where an impression has the ordinal 0, for each
    application by itself. Documents are objects, by object_id: name a collection or a table that
    has them (--documents); else their text is the description that events have.

    A judgement list or a query set of the Search Relevance Workbench may be among FILES: JSON, as
    it is imported or exported. Judgements join queries by their wording and documents by docId
    (object_id), and are beside the clicks: --relevant judgement. The set of a query is its label.

    Events of other actions, of no known query or of no object are counted by the reason; lines
    that are no JSON, and objects without a text, are in quarantine.csv.
    """

    flow = "ingest-clicks"
    origin = "ubi"
    builder = "ssi_core.guests.click_logs.ubi.build:build"
    examples = (
        "ssi data ingest ubi ubi_queries.ndjson.gz ubi_events.ndjson.gz --documents products",
        "ssi data ingest ubi exports/ --documents products.csv --action click --action add_to_cart",
        "ssi data ingest ubi judgements.json --documents products --out judged",
    )

    paths: tuple[Path, ...] = files(
        "FILES", "Exports of queries and events; judgements, query sets"
    )
    documents: Path | None = Field(
        default=None,
        description="Collection or table of the objects, whose columns id, title and text --column "
        "may name; empty: their descriptions",
    )
    actions: tuple[str, ...] = option(
        ("click",), "Action that counts as a click. Can be repeated", "--action"
    )
    shown_by: tuple[str, ...] = Field(
        default=("impression",), description="Action that shows an object. Can be repeated"
    )
    language: str | None = LANGUAGE
    clicks: Literal["all", "first", "weighted", "inverse"] = Field(
        default="all", description="Clicks that count, as 'ssi data ingest clicks --help' explains"
    )
    clip: float = Field(default=10.0, ge=1, description="Largest weight of a click, with inverse")
    most_broken: float = Field(
        default=0.05, ge=0, le=1, description="Maximum share of rows that go into quarantine"
    )

    @classmethod
    def roles(cls) -> Collection[str]:
        """Return the roles of columns of the objects."""
        return ("id", "title", "text")

    @classmethod
    def looks_like(cls, path: Path) -> bool:
        """Tell whether a file, or one in a directory, has the fields of queries or events."""
        from ssi_core.corpus.tree import walk
        from ssi_core.guests.click_logs.ubi.lines import is_ubi

        if path.is_dir():
            return any(map(is_ubi, walk(path, Counter(), deep=False)))
        return path.is_file() and is_ubi(path)

    def inputs(self) -> Sequence[Path]:
        """Return the files, also those of directories, and the table of the objects."""
        from ssi_core.guests.click_logs.ubi.build import exports_of

        tables = [self.documents] if self.documents and not self.documents.is_dir() else []
        return [*exports_of(self.paths, Counter()), *tables]

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        from ssi_core.guests.click_logs.ubi.build import rules_of

        return {
            "source": self.origin,
            **vars(rules_of(self)),
            "actions": {"clicks": sorted(self.actions), "impressions": sorted(self.shown_by)},
            "documents": self.documents and self.documents.name,
            "language": self.language,
            **({"columns": self.columns} if self.columns else {}),
            **self.written,
        }

    def parents(self, out: Path | None = None, progress: Progress | None = None) -> dict[str, str]:
        """Return the digests of the files, or the key of the collection of the objects."""
        from ssi_core.collection import open_collection
        from ssi_core.files import refuse_output

        refuse_output(out, self.paths)
        parents = super().parents(out, progress)
        if self.documents and self.documents.is_dir():
            parents[f"documents {self.documents.name}"] = open_collection(self.documents).key
        return parents
