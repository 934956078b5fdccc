"""Published data sets: each is a directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from ssi_core.corpus.source import Source, directory, option


class Wikispeedia(Source):
    """Read the Wikispeedia data set (4,604 articles of Wikipedia's schools edition)."""

    examples = ("ssi data ingest wikispeedia wikispeedia_paths-and-graph --out corpus",)
    origin = "wikispeedia"
    builder = "ssi_core.datasets.wikispeedia:build"

    paths: tuple[Path, ...] = directory("Directory of the data set")

    @classmethod
    def looks_like(cls, path: Path) -> bool:
        """Tell whether a directory has the articles of Wikispeedia."""
        return (path / "articles_plaintext.tar.xz").is_file()

    def inputs(self) -> Sequence[Path]:
        """Return the files of the data set."""
        from ssi_core.datasets.wikispeedia import files_in

        return files_in(*self.paths)


class WikispeediaClicks(Source):
    """Read the clicks of Wikispeedia's players, and the articles that they clicked in."""

    flow = "ingest-clicks"
    examples = ("ssi data ingest wikispeedia-clicks wikispeedia_paths-and-graph --out clicks",)
    origin = "wikispeedia"
    builder = "ssi_core.datasets.wikispeedia_clicks:build"

    paths: tuple[Path, ...] = directory("Directory of the data set")

    def inputs(self) -> Sequence[Path]:
        """Return the files of the data set."""
        from ssi_core.datasets.wikispeedia_clicks import files_in

        return files_in(*self.paths)

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        return {"source": self.origin, "clicks": "all"}


class FarmAds(Source):
    """Read Farm Ads: the words of an ad find those of the page that it leads to."""

    flow = "ingest-clicks"
    examples = ("ssi data ingest farm-ads farm-ads/ --out clicks",)
    origin = "farm-ads"
    builder = "ssi_core.datasets.farm_ads:build"

    paths: tuple[Path, ...] = directory("Directory of the data set")

    def inputs(self) -> Sequence[Path]:
        """Return the files of the data set."""
        from ssi_core.datasets.farm_ads import files_in

        return files_in(*self.paths)

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        return {"source": self.origin, "clicks": "all"}


class Smart(Source):
    """Read Cranfield, CISI or CACM: documents, queries and judgements in SMART's format."""

    examples = ("ssi data ingest collection cranfield/ --out corpus",)
    builder = "ssi_core.datasets.smart:build"

    paths: tuple[Path, ...] = directory("Directory of Cranfield, CISI or CACM")

    @classmethod
    def looks_like(cls, path: Path) -> bool:
        """Tell whether a directory has the files of one of the three."""
        from ssi_core.datasets.smart import files_in

        return files_in(path) is not None

    def inputs(self) -> Sequence[Path]:
        """Return documents, queries and judgements."""
        from ssi_core.datasets.smart import require_files

        return require_files(*self.paths)[1]

    def identity(self) -> Mapping[str, Any]:
        """Return the name of the collection."""
        from ssi_core.datasets.smart import require_files

        return {"source": require_files(*self.paths)[0]}


class WikiQa(Source):
    """Read WikiQA: questions find the sentences that answer them.

    Documents are the sentences of pages' summaries. A training question and its answer are a pair;
    those without an answer are counted (question_without_answer). A question of the development
    part is judged: all its sentences, 1 for an answer and 0 for the others. The titles of the pages
    are not used, as a question has one page: there would be nothing to rank.
    """

    flow = "ingest-clicks"
    examples = ("ssi data ingest wikiqa wikiqa/ --out answers",)
    origin = "wikiqa"
    builder = "ssi_core.datasets.wikiqa:build"

    paths: tuple[Path, ...] = directory("Directory of WikiQA-train.tsv.gz and WikiQA-dev.tsv.gz")

    def inputs(self) -> Sequence[Path]:
        """Return the files of the data set."""
        from ssi_core.datasets.wikiqa import files_in

        return files_in(*self.paths)


class ZzQueryLog(Source):
    """Read ZZQueryLog: queries of a sports search site find the labels of their results.

    A pair counts its clicks. A fifth of the queries, by a keyed hash of the wording, are judged
    instead: a result's grade is 3 from three quarters of the query's clicks on, 2 from a half, 1
    from a quarter, else 0, as in the publisher's own judgements. Results of one label are summed
    (result_summed), and so are queries of one wording. Positions are means over visits, and are
    not used.
    """

    flow = "ingest-clicks"
    examples = ("ssi data ingest zzquerylog zzquerylog/ --out sports",)
    origin = "zzquerylog"
    builder = "ssi_core.datasets.zzquerylog:build"

    paths: tuple[Path, ...] = directory("Directory of zz_query_log_queries.json.gz")

    def inputs(self) -> Sequence[Path]:
        """Return the files of the data set."""
        from ssi_core.datasets.zzquerylog import files_in

        return files_in(*self.paths)


class DbpediaEntity(Source):
    """Read DBpedia-Entity v2: queries find the titles of entities that were judged for them.

    The queries have five published folds, and --fold names the one that is judged. For the queries
    of the other four, a title that is relevant (grade 1 or 2) is a pair, which counts once whatever
    its grade is; titles that are not relevant are left out there, and counted
    (training_judgement_not_relevant). A title is what its identifier says, without underscores.
    Queries of one wording are one, in the fold of the first, and what is judged twice counts as it
    is judged first (judgement_of_repeated_query).
    """

    flow = "ingest-clicks"
    examples = ("ssi data ingest dbpedia-entity dbpedia-entity/ --fold 1 --out entities",)
    origin = "dbpedia-entity"
    builder = "ssi_core.datasets.dbpedia_entity:build"

    paths: tuple[Path, ...] = directory(
        "Directory of queries-v2.txt, qrels-v2.txt.gz and folds/all_queries.json"
    )
    fold: int = Field(
        default=1, ge=1, le=5, description="Fold that is judged; the other four are trained on"
    )

    def inputs(self) -> Sequence[Path]:
        """Return the files of the data set."""
        from ssi_core.datasets.dbpedia_entity import files_in

        return files_in(*self.paths)

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        return {"source": self.origin, "fold": self.fold}


class Kyoto(Source):
    """Read the Kyoto articles: Japanese articles of Wikipedia, each with an English translation.

    Queries are the Japanese articles, documents the English ones; both corpora, the dictionary and
    links come from the data set: an article links to another whose Japanese title occurs in its
    text (title mentions).
    """

    flow = "ingest-mates"
    examples = (
        "ssi data ingest kyoto kyoto-ja-en/ --out mates",
        "ssi data ingest kyoto kyoto-ja-en/ --category Buddhism --out temples",
    )
    origin = "kyoto"
    builder = "ssi_core.datasets.kyoto:build"

    paths: tuple[Path, ...] = directory("Directory of the data set")
    categories: tuple[str, ...] = option(
        (), "Category of the articles to read, such as Buddhism. Can be repeated", "--category"
    )

    @classmethod
    def looks_like(cls, path: Path) -> bool:
        """Tell whether a directory has the Kyoto articles."""
        from ssi_core.datasets.kyoto import ARTICLES

        return (path / ARTICLES).is_file()

    def inputs(self) -> Sequence[Path]:
        """Return the files of the data set."""
        from ssi_core.datasets.kyoto import files_in

        return files_in(*self.paths)

    def identity(self) -> Mapping[str, Any]:
        """Return the settings that change what is written."""
        from ssi_core.datasets.kyoto import LEAST_TITLE

        chosen = {"categories": sorted(set(self.categories))} if self.categories else {}
        return {"source": self.origin, "title_characters": LEAST_TITLE, **chosen}
