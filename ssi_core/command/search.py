"""The verb that asks a trained model: search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ssi_core.command.fields import argument, option
from ssi_core.command.hits import outcome_of
from ssi_core.command.models import directory_of, searchable
from ssi_core.command.options import CONCEPTS, INDEX, POPULARITY, ApproximateSettings, K
from ssi_core.command.verb import Outcome, verb
from ssi_core.root import store_path

if TYPE_CHECKING:
    from ssi_core.serving.searcher import Searcher


def prepared(approximately: bool, recall: float) -> Callable[[Searcher], Searcher]:
    """Return what makes a searcher look at a part of the documents, or leaves it as it is."""
    if not approximately:
        return lambda searcher: searcher
    from ssi_core.serving.approximate import approximate

    path = store_path("codes", "")
    return lambda searcher: approximate(searcher, path, recall)


def searcher_of(model: str, index: Path | None) -> Searcher:
    """Open the searcher of a MODEL, by its own index or by another one."""
    from ssi_core.serving.searcher import open_searcher

    return open_searcher(directory_of(model) if index else searchable(model), index)


@dataclass(frozen=True, kw_only=True)
class SearchSettings(ApproximateSettings):
    """Settings of ``ssi search``."""

    model: str = argument("MODEL")
    text: str = argument("TEXT")
    k: int = K
    index: Path | None = INDEX
    language: str | None = option(
        None,
        "Language of TEXT, such as ja: that of the queries or that of the documents. [default: "
        "that of the queries of the model]",
    )
    popularity: bool = POPULARITY
    summary: int | None = option(
        None,
        "Show a summary of the first five documents for TEXT, of at most WORDS words.",
        metavar="WORDS",
        ge=1,
        le=1000,
    )
    concepts: Path | None = CONCEPTS


@verb(
    SearchSettings,
    examples=(
        'ssi search models:/ssi@champion "old automobile"',
        'ssi search runs/abc "moon landing" -k 3 --json',
        'ssi search runs/abc "清水寺の舞台" --language ja',
    ),
)
def search(given: SearchSettings) -> Outcome:
    """Find documents for a text, best first.

    Quotes, minus and other signs in TEXT are no operators.

    Each result has a title, an address, the fields in which words of TEXT occur, and the part of
    the text that contains most of these words. If only a heading contains some, that heading is
    shown; if nothing does, the beginning of the text. The fields are title, headings, text, url and
    anchors (the words of links that lead to the document). With --json, a result has `fields`, a
    `snippet`, and the character offsets of the words in it (`marks`). An index that was made
    without texts has none of these.

    By default every document is scored. With --approximate, only documents near the text and those
    that contain most of its words are scored; the structure that this needs is built once and kept.

    With --summary, the sentences of the documents that answer TEXT are shown first, each with its
    document, and a result shows its best sentence. With --concepts, sentences also match by related
    pages of a wiki.
    """
    if given.concepts is not None and given.summary is None:
        raise click.UsageError("--concepts goes with --summary.")
    from ssi_core.serving.query_words import meant, unknown_words
    from ssi_core.serving.summaries import summarise

    searcher = prepared(given.approximate, given.recall)(searcher_of(given.model, given.index))
    answer = searcher.search([given.text], given.k, given.language, popularity=given.popularity)[0]
    summary = None
    if given.summary is not None:
        summary, answer = summarise()(
            searcher,
            given.text,
            answer,
            given.summary,
            concepts=given.concepts,
            language=given.language,
        )
    views = searcher.views(searcher.side_of(given.language))
    unknown = meant(given.text, unknown_words(given.text, views), views)
    return outcome_of(answer, summary, searcher.recall, unknown)
