"""Logs of clicks, with a map of their columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from ssi_core.corpus.source import Source, Tabular, files, option

if TYPE_CHECKING:
    from ssi_core.guests.click_logs.columns import LogMap
    from ssi_core.guests.click_logs.rules import Rules
    from ssi_core.store import Artefact
    from ssi_core.types import Progress


class Clicks(Tabular):
    r"""Read logs of clicks, counts or judgements: CSV, TSV, JSON or parquet, plain or compressed.

    Columns are recognised by their names, such as session, query, document, position, clicked,
    clicks, impressions or grade, and the guess is printed. --column ROLE=NAME corrects it, also for
    id, title and text in the table of documents. Without a column that tells of clicks, every row
    is a click.

    \b
    A map (--map) names the columns, too, and has further settings. A row is a document that
    was shown in a session:
      [columns]
      session = "visit"        # groups what was shown together
      query = "url"            # an id; query_text and query_title if the log has them
      document = "ad_id"       # likewise document_text and document_title
      position = "rank"        # optional; [log] first_position = 1
      clicked = "click"        # 1 or 0, true or false, yes or no
      timestamp = "when"       # optional, as is user
      [documents]              # columns of the table given by --documents; likewise [queries]
      id = "ad_id"
      text = "creative"

    \b
    Or a row is all that is known of a query and a document: counts, a grade, or both.
      [columns]
      query = "query"          # one column may have several roles of one side
      query_text = "query"
      document = "url"
      document_text = "title"
      clicks = "clicks"        # a number; or clicked = 1 or 0 in each of many rows
      shown = "impressions"    # optional: showings without a click can be negatives
      grade = "judgement"      # 0 to 4; [grades.labels] names others: Exact = 4
      [grades]
      relevant = 1             # from this grade on
      weight = "gain"          # in training: gain (2^grade - 1), one or clicks

    \b
    If every row is a click:      [log] all_clicked = true
    If JSON has lists of rows:    [log] each = "results", the objects of that list

    Counts of one pair are summed, and its grades averaged; nDCG uses grades as they are. The
    language is guessed from the script of the texts, and printed; --language, or language = "zh"
    under [queries] and [documents], sets it.

    Invalid rows are written to quarantine.csv in --out, with the reason. What one session was shown
    for a query is a slate; slates without a click are dropped, unless weights need them.

    --clicks says which clicks count, and how much:

    \b
      all       all clicks. For logs in random order, or whose positions are looked at
                equally
      first     clicks in position 1. For logs whose position 1 is often filled by chance
      weighted  clicks / looks of a pair; a look is a showing times the propensity of its
                position, the probability that a visitor looks there. For logs in which
                some visits have another order
      inverse   1 / propensity of each click. For the same logs, and for rows with
                against = "shown" only

    A log without positions takes all, since propensities are estimated from positions.

    --judgements adds judgements to measure by, while clicks are to learn from: a table (CSV, TSV,
    JSON lines or parquet) with the columns query, document and grade, or TREC's qrels (.txt,
    .qrels: query, 0, document, grade). Queries are named by id; if the log has no ids, by text,
    which need not be in the log. Documents are named by an id of the log or of --documents. Unknown
    ones are counted, as judgement_unknown_query and judgement_unknown_document.

    --since reads only what an earlier collection has not read: new logs, and new lines of its last
    one. Its other logs may be deleted; the result is that of reading everything.
    """

    flow = "ingest-clicks"
    examples = (
        "ssi data ingest clicks log.csv --documents articles.jsonl --out clicks",
        "ssi data ingest clicks log.csv --column document=landing_page --out clicks",
        "ssi data ingest clicks log.csv.gz --map map.toml --out clicks",
        "ssi data ingest clicks clicks.tsv.gz --map map.toml --queries corpus --documents "
        "ads.tsv.gz",
        "ssi data ingest clicks log-*.jsonl --map map.toml --clicks weighted",
        "ssi data ingest clicks queries.json --map map.toml --language pt",
        "ssi data ingest clicks clicks.tsv --map map.toml --judgements qrels.txt --out clicks",
        "ssi data ingest clicks tuesday.csv --map map.toml --since clicks --out clicks-2",
    )

    paths: tuple[Path, ...] = files(
        "LOGS", "Logs; a pattern such as logs/*.csv: all that match, by name"
    )
    map: Path | dict[str, Any] | None = option(
        None, "TOML file that names the columns, where their names and --column do not", "--map"
    )
    queries: Path | None = Field(
        default=None, description="Texts of the queries: a collection or a table"
    )
    documents: Path | None = Field(
        default=None, description="Texts of the documents: a collection or a table"
    )
    judgements: Path | None = Field(
        default=None,
        description="Judgements: a table of query, document and grade, or TREC's qrels",
    )
    language: str | None = Field(
        default=None,
        description="Language of both sides, in place of that of the map: zh, ja, en, ..., any",
    )
    clicks: Literal["all", "first", "weighted", "inverse"] = Field(
        default="all", description="Clicks that count, and their weight; see above"
    )
    clip: float = Field(default=10.0, ge=1, description="Largest weight of a click, with inverse")
    most_broken: float = Field(
        default=0.05, ge=0, le=1, description="Maximum share of rows that go into quarantine"
    )
    since: Path | None = Field(
        default=None,
        description="Collection of earlier logs. Only lines that it has not read are read",
    )

    def fetched(self, progress: Progress | None = None) -> Source:
        """Return the source with the files that its patterns name."""
        paths = [path for pattern in self.paths for path in _matching(pattern)]
        return self.model_copy(update={"paths": tuple(paths)})

    @classmethod
    def roles(cls) -> Collection[str]:
        """Return the roles of columns of a log, and of a table of its documents."""
        from ssi_core.guests.click_logs.columns import OF_DOCUMENTS, ROLES

        return (*ROLES, *OF_DOCUMENTS)

    @classmethod
    def looks_like(cls, path: Path) -> bool:
        """Tell whether a table has queries, documents, and clicks, counts or grades."""
        from ssi_core.guests.click_logs.guess import is_log

        return is_log(path)

    def follows(self, earlier: Artefact) -> bool:
        """Tell whether an earlier collection keeps the rows of its logs."""
        from ssi_core.guests.click_logs.before import LINES

        return (earlier.path / LINES).exists()

    @property
    def form(self) -> LogMap:
        """Return the map: as it is given, else as the names of the columns tell."""
        from ssi_core.guests.click_logs.columns import ROLES, load_map, parse_map
        from ssi_core.guests.click_logs.guess import guess_map

        if self.map is None:
            sides = {"query": self.queries, "document": self.documents}
            texts = [side for side, path in sides.items() if path]
            of_log = {role: name for role, name in self.columns.items() if role in ROLES}
            form = guess_map(self.paths[0], of_log, self.written, texts)
        else:
            form = load_map(self.map) if isinstance(self.map, Path) else parse_map(self.map)
        form = form.declaring(self.columns, self.written)
        return form if self.language is None else form.in_language(self.language)

    @property
    def rules(self) -> Rules:
        """Return which clicks count."""
        from ssi_core.guests.click_logs.rules import Rules

        return Rules(self.clicks, self.clip, self.most_broken).of(self.form)

    def inputs(self) -> Sequence[Path]:
        """Return the logs, and the tables of texts and judgements."""
        from ssi_core.corpus.judged.rows import judgement_files

        tables = [path for path in (self.queries, self.documents) if path and not path.is_dir()]
        judged = judgement_files(self.judgements) if self.judgements else ()
        return [*self.paths, *tables, *judged]

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        return {**vars(self.rules), "map": self.form.configuration()}

    def read(
        self, out: Path | None = None, *, force: bool = False, progress: Progress | None = None
    ) -> Artefact:
        """Make the collection, as `Source.read` says; the logs of ``since`` are parents, too."""
        from ssi_core.guests.click_logs.build import read

        return read(self, out, force, progress)


def _matching(path: Path) -> list[Path]:
    """Return the files whose names match, by name; the path itself where there are none."""
    return [path] if path.exists() else sorted(path.parent.glob(path.name)) or [path]
