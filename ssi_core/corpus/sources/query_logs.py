"""Query logs with judgements: titles that were clicked on, and lists of titles that were judged."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from ssi_core.corpus.source import PROCESSES, Source, directory, files


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
