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
    """Read User Behavior Insights (UBI 1.x), the queries and events that OpenSearch logs.

    FILES are exports of ubi_queries and ubi_events, in any order, or directories of them: JSON
    lines (also bulk requests, or documents in _source), CSV, TSV or parquet, plain or compressed.

    Queries and events are joined by query_id. What was shown for one query_id and wording is a
    slate: its impressions, or, without these, the response of the query. Positions of an
    application start at 0 if one of its impressions has the ordinal 0, otherwise at 1. Documents
    are the objects of the events, by object_id. Their texts come from a collection or a table
    (--documents), or else from the descriptions in the events.

    Judgement lists and query sets of the Search Relevance Workbench (JSON, as it imports or exports
    them) may be among FILES. Judgements are joined to queries by wording and to documents by docId
    (object_id); 'ssi data features --relevant judgement' uses them in place of the clicks. The name
    of a query set becomes a label of its queries.

    Events of other actions, of unknown queries and without an object are counted by reason. Invalid
    JSON lines and objects without a text are written to quarantine.csv.
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
