"""Query logs with judgements: titles that were clicked on, and lists of titles that were judged."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from pydantic import Field

from ssi_core.corpus.source import PROCESSES, SEED, Place, Source, directory, files

if TYPE_CHECKING:
    from ssi_core.store import Artefact


def _number(default: int, least: int, most: int, description: str) -> Any:
    return Field(default=default, ge=least, le=most, description=description)


class Anchors(Source):
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
        "ssi ingest anchors enwiki-pages-articles.xml.bz2 --out anchors",
        "ssi ingest anchors enwiki-*.xml.bz2 --judgements discernatron/ --out anchors",
    )
    reader = "ssi_core.corpus.clicks.anchors:ingest_anchors"

    paths: tuple[Path, ...] = files("DUMPS", "Dumps of one language")
    judgements: Path | None = Field(
        default=None, description="Discernatron's directory, or a table of query, document, grade"
    )
    equal: Literal["keep", "drop"] = Field(
        default="keep", description="Pairs whose words are the title itself: keep or drop"
    )
    language: str | None = Field(
        default=None, description="Code of the language; empty: what the dump says"
    )
    processes: int | None = PROCESSES


class WikiQa(Source):
    """Read WikiQA: questions find the sentences that answer them.

    Documents are the sentences of pages' summaries. A training question and its answer are a pair;
    those without an answer are counted (question_without_answer). A question of the development
    part is judged: all its sentences, 1 for an answer and 0 for the others. The titles of the pages
    are not used, as a question has one page: there would be nothing to rank.
    """

    flow = "ingest-clicks"
    examples = ("ssi ingest wikiqa wikiqa/ --out answers",)
    reader = "ssi_core.corpus.clicks.wikiqa:ingest_wikiqa"

    paths: tuple[Path, ...] = directory("Directory of WikiQA-train.tsv.gz and WikiQA-dev.tsv.gz")


class ZzQueryLog(Source):
    """Read ZZQueryLog: queries of a sports search site find the labels of their results.

    A pair counts its clicks. A fifth of the queries, by a keyed hash of the wording, are judged
    instead: a result's grade is 3 from three quarters of the query's clicks on, 2 from a half, 1
    from a quarter, else 0, as in the publisher's own judgements. Results of one label are summed
    (result_summed), and so are queries of one wording. Positions are means over visits, and are
    not used.
    """

    flow = "ingest-clicks"
    examples = ("ssi ingest zzquerylog zzquerylog/ --out sports",)
    reader = "ssi_core.corpus.clicks.zzquerylog:ingest_zzquerylog"

    paths: tuple[Path, ...] = directory("Directory of zz_query_log_queries.json.gz")


class SampleQueryLog(Source):
    """Make a query log whose truth is known, at any size.

    A topic has 20 concepts, and a concept four words of titles and four of queries. --gap is the
    share of concepts that a query says in words that no title has: with 0 the words of titles say
    it all, with 1 a model must learn from the clicks which words mean the same. Topics, concepts
    and words are drawn by Zipf's law.

    A search engine that knows the truth roughly shows ten titles; how often position k is looked at
    is 1 / k, and a title that is looked at is clicked by its grade. A pair is kept where it was
    clicked in more than a tenth of its expected looks: about two pairs a query.

    Judged queries have 15 titles each, graded 0 to 4 by what both are about. These titles are a
    fifth of all, and never clicked; clicks for a query that is judged are left out, and counted
    (pair_of_judged_query).
    """

    flow = "ingest-clicks"
    examples = (
        "ssi ingest sample-query-log --queries 50000 --gap 0.5 --seed 3 --out log",
        "ssi ingest sample-query-log --titles 1000000 --queries 5000000 --topics 1000 --out log",
    )

    titles: int = _number(20_000, 100, 50_000_000, "Titles of the log")
    queries: int = _number(50_000, 100, 50_000_000, "Queries that are clicked for; some are equal")
    judged: int = _number(500, 10, 100_000, "Judged queries; some are equal")
    topics: int = _number(50, 1, 10_000, "Topics of 20 concepts")
    gap: float = Field(
        default=0.5, ge=0, le=1, description="Share of concepts that queries say in other words"
    )
    seed: int = SEED

    def read(self, **place: Unpack[Place]) -> Artefact:
        """Make the collection."""
        from ssi_core.corpus.clicks.made_log import ingest_made_log
        from ssi_core.sample.query_log import QueryLogWorld

        return ingest_made_log(QueryLogWorld(**self.model_dump()), **place)
