"""The verbs that tell what a score is made of, and what it lacks: explain and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ssi_core.command.fields import argument, option
from ssi_core.command.options import INDEX, POPULARITY
from ssi_core.command.search import searcher_of
from ssi_core.command.verb import Outcome, verb

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, kw_only=True)
class ExplainSettings:
    """Settings of ``ssi explain``."""

    model: str = argument("MODEL")
    query: str = argument("QUERY")
    document: str = argument("DOCUMENT")
    k: int = option(20, "Number of pairs of words to show.", ge=1)
    popularity: bool = POPULARITY
    index: Path | None = INDEX


@verb(
    ExplainSettings,
    examples=(
        'ssi explain models:/ssi@champion "old automobile" "Car"',
        'ssi explain runs/abc "moon landing" "Apollo 11" -k 50 --json',
    ),
)
def explain(given: ExplainSettings) -> Outcome:
    """Take the score of a document apart into words.

    DOCUMENT is its title or id. The parts and the rest add up to the score. Each pair of words
    names the fields of the document that contain its word (title, headings, text, url, anchors);
    for BM25F, with the share of each field in the weight of the word. For a mixture with in_degree,
    the weight of popularity is shown too; --no-popularity leaves that term out. For a reranked
    document, its features are shown: the value of each, from 0 to 1 over the documents of the
    query, and its share, which is the loss in score if the feature were 0.
    """
    from ssi_core.serving.explain import explain as take_apart

    searcher = searcher_of(given.model, given.index)
    parts = take_apart(searcher, given.query, given.document, given.k, popularity=given.popularity)
    value = {
        "score": parts.score,
        "parts": [asdict(part) for part in parts.parts],
        "rest": parts.rest,
        "popularity": None if parts.popularity is None else asdict(parts.popularity),
        "features": [asdict(feature) for feature in parts.features],
    }

    def show(console: Console) -> None:
        from rich.table import Table

        words = ("feature", "value") if parts.features else ("query", "document", "found in")
        table = Table(*words, box=None, pad_edge=False)
        table.add_column("share" if parts.features else "part", justify="right")
        for part in parts.parts:
            table.add_row(part.query_word, part.document_word, part.where, f"{part.part:+.6f}")
        for feature in parts.features:
            table.add_row(feature.name, f"{feature.value:.3f}", f"{feature.share:+.6f}")
        nothing = [""] * (len(words) - 1)
        rest = "rest" if parts.features else "all other pairs"
        table.add_row(rest, *nothing, f"{parts.rest:+.6f}")
        table.add_row("score", *nothing, f"{parts.score:+.6f}")
        console.print(table)
        if (counted := parts.popularity) is not None:
            console.print(
                f"popularity: {counted.weight:g} ln(1 + links) = {counted.part:+.6f}",
                style="dim",
            )

    return Outcome(value, show)


@dataclass(frozen=True, kw_only=True)
class WhySettings:
    """Settings of ``ssi why``."""

    model: str = argument("MODEL")
    query: str = argument("QUERY")
    document: str = argument("DOCUMENT")
    k: int = option(10, "Number of places.", ge=1)
    index: Path | None = INDEX


@verb(
    WhySettings,
    examples=(
        'ssi why models:/ssi@champion "old automobile" "Wheel"',
        'ssi why model "moon landing" "Apollo 11" -k 3 --json',
    ),
)
def why(given: WhySettings) -> Outcome:
    """Tell why a document is not among the first.

    DOCUMENT is its title or id. Shown are its place and its score, the words of the query that hold
    the document in place k above it, the words that it lacks, and the smallest change that brings
    it among the first k: up to three words as another name, as a heading or in its text, but never
    all words of the query. The place after the change is computed with the changed document, not
    estimated.
    """
    from ssi_core.serving.why import why as reasons

    answer = reasons(searcher_of(given.model, given.index), given.query, given.document, given.k)

    def show(console: Console) -> None:
        for line in answer.lines():
            console.print(line, markup=False, highlight=False, soft_wrap=False)

    return Outcome(asdict(answer), show)
